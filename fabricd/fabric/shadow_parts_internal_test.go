package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/part"
)

// PartsShadow keeps the accounts of a fabric in parts by package ledger, from what the leader knows of them at each look.
type PartsShadow struct {
	Ledger *ledger.Ledger
	f      *Fabric
	told   map[int]uint64 // per part, the incarnation that the ledger knows of
}

// NewPartsShadow begins with all parts as they are.
func NewPartsShadow(f *Fabric) *PartsShadow {
	links := make([]ledger.Link, len(f.graph.Links))
	for i, l := range f.graph.Links {
		links[i] = ledger.Link{A: l.A, B: l.B}
	}
	return &PartsShadow{Ledger: ledger.New(links), f: f, told: map[int]uint64{}}
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
	a := own.Answer
	a.Host, a.Asked = id, asked
	return &a
}
