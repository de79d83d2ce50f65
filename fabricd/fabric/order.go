package fabric

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/switch/pace"
)

// dispatch sends orders that were decided, and waits for no host. Orders reach a host in the order in
// which they are given; a host that does not answer is told again when it does. The caller holds mu.
func (f *Fabric) dispatch(list []leader.Order) dispatched {
	g := make(dispatched, len(list))
	for i := range list {
		g[i] = f.hostNumbered(list[i].Host).send(orderOf(&list[i]))
	}
	return g
}

// dispatchAll sends an order to all hosts that have NICs, or may have. The caller holds mu.
func (f *Fabric) dispatchAll(o host.Order) (g dispatched) {
	for _, h := range *f.hosts.Load() {
		if h.sw == nil {
			g = append(g, h.send(o))
		}
	}
	return g
}

// hostNumbered is the host of a number.
func (f *Fabric) hostNumbered(id ledger.HostID) *hostState {
	hosts := *f.hosts.Load()
	return hosts[slices.IndexFunc(hosts, func(h *hostState) bool { return h.id == id })]
}

// orderOf is an order as it travels.
func orderOf(d *leader.Order) host.Order {
	o := host.Order{
		Cut: directionsOf(d.Cut), Restored: directionsOf(d.Restored), Crash: d.Crash, Restart: d.Restart, Generation: d.Generation,
	}
	for _, i := range d.Impair {
		o.Impair = append(o.Impair, host.ImpairOrder{End: host.EndOf(i.End), Impair: impairment(i.Suffers)})
	}
	for _, c := range d.Carrier {
		o.Signals = append(o.Signals, host.SignalOrder{End: host.EndOf(c.End), Up: c.Up})
	}
	return o
}

func directionsOf(list []leader.Direction) (out []host.LinkDirection) {
	for _, d := range list {
		out = append(out, host.LinkDirection(d))
	}
	return out
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

func impairment(s fault.Impairment) pace.Impairment {
	return pace.Impairment{Loss: s.Loss.Share(), Rate: s.Rate, Delay: s.Delay, Jitter: s.Jitter}
}
