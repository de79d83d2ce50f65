package leader

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// A switch moves between its home, the host that it belongs to by the placement, and a host of its
// own. The decision comes first: from [MoveBegins] on it runs where it goes to, whatever becomes of
// either host. Then one host releases it and the other takes it, which the caller sees to, with as
// many attempts as it takes. With [MoveEnds] its links get carrier there.

// Move is a switch on its way to another host.
type Move struct {
	Switch   weft.SwitchID      `json:"switch"`
	Number   weft.Epoch         `json:"number"` // of the hand-over; the links of the switch begin above it
	Incident int                `json:"incident"`
	From     ledger.HostID      `json:"from"`
	To       ledger.HostID      `json:"to"`
	FromLife ledger.Incarnation `json:"from_life"` // of From, which releases it
	ToLife   ledger.Incarnation `json:"to_life"`   // of To
}

// MoveBegins decides that a switch runs on the other one of its two hosts. What says so in words.
type MoveBegins struct {
	Move // but for Incident
	What string
}

// MoveEnds says that a switch has come to the host that it moves to, or that this host is gone. It
// is answered by [Begun].
type MoveEnds struct{ Switch weft.SwitchID }

func (MoveBegins) event() {}
func (MoveEnds) event()   {}

// Moving is the move of a switch; nil: it does not move.
func (s *State) Moving(id weft.SwitchID) *Move {
	if i := slices.IndexFunc(s.Moves, func(m Move) bool { return m.Switch == id }); i >= 0 {
		return &s.Moves[i]
	}
	return nil
}

// moves reports whether a node is a switch that moves.
func (s *State) moves(n weft.Node) bool {
	return n.IsSwitch() && s.Moving(weft.SwitchID(n.Index)) != nil
}

// EndMoves reports whether an end of a link is a switch that moves.
func (s *State) EndMoves(id weft.LinkID) bool {
	l := s.link(id)
	return s.moves(l.A.Node) || s.moves(l.B.Node)
}

// crossing are the links of a host that have an end on another one now.
func (s *State) crossing(h *Host) []weft.LinkID {
	list := slices.Clone(h.Border)
	for _, id := range h.Inside {
		if l := s.link(id); s.runner(l.A.Node).ID != h.ID || s.runner(l.B.Node).ID != h.ID {
			list = append(list, id)
		}
	}
	return list
}

// own is the host of a switch alone; nil: there was none.
func (s *State) own(id weft.SwitchID) *Host {
	if i := s.process[id]; i >= 0 {
		return &s.Hosts[i]
	}
	return nil
}

func (s *State) moveBegins(e MoveBegins) {
	m := e.Move
	n := s.begin(fault.Report{Kind: fault.KindHandover, Target: s.cfg.Graph.Switches[m.Switch].Name, What: e.What},
		subject{links: s.attached[m.Switch], sw: m.Switch, hasSwitch: true}, nil)
	m.Incident = n.Report.ID
	s.Moves = append(s.Moves, m)
	s.runs(m.Switch, s.Host(m.To))
	s.Ledger.Step(s.now, ledger.NodeMoved{Node: m.Switch.Node(), To: m.To, HandOver: m.Number})
	s.do(Checkpoint{})
	s.do(Changed{})
}

// runs notes which of its two hosts runs a switch. Nobody has given its ends carrier there.
func (s *State) runs(id weft.SwitchID, h *Host) {
	s.own(id).Runs = h.Process
	for _, link := range s.attached[id] {
		for i, e := range ends(s.link(link)) {
			if e.Node == id.Node() {
				s.Links[link].Up[i], s.Links[link].Carrier[i] = false, false
			}
		}
	}
}

func (s *State) moveEnds(id weft.SwitchID) {
	m := s.Moving(id)
	if m == nil {
		return
	}
	a := &action{
		touched: slices.Clone(s.attached[id]), back: slices.Clone(s.attached[id]),
		restart: []weft.SwitchID{id}, steps: []step{{}},
	}
	if n := s.Incident(m.Incident); n != nil {
		a.steps[0].ended = []*Incident{n}
		s.refresh(n)
		s.publish(Published{Kind: fault.KindHandover, Switch: n.Report.Target, Fault: new(n.Report.Clone())})
	}
	s.Moves = slices.DeleteFunc(s.Moves, func(m Move) bool { return m.Switch == id })
	if s.Crashed[id] != 0 { // on its way: it may have come with what it held
		a.crash, a.restart = a.restart, nil
	}
	s.do(Begun{s.act(a)})
}

// ownEnded notes that the host of a switch alone runs it no more, and that it has not moved: what
// it held is lost, and it is its home's again, which begins to run it when it is repaired.
func (s *State) ownEnded(h *Host) {
	if h.Runs {
		s.runs(h.Switch, s.home(h.Switch.Node()))
		s.Ledger.Step(s.now, ledger.NodeMoved{Node: h.Switch.Node(), To: s.home(h.Switch.Node()).ID})
	}
}

// away are the switches that a host has by the placement and must not run now. Made says that it
// was just made; of another one who sees to a move knows best what it has done.
func (s *State) away(h *Host, made bool) (list []weft.SwitchID) {
	for id, place := range s.process {
		id := weft.SwitchID(id)
		if place < 0 || !(h.Process && h.Switch == id || s.home(id.Node()).ID == h.ID) {
			continue
		}
		m := s.Moving(id)
		if m != nil && made || m == nil && s.runner(id.Node()).ID != h.ID {
			list = append(list, id)
		}
	}
	return list
}

// restoreMoves goes on with the moves of the leader before, and ends the incidents of those that
// are over.
func (s *State) restoreMoves(list []Move) error {
	for _, m := range list {
		if int(m.Switch) >= len(s.process) || s.own(m.Switch) == nil || s.Host(m.From) == nil || s.Host(m.To) == nil {
			return fmt.Errorf("move of switch %d: it has no host of its own", m.Switch)
		}
	}
	s.Moves = slices.Clone(list)
	for _, n := range slices.Clone(s.open) {
		goesOn := slices.ContainsFunc(list, func(m Move) bool { return m.Incident == n.Report.ID })
		if n.Report.Kind == fault.KindHandover && !goesOn {
			s.repaired(n)
		}
	}
	return nil
}
