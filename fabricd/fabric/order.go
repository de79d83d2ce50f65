package fabric

import (
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

// give gives orders. When it returns they have been carried out, but by hosts that do not answer: these are told again when they do.
// The error is of a host that does. The caller holds mu.
func (f *Fabric) give(say func(o *orders)) error {
	o := &orders{f: f, order: map[*outpost]*host.Order{}}
	say(o)
	var wg sync.WaitGroup
	errs := make([]error, len(o.hosts))
	for i, p := range o.hosts {
		do := func() {
			if _, err := p.order(*o.order[p]); !p.stale.Load() {
				errs[i] = err
			}
		}
		if p.late() {
			wg.Go(do)
		} else {
			do()
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

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
	f.world.At(f.Now()+w.Scatter(), func() { // on the one goroutine that there is, perhaps while who restores waits for the link
		if !f.stopped && !l.lit[i] && f.signals(l)[i] {
			l.lit[i] = true
			_ = f.give(func(o *orders) { o.signal(ends[i], true) })
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
