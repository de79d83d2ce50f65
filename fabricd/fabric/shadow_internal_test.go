package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
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
	s := Sample{Answer: f.local.all().own.Answer}
	s.Answer.Host, s.Answer.Incarnation, s.Answer.Asked = 1, 1, f.Now()
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
