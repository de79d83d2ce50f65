package fabric

import (
	"errors"
	"slices"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// dispatch sends orders that were decided, and waits for no host. Orders reach a host in the order
// in which they are given, and after what the transport was told before them; a host that does not
// answer is told again when it does.
func (l loop) dispatch(list []leader.Order, after *sent) dispatched {
	g := make(dispatched, len(list))
	for i := range list {
		g[i] = l.hostNumbered(list[i].Host).sendAfter(after, orderOf(&list[i]))
	}
	return g
}

// orderOf is an order as it travels.
func orderOf(d *leader.Order) host.Order {
	o := host.Order{
		Cut: directionsOf(d.Cut), Restored: directionsOf(d.Restored), Crash: d.Crash, Restart: d.Restart,
		Generation: d.Generation, Hold: d.Hold, TimeFactor: d.TimeFactor,
	}
	if d.Traffic != nil {
		o.Traffic = new(trafficOrder(d.Traffic))
	}
	for _, i := range d.Impair {
		o.Impair = append(o.Impair, host.ImpairOrder{End: host.EndOf(i.End), Impair: impairment(i.Suffers)})
	}
	o.Signals = slices.Grow(o.Signals, len(d.Carrier))
	for _, c := range d.Carrier {
		o.Signals = append(o.Signals, host.SignalOrder{End: host.EndOf(c.End), Up: c.Up})
	}
	return o
}

// trafficOrder is traffic as it travels.
func trafficOrder(t *leader.Traffic) host.TrafficOrder {
	return host.TrafficOrder{Spec: t.What.String(), Draws: t.Draws, Trace: t.Trace, Sources: t.Sources}
}

func directionsOf(list []leader.Direction) (out []host.LinkDirection) {
	for _, d := range list {
		out = append(out, host.LinkDirection(d))
	}
	return out
}

// dispatched is what hosts and the transport were told.
type dispatched []*sent

// wait returns when all have done what they were told, but for hosts that do not answer. The error
// is of those that do.
func (g dispatched) wait() error {
	errs := make([]error, len(g))
	for i, s := range g {
		err := s.wait()
		if s.host != nil && (s.host.stale.Load() || errors.Is(err, errSuspect)) {
			continue // it is told again, or has been by now
		}
		errs[i] = err
	}
	return errors.Join(errs...)
}

// sent is what a host, the transport or whoever makes credentials was told, and what came of it.
type sent struct {
	host   *hostState       // nil: it was no host
	done   chan struct{}    // closed when answer and err are set
	answer host.OrderAnswer // of a host
	err    error
}

// wait returns when that is done, or the host does not answer.
func (s *sent) wait() error {
	<-s.done
	return s.err
}

// send has the host carry out an order when it has carried out all before, and waits for it in
// virtual time only.
func (h *hostState) send(o host.Order) *sent { return h.sendAfter(nil, o) }

// sendAfter is send, once the transport has done what it was told; nil: it was told nothing.
func (h *hostState) sendAfter(first *sent, o host.Order) *sent {
	s := &sent{host: h, done: make(chan struct{})}
	if h.late() && h.site.hasStopped() {
		s.err = errStopped
		close(s.done)
		return s
	}
	h.site.enqueue(&h.orders, func() {
		if first != nil {
			<-first.done
		}
		s.answer, s.err = h.carryOut(o)
		close(s.done)
	})
	return s
}

// order has the host do something, and returns when the fabric knows what came of it.
func (h *hostState) order(o host.Order) (host.OrderAnswer, error) {
	s := h.send(o)
	err := s.wait()
	return s.answer, err
}

func impairment(s fault.Impairment) linkend.Impairment {
	return linkend.Impairment{Loss: s.Loss.Share(), Rate: s.Rate, Delay: s.Delay, Jitter: s.Jitter}
}
