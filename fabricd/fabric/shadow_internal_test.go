package fabric

import (
	"cmp"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/part"
	switching "github.com/weft-fabric/weft/switch"
)

// Sample is what a fabric that runs in one process says at one moment: as a host to the ledger, and by its own accounts.
type Sample struct {
	Now    weft.Time
	Answer ledger.Answer // but for Seq
	Faults []Fault
	Today  Ledger
}

// Fault is a report with what it acts on.
type Fault struct {
	Report   fault.Report
	Links    []weft.LinkID
	Switches []weft.SwitchID
}

// Sample reads all of it.
func (f *Fabric) Sample() Sample {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Sample{Answer: ledger.Answer{Host: 1, Incarnation: 1, Asked: f.Now()}}
	a := &s.Answer
	rules := map[string]uint64{}
	for _, sw := range f.here.switches {
		var r switching.Reading
		sw.read(&r)
		ledger.Add(&a.Counters.Switches, &r.Stats)
		a.Held += uint64(r.Held)
		sw.discards(func(rule string, n uint64) { rules[rule] += n })
		if r.Stats.LostCrash > 0 {
			a.Crash = append(a.Crash, ledger.NodeLost{Switch: sw.id, Packets: r.Stats.LostCrash})
		}
		for i := range r.Ports {
			if n := r.Ports[i].Lost; n > 0 {
				a.Queue = append(a.Queue, ledger.EndLost{End: weft.End{Node: sw.id.Node(), Port: weft.PortID(i)}, Packets: n})
			}
		}
	}
	for _, h := range f.here.nics {
		sn := h.Snapshot()
		ledger.Add(&a.Counters.NICs, &sn.Stats)
		a.Queued += uint64(sn.Queued)
		if sn.Stats.Wrong > 0 {
			rules[part.WrongNIC(f.graph.NICs[h.id].Name)] += sn.Stats.Wrong
		}
	}
	for rule, n := range rules {
		a.Discards = append(a.Discards, ledger.Rule{Name: rule, Packets: n})
	}
	slices.SortFunc(a.Discards, func(a, b ledger.Rule) int { return cmp.Compare(a.Name, b.Name) })
	for _, l := range f.links {
		x, y := f.endState(l.A), f.endState(l.B)
		there, lostThere := onWire(x, y)
		back, lostBack := onWire(y, x)
		a.Wires += there + back
		if lostThere+lostBack > 0 {
			a.Wire = append(a.Wire, ledger.LinkLost{Link: l.ID, Wire: [2]uint64{lostThere, lostBack}})
		}
	}
	for _, r := range f.reportsAfter(0) {
		s.Faults = append(s.Faults, f.actsOn(r))
	}
	s.Today, s.Now = f.Ledger(), f.Now()
	return s
}

// actsOn finds what a report is of.
func (f *Fabric) actsOn(r fault.Report) Fault {
	k := Fault{Report: r}
	if l, err := f.graph.LinkByName(r.Target); err == nil {
		k.Links = []weft.LinkID{l.ID}
		return k
	}
	if id, err := f.graph.SwitchByName(r.Target); err == nil {
		k.Switches = []weft.SwitchID{id}
		for _, l := range f.linksOf(id) {
			k.Links = append(k.Links, l.ID)
		}
		return k
	}
	for _, l := range f.links { // a connection to the broker: all
		k.Links = append(k.Links, l.ID)
	}
	return k
}

// LedgerOf is a ledger for the fabric, of which all nodes are on host 1.
func (f *Fabric) LedgerOf() *ledger.Ledger {
	links := make([]ledger.Link, len(f.graph.Links))
	var nodes []weft.Node
	for i, l := range f.graph.Links {
		links[i] = ledger.Link{A: l.A, B: l.B}
		nodes = append(nodes, l.A.Node, l.B.Node)
	}
	l := ledger.New(links)
	l.Step(0, ledger.HostStarted{Host: 1, Incarnation: 1, Nodes: nodes})
	return l
}
