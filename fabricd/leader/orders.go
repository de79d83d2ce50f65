package leader

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// orders are what hosts are told at one instant.
type orders struct {
	s    *State
	list []Order // in the order in which something was first said to each
	at   map[ledger.HostID]int
}

// order collects orders and gives them.
func (s *State) order(fill func(o *orders)) {
	o := &orders{s: s, at: map[ledger.HostID]int{}}
	fill(o)
	if len(o.list) > 0 {
		s.do(Orders{o.list})
	}
}

// to is the order of a host. It is valid until the next call.
func (o *orders) to(h *Host) *Order {
	i, ok := o.at[h.ID]
	if !ok {
		i = len(o.list)
		o.at[h.ID], o.list = i, append(o.list, Order{Host: h.ID})
	}
	return &o.list[i]
}

// cut has hosts in other processes that may run an end of a direction keep what is cut from now on,
// and let through again what is not.
func (o *orders) cut(cut, restored []Direction) {
	hosts := func(d Direction, do func(order *Order)) {
		var told []ledger.HostID
		for _, e := range ends(o.s.link(d.Link)) {
			for _, h := range o.s.mayRun(e.Node) {
				if h.Remote && !slices.Contains(told, h.ID) {
					told = append(told, h.ID)
					do(o.to(h))
				}
			}
		}
	}
	for _, d := range cut {
		hosts(d, func(order *Order) { order.Cut = append(order.Cut, d) })
	}
	for _, d := range restored {
		hosts(d, func(order *Order) { order.Restored = append(order.Restored, d) })
	}
}

// mayRun are the hosts that run a node or may run it next: its home, and the host of a switch
// alone.
func (s *State) mayRun(n weft.Node) []*Host {
	if n.IsSwitch() {
		if own := s.own(weft.SwitchID(n.Index)); own != nil {
			return []*Host{s.home(n), own}
		}
	}
	return []*Host{s.home(n)}
}

// carrier gives or takes carrier at one end.
func (o *orders) carrier(e weft.End, up bool) {
	order := o.to(o.s.runner(e.Node))
	order.Carrier = append(order.Carrier, Carrier{e, up})
}

// sync gives the ends of a link the carrier they should have; those that have it already say hello
// at once, since something has changed.
func (o *orders) sync(id weft.LinkID) {
	l, want := &o.s.Links[id], o.s.carrier(id)
	for i, e := range ends(o.s.link(id)) {
		switch {
		case want[i] && !l.Carrier[i] && o.scatter(id, i):
			continue
		case want[i] || l.Carrier[i]:
			o.carrier(e, want[i])
		}
		l.Carrier[i] = want[i]
	}
}

// scatter has an end of a link get its carrier later, if its neighbour is a switch that returns and
// that is how it is done.
func (o *orders) scatter(id weft.LinkID, side int) bool {
	e := ends(o.s.link(id))
	if !o.s.cfg.Scattered || !o.restarts(e[1-side].Node) || o.restarts(e[side].Node) {
		return false
	}
	o.s.do(Scatter{id, side})
	return true
}

// restarts reports whether a node is a switch that is to return.
func (o *orders) restarts(n weft.Node) bool {
	i, ok := o.at[o.s.runner(n).ID]
	return ok && n.IsSwitch() && slices.Contains(o.list[i].Restart, weft.SwitchID(n.Index))
}

// toggle tells an end that nothing comes to it any more. It starts anew, and its hello tells its
// neighbour.
func (o *orders) toggle(e weft.End) {
	_, id, _ := o.s.cfg.Graph.Peer(e)
	if l := &o.s.Links[id]; l.Carrier[0] && l.Carrier[1] {
		o.carrier(e, false)
		o.carrier(e, true)
	}
}

// impair has a direction suffer what it is to suffer now, at all hosts that may run the end that
// sends.
func (o *orders) impair(d Direction) {
	e := ends(o.s.link(d.Link))[d.side()]
	what := Impairment{e, o.s.Links[d.Link].Suffers[d.side()]}
	for _, h := range o.s.mayRun(e.Node) {
		order := o.to(h)
		order.Impair = append(order.Impair, what)
	}
}

// carrierDue gives an end carrier that was put off, if it should have it still.
func (s *State) carrierDue(e CarrierDue) {
	l := &s.Links[e.Link]
	if l.Carrier[e.Side] || !s.carrier(e.Link)[e.Side] {
		return
	}
	l.Carrier[e.Side] = true
	s.order(func(o *orders) { o.carrier(ends(s.link(e.Link))[e.Side], true) })
}

// sync gives the ends of links the carrier that they should have.
func (s *State) sync(links []weft.LinkID) {
	s.order(func(o *orders) {
		for _, id := range links {
			o.sync(id)
		}
	})
}

// resync makes the order that tells a host all that it should know of its links and switches.
func (s *State) resync(e Resync) {
	h := s.Host(e.Host)
	known := e.Applied
	if known == nil {
		known = &Applied{}
	}
	o := Order{Host: h.ID}
	s.addNICResync(h, known, &o)
	for _, id := range slices.Concat(h.Inside, h.Border) {
		s.resyncLink(h, known, &o, id)
	}
	for _, d := range known.Cut {
		if !slices.Contains(o.Cut, d) {
			o.Restored = append(o.Restored, d)
		}
	}
	for _, end := range known.Impaired {
		if !slices.ContainsFunc(o.Impair, func(i Impairment) bool { return i.End == end }) {
			o.Impair = append(o.Impair, Impairment{End: end})
		}
	}
	o.Away = s.away(h, e.Applied == nil)
	for _, id := range known.Away {
		if s.runner(id.Node()).ID == h.ID && s.Moving(id) == nil && s.Crashed[id] == 0 {
			o.Take = append(o.Take, id)
		}
	}
	for i, by := range s.Crashed {
		id := weft.SwitchID(i)
		if by != 0 && (s.home(id.Node()).ID == h.ID || h.Process && h.Switch == id) {
			o.Crash = append(o.Crash, id)
		}
	}
	s.do(ResyncOrder{o})
}

// resyncLink adds what was done to a link.
func (s *State) resyncLink(h *Host, known *Applied, o *Order, id weft.LinkID) {
	l := &s.Links[id]
	for i, e := range ends(s.link(id)) {
		if s.moves(e.Node) && s.runner(e.Node).ID == h.ID {
			l.Carrier[i] = slices.Contains(known.Carrier, e)
		}
	}
	want := s.carrier(id)
	for d := range both {
		if s.IsCut(id, d) {
			o.Cut = append(o.Cut, direction(id, d))
		}
	}
	for i, e := range ends(s.link(id)) {
		if s.home(e.Node).ID != h.ID && !(h.Process && e.Node == h.Switch.Node()) {
			continue
		}
		if !l.Suffers[i].IsZero() {
			o.Impair = append(o.Impair, Impairment{e, l.Suffers[i]})
		}
		if s.runner(e.Node).ID != h.ID {
			continue
		}
		if l.Carrier[i] = want[i]; !want[i] {
			o.Carrier = append(o.Carrier, Carrier{End: e})
		}
	}
}
