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
	hosts []*outpost // in the order in which something was first said to them
	order map[*outpost]*host.Order
}

// give sends orders, and waits for no host. Orders reach a host in the order in which they are given;
// a host that does not answer is told again when it does. The caller holds mu, or gives orders whose
// sequence does not matter.
func (f *Fabric) give(say func(o *orders)) given {
	o := &orders{f: f, order: map[*outpost]*host.Order{}}
	say(o)
	g := make(given, len(o.hosts))
	for i, p := range o.hosts {
		g[i] = p.send(*o.order[p])
	}
	return g
}

// given are orders that were sent to hosts.
type given []*sent

// wait returns when the orders have been carried out, but by hosts that do not answer. The error is
// of a host that does. The caller does not hold mu.
func (g given) wait() error {
	errs := make([]error, len(g))
	for i, s := range g {
		if _, err := s.wait(); !s.host.stale.Load() {
			errs[i] = err
		}
	}
	return errors.Join(errs...)
}

// sent is an order on its way to a host, and what came of it.
type sent struct {
	host   *outpost
	order  host.Order
	done   chan struct{} // closed when answer and err are set
	answer host.OrderAnswer
	err    error
}

// wait returns when the host has carried the order out, or does not answer.
func (s *sent) wait() (host.OrderAnswer, error) {
	<-s.done
	return s.answer, s.err
}

// outbox holds the orders for a host in another process that wait until those before have been
// answered. A host that does not answer is not asked, so what waits for it is refused at once.
type outbox struct {
	mu      sync.Mutex
	busy    bool    // guarded by mu: an order is on its way
	waiting []*sent // guarded by mu; bound: what is given within orderTime
	closed  bool    // guarded by mu: the fabric has been stopped
}

// close refuses all orders from now on.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// send sends an order to the host. A host in this process has carried it out when send returns.
func (p *outpost) send(o host.Order) *sent {
	s := &sent{host: p, order: o, done: make(chan struct{})}
	if !p.late() {
		s.answer, s.err = p.host.Order(context.Background(), o)
		close(s.done)
		return s
	}
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	switch {
	case p.outbox.closed:
		s.err = errStopped
		close(s.done)
	case p.outbox.busy:
		p.outbox.waiting = append(p.outbox.waiting, s)
	default:
		p.outbox.busy = true
		p.fabric.running.Go(func() { p.deliver(s) })
	}
	return s
}

// deliver asks the host to carry out s, and then whatever was sent meanwhile.
func (p *outpost) deliver(s *sent) {
	for s != nil {
		s.answer, s.err = p.carryOut(s.order)
		close(s.done)
		s = p.outbox.next()
	}
}

// next takes the order that has waited longest; nil: none waits.
func (b *outbox) next() (s *sent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy = len(b.waiting) > 0; b.busy {
		s, b.waiting = b.waiting[0], b.waiting[1:]
	}
	return s
}

// order has the host do something, and returns when the fabric knows what came of it. The caller does
// not hold mu.
func (p *outpost) order(o host.Order) (host.OrderAnswer, error) { return p.send(o).wait() }

// to is the order of a host.
func (o *orders) to(p *outpost) *host.Order {
	if o.order[p] == nil {
		o.hosts, o.order[p] = append(o.hosts, p), new(host.Order)
	}
	return o.order[p]
}

// all calls do with the order of each host that has NICs, or may have.
func (o *orders) all(do func(order *host.Order)) {
	for _, p := range *o.f.hosts.Load() {
		if p.sw == nil {
			do(o.to(p))
		}
	}
}

// cut has hosts in other processes at the ends of channels keep what is cut from now on, and let through again what is not.
func (o *orders) cut(cut, restored []channelOf) {
	ends := func(c channelOf, do func(order *host.Order, w host.Way)) {
		a, b := o.f.outpostOf(c.l.A.Node), o.f.outpostOf(c.l.B.Node)
		w := host.Way{Link: c.l.ID, Back: c.d == 1}
		if a.late() {
			do(o.to(a), w)
		}
		if b != a && b.late() {
			do(o.to(b), w)
		}
	}
	for _, c := range cut {
		ends(c, func(order *host.Order, w host.Way) { order.Cut = append(order.Cut, w) })
	}
	for _, c := range restored {
		ends(c, func(order *host.Order, w host.Way) { order.Restored = append(order.Restored, w) })
	}
}

// signal gives or takes signal at one end.
func (o *orders) signal(e weft.End, up bool) {
	order := o.to(o.f.outpostOf(e.Node))
	order.Signals = append(order.Signals, host.SignalOrder{End: host.EndOf(e), Up: up})
}

// restart has s, which was crashed, get its signal back in one step.
func (o *orders) restart(s *liveSwitch) {
	order := o.to(o.f.outpostOf(s.id.Node()))
	order.Restart = append(order.Restart, s.id)
}

// align gives the ends of l the signal they should have; those that have it already say hello at once, since something has
// changed.
func (o *orders) align(l *link) {
	want := o.f.signals(l)
	for i, e := range l.ends() {
		switch {
		case want[i] && !l.lit[i] && o.scatter(l, i):
			continue
		case want[i] || l.lit[i]:
			o.signal(e, want[i])
		}
		l.lit[i] = want[i]
	}
}

// scatter has end i of l get its signal later, if its neighbour is a switch that returns and the world is [Scattered].
func (o *orders) scatter(l *link, i int) bool {
	f, ends := o.f, l.ends()
	w, ok := f.world.(Scattered)
	if !ok || !o.restarts(ends[1-i].Node) || o.restarts(ends[i].Node) {
		return false
	}
	f.world.At(f.Now()+w.Scatter(), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.stopped && !l.lit[i] && f.signals(l)[i] {
			l.lit[i] = true
			f.give(func(o *orders) { o.signal(ends[i], true) })
		}
	})
	return true
}

// restarts reports whether a node is a switch that restart was called with.
func (o *orders) restarts(n weft.Node) bool {
	order := o.order[o.f.outpostOf(n)]
	return order != nil && n.IsSwitch() && slices.Contains(order.Restart, weft.SwitchID(n.Index))
}

// bounce tells an end that nothing comes to it any more. It starts anew, and its hello tells its neighbour.
func (o *orders) bounce(e weft.End) {
	_, id, _ := o.f.graph.Peer(e)
	if l := o.f.links[id]; l.lit[0] && l.lit[1] {
		o.signal(e, false)
		o.signal(e, true)
	}
}

// impair makes direction d suffer what l.suffers says.
func (o *orders) impair(l *link, d int) {
	e := l.ends()[d]
	for _, p := range o.f.hostsOf(e.Node) {
		order := o.to(p)
		order.Impair = append(order.Impair, host.ImpairOrder{End: host.EndOf(e), Impair: impairment(l.suffers[d])})
	}
}

func impairment(s fault.Impairment) pace.Impairment {
	return pace.Impairment{Loss: s.Loss.Share(), Rate: s.Rate, Delay: s.Delay, Jitter: s.Jitter}
}

// crash loses all that s holds.
func (o *orders) crash(s *liveSwitch) {
	order := o.to(o.f.outpostOf(s.id.Node()))
	order.Crash = append(order.Crash, s.id)
}
