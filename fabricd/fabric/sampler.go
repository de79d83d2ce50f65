package fabric

import (
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// States of a switch.
const (
	SwitchUp      = "up"
	SwitchDown    = "down"    // it has crashed, or its process is gone
	SwitchSuspect = "suspect" // it is a process that does not answer
)

// Reading is a running fabric at one moment, for viewers. The reader computes rates.
type Reading struct {
	At       weft.Time
	Links    []LinkReading   // by number
	Switches []SwitchReading // by number
	Totals   Totals          // the latency is up to a second old
	Timed    uint64          // the packets that it is of
	Latency  Latency         // of the packets delivered in the last second or so
	Ledger   Ledger          // without LostOn
	Traffic  nic.Traffic     // what the NICs inject
	// packets a second that one direction of a link carries as configured, at the traffic's mean size
	Capacity float64
}

// LinkReading is one link: its [LinkState], and what waits to be sent on it. Arrays are by
// direction, A to B first, or by end, A first.
type LinkReading struct {
	State    string
	Cut      [2]string
	Flapping bool
	Suffers  [2]string
	Up, Held [2]bool
	Sent     [2]uint64 // packets since the start
	Queued   [2]int    // packets in the output queues, or the send queue, of the sending end
	Lost     uint64    // packets since the start
}

// SwitchReading is one switch.
type SwitchReading struct {
	State            string
	Held, Blocked    int    // packets inside, and of them those that wait for room
	Rerouted, UTurns uint64 // packets since the start
	Registers        string // those that are not zero, as "p0.1: 0b10"
}

// Sampler reads a fabric again and again. One goroutine may use it. It reuses the storage of its
// Reading.
//
// One pass over all nodes holds each lock for less than a microsecond or so. It waits neither for
// an order that is being carried out nor for another process, whose last report counts.
type Sampler struct {
	reader        *reader
	faults        *faults
	runs          []*host.Loaded                 // per switch, what registersOf is of
	registersOf   [][]switching.RegisterSnapshot // per switch, as they were read last
	nodes         []switching.Reading
	linkTotals    map[*hostState][]ledger.LinkTotal // of hosts in other processes
	nics          []nic.Reading
	registerTexts []registerText // per switch

	recent  *recent
	cycle   DeadlockWatch
	now     Reading
	suffers map[fault.Impairment]string
}

// registerText caches registers in words.
type registerText struct {
	values []uint64
	text   string
}

// NewSampler returns a Sampler; each viewer has its own.
func (f *Fabric) NewSampler() *Sampler {
	s := &Sampler{
		reader: f.reader, cycle: DeadlockWatch{reader: f.reader}, faults: f.faults,
		registersOf: make([][]switching.RegisterSnapshot, len(f.switches)),
		nodes:       make([]switching.Reading, len(f.switches)),
		nics:        make([]nic.Reading, len(f.nics)), registerTexts: make([]registerText, len(f.switches)),
		suffers: map[fault.Impairment]string{}, linkTotals: map[*hostState][]ledger.LinkTotal{},
		recent: newRecent(),
	}
	s.now.Links, s.now.Switches = make([]LinkReading, len(f.links)), make([]SwitchReading, len(f.switches))
	s.runs = make([]*host.Loaded, len(f.switches))
	return s
}

// States reads faults in force and the state of links and switches, which costs next to nothing.
// Counters stay as read last.
func (s *Sampler) States() *Reading {
	s.now.At = s.reader.Now()
	seen := s.reader.seen()
	for i := range s.now.Links {
		v, r := &seen.Links[i], &s.now.Links[i]
		r.Up, r.State, r.Cut, r.Flapping = v.Up, v.State, v.Cut, v.Flaps
		r.Suffers = [2]string{s.suffering(v.Suffers[0]), s.suffering(v.Suffers[1])}
	}
	for i, sw := range s.reader.switches {
		s.now.Switches[i].State = sw.state(seen.Crashed[i] != 0)
	}
	s.now.Traffic = s.reader.Traffic()
	bytes := float64(s.reader.opts.NIC.PacketBytes)
	if mean := s.now.Traffic.Sizes.Mean(); mean > 0 {
		bytes = mean
	}
	s.now.Capacity = s.reader.opts.Link.Rate / bytes
	return &s.now
}

// Stats are the counters of switch i as they were read last.
func (s *Sampler) Stats(i int) switching.Stats { return s.nodes[i].Stats }

// NIC is NIC i as it was read last.
func (s *Sampler) NIC(i int) nic.Reading { return s.nics[i] }

// VCs are the sums over the virtual channels of each switch, by number, as of now. Hosts are asked;
// a host that does not answer leaves its switches empty.
func (s *Sampler) VCs() [][]switching.VCSum { return s.reader.sumVCs() }

// suffering puts an impairment into words, and caches them.
func (s *Sampler) suffering(i fault.Impairment) string {
	if i.IsZero() {
		return ""
	}
	text, ok := s.suffers[i]
	if !ok {
		if len(s.suffers) > 1000 { // of the past
			clear(s.suffers)
		}
		text = suffering(i)
		s.suffers[i] = text
	}
	return text
}

// Read reads everything.
func (s *Sampler) Read() *Reading {
	s.reader.watched.Store(time.Now().UnixNano())
	r := s.States()
	s.readNodes()
	clear(s.linkTotals)
	var balances []ledger.LinkBalance
	r.Ledger, balances = s.reader.ledgerNow()
	for i, l := range s.reader.links {
		a, b := s.end(l.A), s.end(l.B)
		lost := lossOf(&balances[i])
		k := &r.Links[i]
		k.Sent, k.Queued, k.Held = [2]uint64{a.sent, b.sent}, [2]int{a.waiting, b.waiting}, [2]bool{a.held, b.held}
		k.Lost = lost.Wire + lost.Queued
	}
	r.Totals = s.recent.totals(s.reader, r.At)
	r.Latency, r.Timed = s.recent.last, s.recent.count
	return r
}

func (s *Sampler) readNodes() {
	for _, h := range *s.reader.hosts.Load() {
		h.readInto(s.nodes, s.nics)
	}
	for i, sw := range s.reader.switches {
		sw.addProcess(&s.nodes[i])
		n, r := &s.nodes[i], &s.now.Switches[i]
		r.Held, r.Blocked, r.Rerouted, r.UTurns = n.Held, n.Blocked, n.Stats.Rerouted, n.Stats.UTurns
		r.Registers = s.registers(i)
	}
}

// registers puts the registers of switch i into words when they have changed.
func (s *Sampler) registers(i int) string {
	t, values := &s.registerTexts[i], s.nodes[i].Registers
	if sw := s.reader.switches[i]; sw.Now() != s.runs[i] {
		s.runs[i], s.registersOf[i], t.values = sw.Now(), nil, nil
		for _, r := range s.runs[i].Firmware.RegistersAt(s.reader.graph.Place(sw.id)) {
			s.registersOf[i] = append(s.registersOf[i],
				switching.RegisterSnapshot{Name: r.Name, Width: r.Width, Expire: r.Expire, Expires: weft.Never})
		}
	}
	if slices.Equal(t.values, values) {
		return t.text
	}
	t.values = append(t.values[:0], values...)
	for j, v := range values[:min(len(values), len(s.registersOf[i]))] { // a process may say anything
		s.registersOf[i][j].Value = v
	}
	t.text = RegisterText(s.registersOf[i])
	return t.text
}

type endReading struct {
	sent    uint64 // packets since the start
	waiting int    // packets that are to be sent there
	held    bool
}

func (s *Sampler) end(e weft.End) endReading {
	if !e.Node.IsSwitch() {
		n := &s.nics[e.Node.Index]
		return endReading{n.Flow.Sent, n.Queued, n.Suppressed}
	}
	host, p := s.reader.switches[e.Node.Index].home, &s.nodes[e.Node.Index].Ports[e.Port]
	if !host.late() {
		return endReading{p.Flow.Sent, p.Queued, p.Suppressed}
	}
	list, ok := s.linkTotals[host]
	if !ok {
		list = host.linkTotals(0)
		s.linkTotals[host] = list
	}
	return endReading{max(p.Flow.Sent, linkTotalAt(list, e).Sent), p.Queued, host.held(e)}
}

// Faults returns the reports of faults with higher numbers, as [Fabric.Faults] does, without what
// other processes have counted in the last tenth of a second.
func (s *Sampler) Faults(after int) []fault.Report {
	return s.faults.reportsAfter(after)
}
