package fabric

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/switch/pace"
)

// orders are what hosts are told at one instant: each once, when all has been said.
type orders struct {
	f     *Fabric
	hosts []*hostState // in the order in which something was first said to them
	order map[*hostState]*host.Order
}

// dispatch sends orders, and waits for no host. Orders reach a host in the order in which they are given;
// a host that does not answer is told again when it does. The caller holds mu, or gives orders whose
// sequence does not matter.
func (f *Fabric) dispatch(say func(o *orders)) dispatched {
	o := &orders{f: f, order: map[*hostState]*host.Order{}}
	say(o)
	g := make(dispatched, len(o.hosts))
	for i, h := range o.hosts {
		g[i] = h.send(*o.order[h])
	}
	return g
}

// dispatched are orders that were sent to hosts.
type dispatched []*sentOrder

// wait returns when the orders have been carried out, but by hosts that do not answer. The error is
// of a host that does. The caller does not hold mu.
func (g dispatched) wait() error {
	errs := make([]error, len(g))
	for i, s := range g {
		if _, err := s.wait(); !s.host.stale.Load() {
			errs[i] = err
		}
	}
	return errors.Join(errs...)
}

// sentOrder is an order on its way to a host, and what came of it.
type sentOrder struct {
	host   *hostState
	order  host.Order
	done   chan struct{} // closed when answer and err are set
	answer host.OrderAnswer
	err    error
}

// wait returns when the host has carried the order out, or does not answer.
func (s *sentOrder) wait() (host.OrderAnswer, error) {
	<-s.done
	return s.answer, s.err
}

// outbox holds the orders for a host in another process that wait until those before have been
// answered. A host that does not answer is not asked, so what waits for it is refused at once.
type outbox struct {
	mu      sync.Mutex
	busy    bool         // guarded by mu: an order is on its way
	waiting []*sentOrder // guarded by mu; bound: what is given within orderTime
	closed  bool         // guarded by mu: the fabric has been stopped
}

// close refuses all orders from now on.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// send sends an order to the host. A host in this process has carried it out when send returns.
func (h *hostState) send(o host.Order) *sentOrder {
	s := &sentOrder{host: h, order: o, done: make(chan struct{})}
	if !h.late() {
		s.answer, s.err = h.host.Order(context.Background(), o)
		close(s.done)
		return s
	}
	h.outbox.mu.Lock()
	defer h.outbox.mu.Unlock()
	switch {
	case h.outbox.closed:
		s.err = errStopped
		close(s.done)
	case h.outbox.busy:
		h.outbox.waiting = append(h.outbox.waiting, s)
	default:
		h.outbox.busy = true
		h.fabric.running.Go(func() { h.deliver(s) })
	}
	return s
}

// deliver asks the host to carry out s, and then whatever was sent meanwhile.
func (h *hostState) deliver(s *sentOrder) {
	for s != nil {
		s.answer, s.err = h.carryOut(s.order)
		close(s.done)
		s = h.outbox.next()
	}
}

// next takes the order that has waited longest; nil: none waits.
func (b *outbox) next() (s *sentOrder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy = len(b.waiting) > 0; b.busy {
		s, b.waiting = b.waiting[0], b.waiting[1:]
	}
	return s
}

// order has the host do something, and returns when the fabric knows what came of it. The caller does
// not hold mu.
func (h *hostState) order(o host.Order) (host.OrderAnswer, error) { return h.send(o).wait() }

// to is the order of a host.
func (o *orders) to(h *hostState) *host.Order {
	if o.order[h] == nil {
		o.hosts, o.order[h] = append(o.hosts, h), new(host.Order)
	}
	return o.order[h]
}

// all calls do with the order of each host that has NICs, or may have.
func (o *orders) all(do func(order *host.Order)) {
	for _, h := range *o.f.hosts.Load() {
		if h.sw == nil {
			do(o.to(h))
		}
	}
}

// cut has hosts in other processes at the ends of channels keep what is cut from now on, and let through again what is not.
func (o *orders) cut(cut, restored []channelOf) {
	ends := func(c channelOf, do func(order *host.Order, w host.LinkDirection)) {
		a, b := o.f.hostOf(c.l.A.Node), o.f.hostOf(c.l.B.Node)
		w := host.LinkDirection{Link: c.l.ID, Back: c.d == 1}
		if a.late() {
			do(o.to(a), w)
		}
		if b != a && b.late() {
			do(o.to(b), w)
		}
	}
	for _, c := range cut {
		ends(c, func(order *host.Order, w host.LinkDirection) { order.Cut = append(order.Cut, w) })
	}
	for _, c := range restored {
		ends(c, func(order *host.Order, w host.LinkDirection) { order.Restored = append(order.Restored, w) })
	}
}

// signal gives or takes signal at one end.
func (o *orders) signal(e weft.End, up bool) {
	order := o.to(o.f.hostOf(e.Node))
	order.Signals = append(order.Signals, host.SignalOrder{End: host.EndOf(e), Up: up})
}

// restart has s, which was crashed, get its signal back in one step.
func (o *orders) restart(s *liveSwitch) {
	order := o.to(o.f.hostOf(s.id.Node()))
	order.Restart = append(order.Restart, s.id)
}

// sync gives the ends of l the signal they should have; those that have it already say hello at once, since something has
// changed.
func (o *orders) sync(l *link) {
	want := o.f.signals(l)
	for i, e := range l.ends() {
		switch {
		case want[i] && !l.signal[i] && o.scatter(l, i):
			continue
		case want[i] || l.signal[i]:
			o.signal(e, want[i])
		}
		l.signal[i] = want[i]
	}
}

// scatter has end i of l get its signal later, if its neighbour is a switch that returns and the world is [Scattered].
func (o *orders) scatter(l *link, i int) bool {
	f, ends := o.f, l.ends()
	w, ok := f.runtime.(Scattered)
	if !ok || !o.restarts(ends[1-i].Node) || o.restarts(ends[i].Node) {
		return false
	}
	f.runtime.At(f.Now()+w.Scatter(), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.stopped && !l.signal[i] && f.signals(l)[i] {
			l.signal[i] = true
			f.dispatch(func(o *orders) { o.signal(ends[i], true) })
		}
	})
	return true
}

// restarts reports whether a node is a switch that restart was called with.
func (o *orders) restarts(n weft.Node) bool {
	order := o.order[o.f.hostOf(n)]
	return order != nil && n.IsSwitch() && slices.Contains(order.Restart, weft.SwitchID(n.Index))
}

// toggle tells an end that nothing comes to it any more. It starts anew, and its hello tells its neighbour.
func (o *orders) toggle(e weft.End) {
	_, id, _ := o.f.graph.Peer(e)
	if l := o.f.links[id]; l.signal[0] && l.signal[1] {
		o.signal(e, false)
		o.signal(e, true)
	}
}

// impair makes direction d suffer what l.suffers says.
func (o *orders) impair(l *link, d int) {
	e := l.ends()[d]
	for _, h := range o.f.hostsOf(e.Node) {
		order := o.to(h)
		order.Impair = append(order.Impair, host.ImpairOrder{End: host.EndOf(e), Impair: impairment(l.suffers[d])})
	}
}

func impairment(s fault.Impairment) pace.Impairment {
	return pace.Impairment{Loss: s.Loss.Share(), Rate: s.Rate, Delay: s.Delay, Jitter: s.Jitter}
}

// crash loses all that s holds.
func (o *orders) crash(s *liveSwitch) {
	order := o.to(o.f.hostOf(s.id.Node()))
	order.Crash = append(order.Crash, s.id)
}
