package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Scenario is a checked scenario, ready to run.
type Scenario struct {
	Name     string
	About    string         // what it claims
	Routing  string         // by name: of the file, or the tables that the manager replaces instead
	Path     string         // of the file
	Source   string         // the text of the file
	File     format.File    // as it is written
	Warnings []string       // of fields that go by their old names
	Options  fabric.Options // of the fabric, without Transport
	Duration time.Duration  // how long traffic runs, by the clock of the fabric
	Manager  manage.Method  // of the subnet manager; the zero value is none
	OpenSM   bool           // an OpenSM manages instead, with Args
	Args     []string
	Delays   manager.Delays // of the subnet manager, in virtual time
	Timeline []Action       // in the order of their times
	Programs []Program      // in the order of the file; the timeline starts them
	Expect   format.Expect

	detectedWithin, madeGoodWithin, lostWithin time.Duration // of Expect; 0: not judged
}

// Action is one step of the timeline with its names resolved: faults and repairs, or traffic, or
// packets, or the start of a program.
type Action struct {
	At   time.Duration // since the start of the run
	Text string        // as reports print it: "cut s0.00-s1.00"

	Faults  []fault.Spec // at one instant
	Traffic *nic.Traffic
	Send    *Packets
	Program *Program
}

func (a *Action) ofFaults() bool { return a.Traffic == nil && a.Send == nil && a.Program == nil }

// Packets are packets that one NIC sends to another. Their paths are recorded if the fabric has a
// recorder.
type Packets struct {
	From, To weft.NICID
	Count    int
}

// MaxDuration is the longest Duration of a [Scenario].
const MaxDuration = settings.MaxDelay

// Read reads and checks a scenario file. The error lists all mistakes, each with its file, its line
// and what was expected.
func Read(ctx context.Context, path string) (*Scenario, error) {
	doc, f, err := document.Read[format.File](path)
	if err != nil {
		return nil, err
	}
	return parse(ctx, doc, f)
}

// Load is Read from memory; errors name the file as path. The scenario may name the firmwares own
// beside those that come with Weft.
func Load(ctx context.Context, path string, data []byte, own ...firmware.Firmware) (*Scenario, error) {
	doc, f, err := document.Load[format.File](path, data)
	if err != nil {
		return nil, err
	}
	return parse(ctx, doc, f, own...)
}

// Seeded is the scenario with another seed of all that is drawn.
func (s *Scenario) Seeded(ctx context.Context, seed uint64) (*Scenario, error) {
	doc, f, err := document.Load[format.File](s.Path, []byte(s.Source))
	if err != nil {
		return nil, err
	}
	f.Seed = seed
	return parse(ctx, doc, f)
}

// parser collects the mistakes of one file.
type parser struct {
	doc  *document.Doc
	errs document.Errors

	options *fabric.Options // read so far
}

// fail collects err at the YAML path unless it is nil.
func (p *parser) fail(path string, err error) {
	if err != nil {
		p.errs.Add(p.doc.Errorf(path, "%w", err))
	}
}

func parse(ctx context.Context, doc *document.Doc, f format.File, own ...firmware.Firmware) (*Scenario, error) {
	s := &Scenario{
		Name: f.Name, About: strings.TrimSpace(f.About), Path: doc.File(), Source: doc.Text(), File: f,
		Warnings: doc.Warnings(),
		Expect:   f.Expect,
	}
	p := &parser{doc: doc, options: &s.Options}
	if f.Name == "" {
		p.fail("$.name", fmt.Errorf("the name is empty: give the scenario one"))
	}
	s.Duration = p.duration("$.duration", f.Duration)
	g, err := topology.Parse(f.Topology)
	p.fail("$.topology", err)
	made, wrong := Build(ctx, f.Settings, g, own...)
	if len(wrong) > 0 && ctx.Err() != nil { // what is wrong may be that
		return nil, fmt.Errorf("%s is not read to its end: %w", doc.File(), context.Cause(ctx))
	}
	for _, m := range wrong {
		p.fail("$."+m.Path, m.Err)
	}
	if l := f.Liveness; l.Interval.Off() && l.Multiplier != 0 {
		p.fail("$.liveness.multiplier",
			fmt.Errorf("the interval is off: leave the multiplier out, or give an interval such as 50ms"))
	}
	s.Options, s.Routing, s.Manager, s.Delays = made.Options, made.Routing, made.Manager, made.Delays
	s.OpenSM, s.Args = made.OpenSM, made.Args
	if len(f.Routings) > 0 && g != nil && s.Options.Firmware.Route != nil {
		p.routings(ctx, f, own)
	}
	if len(f.Choices) > 0 && g != nil && s.Options.Firmware.Route != nil {
		p.choices(f.Choices, &s.Options)
		if s.Options.Switch.Requeue {
			p.fail("$.switch.requeue", requeues(s.Options.Firmware, g))
		}
	}
	p.expect(f.Expect, s)
	if g != nil {
		p.failures(&f, g, s)
		s.File = f
		p.timeline(f.Timeline, g, s)
		p.programs(f.Programs, g, s)
	}
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// traffic reads what NICs inject from a step of the timeline on.
func (p *parser) traffic(path, text string) nic.Traffic {
	t, err := Traffic(text, *p.options)
	p.fail(path, err)
	return t
}

func (p *parser) duration(path string, text format.Duration) time.Duration {
	var d fault.Duration
	err := d.UnmarshalText([]byte(text))
	if v, bad := time.ParseDuration(string(text)); bad == nil && v > MaxDuration { // a fault may last longer
		err = fmt.Errorf("%s is too long a time: expected at most %v", text, MaxDuration)
	}
	p.fail(path, err)
	return time.Duration(d)
}

func (p *parser) within(path string, v, most int) {
	if v < 0 || v > most {
		p.fail(path, fmt.Errorf("expected 1 to %d, found %d", most, v))
	}
}
