package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/trace"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Scenario is a checked scenario, ready to run.
type Scenario struct {
	Name     string
	About    string         // what it claims
	Firmware string         // the name of the routing
	Path     string         // of the file
	Source   string         // the text of the file
	Options  fabric.Options // of the fabric, without Transport
	Duration time.Duration  // how long traffic runs, by the clock of the fabric
	Manager  manage.Method  // of the subnet manager; the zero value is none
	Delays   manager.Delays // of the subnet manager, in virtual time
	Timeline []Action       // in the order of their times
	Expect   format.Expect

	detectedWithin, madeGoodWithin time.Duration // of Expect; 0: not judged
}

// Action is one step of the timeline with its names resolved: faults and repairs, or traffic, or
// packets.
type Action struct {
	At   time.Duration // since the start of the run
	Text string        // as reports print it: "cut s0.00-s1.00"

	Faults  []fault.Spec // at one instant
	Traffic *nic.Traffic
	Send    *Packets
}

func (a *Action) ofFaults() bool { return a.Traffic == nil && a.Send == nil }

// Packets are packets that one NIC sends to another. Their paths are recorded if the fabric has a
// recorder.
type Packets struct {
	From, To weft.NICID
	Count    int
}

// MaxDuration is the longest Duration of a [Scenario].
const MaxDuration = fabric.MaxDelay

// Read reads and checks a scenario file. The error lists all mistakes, each with its file, its line
// and what was expected.
func Read(path string) (*Scenario, error) {
	doc, f, err := document.Read[format.File](path)
	if err != nil {
		return nil, err
	}
	return parse(doc, f)
}

// Load is Read from memory; errors name the file as path. The scenario may name the firmwares own
// beside those that come with Weft.
func Load(path string, data []byte, own ...firmware.Entry) (*Scenario, error) {
	doc, f, err := document.Load[format.File](path, data)
	if err != nil {
		return nil, err
	}
	return parse(doc, f, own...)
}

// parser collects the mistakes of one file.
type parser struct {
	doc  *document.Doc
	own  []firmware.Entry // beside those that come with Weft
	errs document.Errors

	options *fabric.Options // read so far
}

// fail collects err at the YAML path unless it is nil.
func (p *parser) fail(path string, err error) {
	if err != nil {
		p.errs.Add(p.doc.Errorf(path, "%w", err))
	}
}

func parse(doc *document.Doc, f format.File, own ...firmware.Entry) (*Scenario, error) {
	s := &Scenario{Name: f.Name, About: strings.TrimSpace(f.About), Firmware: f.Firmware, Path: doc.File(), Source: doc.Text(), Expect: f.Expect}
	p := &parser{doc: doc, own: own, options: &s.Options}
	if f.Name == "" {
		p.fail("$.name", fmt.Errorf("the name is empty: give the scenario one"))
	}
	s.Duration = p.duration("$.duration", f.Duration)
	s.Options.Seed = cmp.Or(f.Seed, 1)
	g, err := topology.Parse(f.Topology)
	p.fail("$.topology", err)
	s.Options.Topology = g
	p.firmware(f.Firmware, &s.Options)
	p.manager(f.Manager, s)
	p.switches(f.Switch, &s.Options.Switch)
	if f.Switch == nil || f.Switch.VCs == 0 {
		s.Options.Switch.VCs = s.Manager.VCs(s.Options.Switch.VCs)
	}
	p.choices(f.Choices, &s.Options)
	p.requeue(&s.Options)
	p.nics(f.NIC, &s.Options)
	p.links(f.Link, &s.Options.Link)
	p.liveness(f.Liveness, &s.Options.Link)
	p.expect(f.Expect, s)
	if f.Traffic != "" {
		s.Options.Traffic = p.traffic("$.traffic", f.Traffic)
	}
	if g != nil {
		p.timeline(f.Timeline, g, s)
	}
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// traffic reads what NICs inject, once the topology, the NICs and the links are read.
func (p *parser) traffic(path, text string) nic.Traffic {
	t, err := trace.Traffic(text)
	if err == nil && p.options.Topology != nil {
		err = p.options.Fits(t)
	}
	p.fail(path, err)
	return t
}

func (p *parser) duration(path, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > MaxDuration {
		p.fail(path, fmt.Errorf("expected a duration such as 2s or 500ms, at most %v, found %q", MaxDuration, text))
		return 0
	}
	return d
}

func (p *parser) firmware(name string, o *fabric.Options) {
	e, err := subnet.ByName(name)
	if i := slices.IndexFunc(p.own, func(e firmware.Entry) bool { return e.Name == name }); i >= 0 {
		e, err = subnet.Plain(p.own[i]), nil
	}
	p.fail("$.firmware", err)
	if err != nil || o.Topology == nil {
		return
	}
	fw, vcs, err := e.New(o.Topology)
	if err != nil {
		p.fail("$.firmware", err)
		return
	}
	o.Firmware, o.Switch.VCs = fw, vcs
	if c, ok := fw.(switching.Checker); ok {
		for _, s := range o.Topology.Switches {
			if err := c.Check(o.Topology.Place(s.ID), vcs); err != nil {
				p.fail("$.firmware", err)
				return
			}
		}
	}
}

func (p *parser) switches(f *format.Switch, o *fabric.SwitchOptions) {
	if f == nil {
		return
	}
	p.within("$.switch.vcs", f.VCs, weft.MaxVCs)
	p.within("$.switch.input_buffer", f.InputBuffer, weft.MaxBuffer)
	p.within("$.switch.output_buffer", f.OutputBuffer, weft.MaxBuffer)
	p.within("$.switch.batch", f.Batch, weft.MaxBatch)
	if f.VCs != 0 && f.VCs < o.VCs {
		p.fail("$.switch.vcs", fmt.Errorf("the firmware needs at least %d virtual channels, found %d", o.VCs, f.VCs))
	}
	o.VCs = max(o.VCs, f.VCs)
	o.InputBuffer, o.OutputBuffer, o.EagerCredits, o.Batch = f.InputBuffer, f.OutputBuffer, f.EagerCredits, f.Batch
	o.Requeue = f.Requeue
	queueing := map[string]switching.Queueing{"": switching.VirtualOutput, "virtual-output": switching.VirtualOutput, "fifo": switching.FIFO}
	o.Queueing = pick(p, "$.switch.queueing", "queueing", f.Queueing, queueing)
	selection := map[string]switching.Selection{
		"": switching.MostCredits, "most-credits": switching.MostCredits,
		"random": switching.Random, "round-robin": switching.RoundRobin,
	}
	o.Selection = pick(p, "$.switch.selection", "selection", f.Selection, selection)
	waiting := map[string]switching.Waiting{"": switching.WaitForAll, "all": switching.WaitForAll, "one": switching.WaitForOne}
	o.Waiting = pick(p, "$.switch.waiting", "waiting", f.Waiting, waiting)
}

func (p *parser) within(path string, v, most int) {
	if v < 0 || v > most {
		p.fail(path, fmt.Errorf("expected 1 to %d, found %d", most, v))
	}
}

func pick[T any](p *parser, path, kind, word string, known map[string]T) T {
	v, ok := known[word]
	if !ok {
		var names []string
		for name := range known {
			if name != "" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		p.fail(path, document.Unknown(kind, word, names))
	}
	return v
}

func (p *parser) nics(f *format.NIC, all *fabric.Options) {
	if f == nil {
		return
	}
	o := &all.NIC
	p.within("$.nic.queue_bytes", f.QueueBytes, fabric.MaxQueueBytes)
	p.within("$.nic.packet_bytes", f.PacketBytes, weft.MaxPacket)
	o.QueueBytes, o.PacketBytes = f.QueueBytes, f.PacketBytes
	if f.Notices != "" {
		p.notices(string(f.Notices), all)
	}
}

func (p *parser) notices(text string, o *fabric.Options) {
	const path = "$.nic.notices"
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > fabric.MaxNotices {
		p.fail(path, fmt.Errorf("expected how long sources honour a notice, as 2s, above 0 and at most %v, found %q; "+
			"leave it out to have none", fabric.MaxNotices, text))
	}
	if _, ok := o.Firmware.(switching.Notifier); !ok && o.Firmware != nil {
		p.fail(path, fmt.Errorf("this firmware tells no sources of discards; these do: %s", strings.Join(firmware.Notifiers(), ", ")))
	}
	o.NIC.Notices = d
}

func (p *parser) links(f *format.Link, o *fabric.LinkOptions) {
	if f == nil {
		return
	}
	p.within("$.link.rate", f.Rate, fault.MaxRate)
	o.Rate, o.Paced = float64(f.Rate), f.Paced
	if f.Delay != "" {
		o.Delay = p.duration("$.link.delay", f.Delay) // MaxDuration is fabric.MaxDelay
	}
}
