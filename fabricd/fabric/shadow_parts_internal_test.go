package fabric

import (
	"cmp"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/part"
	"github.com/weft-fabric/weft/switch/credit"
)

// PartsShadow keeps the accounts of a fabric in parts by package ledger, from what the leader knows of them at each look.
type PartsShadow struct {
	Ledger *ledger.Ledger
	f      *Fabric
	told   map[int]uint64 // per part, the incarnation that the ledger knows of
	ends   map[weft.End][]stay
	seq    uint64
}

// stay is a session of a crossing end: since when, by its counters, and what it was when last seen.
type stay struct {
	peer           ledger.Incarnation
	sent, received uint64 // before
	last           credit.Flow
}

// NewPartsShadow begins with all parts as they are.
func NewPartsShadow(f *Fabric) *PartsShadow {
	links := make([]ledger.Link, len(f.graph.Links))
	for i, l := range f.graph.Links {
		links[i] = ledger.Link{A: l.A, B: l.B}
	}
	return &PartsShadow{Ledger: ledger.New(links), f: f, told: map[int]uint64{}, ends: map[weft.End][]stay{}}
}

// Look has the ledger take what the leader knows now.
func (s *PartsShadow) Look() Ledger {
	f := s.f
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.Now()
	f.refreshSums()
	for i, p := range f.parts {
		p.mu.Lock()
		number := p.number
		p.mu.Unlock()
		id := ledger.HostID(i + 1)
		if s.told[i] != number {
			s.told[i] = number
			var nodes []weft.Node
			for _, n := range p.place.SwitchIDs() {
				nodes = append(nodes, n.Node())
			}
			for _, n := range p.place.NICIDs() {
				nodes = append(nodes, n.Node())
			}
			s.Ledger.Step(asked, ledger.HostStarted{Host: id, Incarnation: ledger.Incarnation(number), Nodes: nodes})
			for _, e := range p.cross {
				delete(s.ends, e)
			}
		}
		switch {
		case p.lost.Load():
			s.Ledger.Step(asked, ledger.HostFailed{Host: id})
		case p.quiet.Load():
			s.Ledger.Step(asked, ledger.HostSuspect{Host: id})
		}
	}
	asked++
	for i, p := range f.parts {
		if own := p.known.Load().own; !p.quiet.Load() && own.Number == s.told[i] {
			s.Ledger.Step(asked, s.answer(ledger.HostID(i+1), asked, &own))
		}
	}
	return f.Ledger()
}

// answer is what a part has told, as the ledger wants it.
func (s *PartsShadow) answer(id ledger.HostID, asked weft.Time, own *part.Sum) *ledger.Answer {
	s.seq++
	a := &ledger.Answer{
		Host: id, Incarnation: ledger.Incarnation(own.Number), Seq: s.seq, Asked: asked, Held: own.Held, Queued: own.Queued, Wires: own.Wires,
	}
	a.Counters.Switches, a.Counters.NICs = own.Switches, own.NICs
	for rule, n := range own.Discards {
		a.Discards = append(a.Discards, ledger.Rule{Name: rule, Packets: n})
	}
	slices.SortFunc(a.Discards, func(a, b ledger.Rule) int { return cmp.Compare(a.Name, b.Name) })
	for _, k := range own.Lost {
		a.Wire = append(a.Wire, ledger.LinkLost{Link: k.Link, Wire: k.Wire})
	}
	for _, e := range own.LostOut {
		a.Queue = append(a.Queue, ledger.EndLost{End: e.End.End(), Packets: e.Queued})
	}
	slices.SortFunc(a.Queue, func(a, b ledger.EndLost) int {
		return cmp.Or(cmp.Compare(a.End.Node.Kind, b.End.Node.Kind), cmp.Compare(a.End.Node.Index, b.End.Node.Index), cmp.Compare(a.End.Port, b.End.Port))
	})
	for _, c := range own.Crashed {
		a.Crash = append(a.Crash, ledger.NodeLost{Switch: c.Switch, Packets: c.Crash})
	}
	for _, e := range own.Ends {
		a.Flows = append(a.Flows, s.sessions(e)...)
		a.Sent, a.Received = a.Sent+e.Flow.Sent, a.Received+e.Flow.Received
	}
	return a
}

// sessions are those of an end. A link comes up with the next incarnation of a part only after its neighbours have been
// asked, so what was counted by then was with the one before.
func (s *PartsShadow) sessions(e part.EndFlow) (list []ledger.Flow) {
	there, _, _ := s.f.graph.Peer(e.End)
	peer := ledger.Incarnation(s.told[slices.Index(s.f.parts, s.f.runs[there.Node])])
	all := s.ends[e.End]
	if n := len(all); n == 0 {
		all = append(all, stay{peer: peer})
	} else if all[n-1].peer != peer {
		all = append(all, stay{peer: peer, sent: all[n-1].last.Sent, received: all[n-1].last.Received})
	}
	now := &all[len(all)-1]
	now.last = e.Flow
	s.ends[e.End] = all
	for i, x := range all {
		f := x.last
		if i < len(all)-1 {
			f.State = credit.Down
		}
		if f.Sent, f.Received = f.Sent-x.sent, f.Received-x.received; f.Sent == 0 {
			f.LastFrom, f.LastTo, f.LastSent = 0, 0, 0
		}
		list = append(list, ledger.Flow{End: e.End, Peer: x.peer, Flow: f})
	}
	return list
}
