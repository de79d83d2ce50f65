package fabric

import (
	"slices"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/part"
	"github.com/weft-fabric/weft/nic/nicd"
	"github.com/weft-fabric/weft/switch/pace"
)

// here are the nodes that this process runs itself.
type here struct {
	switches []*liveSwitch
	nics     []*liveNIC
}

// liveNIC is a NIC with its driver.
type liveNIC struct {
	*nicd.NIC // nil: a part runs it
	id        weft.NICID
	part      *outpost // that runs it; nil: this process does
}

// orders are what nodes are told at one instant. Those of this process act while it is said; parts are told once each, when all has
// been said.
type orders struct {
	f     *Fabric
	parts map[*outpost]*part.Order
	whole []*returning // switches of this process that get the signal of all their ports in one step, when all has been said
}

// returning is a switch that returns and what its ports are told: in one step, see [switching.ReturnWait].
type returning struct {
	*liveSwitch
	signals []part.SignalOrder
}

// give gives orders. When it returns they have been carried out, but by parts that do not answer: these are told
// again when they do. The caller holds mu.
func (f *Fabric) give(say func(o *orders)) {
	o := &orders{f: f}
	say(o)
	for _, s := range o.whole {
		s.Do(func(now weft.Time, out *weft.Actions) {
			for _, to := range s.signals {
				s.core.Signal(now, to.End.Port, to.Up, out)
			}
		})
	}
	var wg sync.WaitGroup
	for p, order := range o.parts {
		wg.Go(func() { _, _ = p.order(*order) })
	}
	wg.Wait()
}

// to is the order of a part.
func (o *orders) to(p *outpost) *part.Order {
	if o.parts == nil {
		o.parts = map[*outpost]*part.Order{}
	}
	if o.parts[p] == nil {
		o.parts[p] = new(part.Order)
	}
	return o.parts[p]
}

// all calls do with the order of each part that has NICs, or may have.
func (o *orders) all(do func(order *part.Order)) {
	for _, p := range o.f.parts {
		do(o.to(p))
	}
}

// cut has parts at the ends of channels keep what is cut from now on, and let through again what is not.
func (o *orders) cut(cut, restored []channelOf) {
	ends := func(c channelOf, do func(order *part.Order, w part.Way)) {
		a, b := o.f.outpostOf(c.l.A.Node), o.f.outpostOf(c.l.B.Node)
		w := part.Way{Link: c.l.ID, Back: c.d == 1}
		if a != nil {
			do(o.to(a), w)
		}
		if b != nil && b != a {
			do(o.to(b), w)
		}
	}
	for _, c := range cut {
		ends(c, func(order *part.Order, w part.Way) { order.Cut = append(order.Cut, w) })
	}
	for _, c := range restored {
		ends(c, func(order *part.Order, w part.Way) { order.Restored = append(order.Restored, w) })
	}
}

// signal gives or takes signal at one end.
func (o *orders) signal(e weft.End, up bool) {
	if p := o.f.outpostOf(e.Node); p != nil {
		order := o.to(p)
		order.Signals = append(order.Signals, part.SignalOrder{End: part.EndOf(e), Up: up})
		return
	}
	if !e.Node.IsSwitch() {
		o.f.nics[e.Node.Index].Signal(e.Port, up)
		return
	}
	s := o.f.switches[e.Node.Index]
	if i := slices.IndexFunc(o.whole, func(r *returning) bool { return r.liveSwitch == s }); i >= 0 {
		r := o.whole[i]
		r.signals = append(r.signals, part.SignalOrder{End: part.EndOf(e), Up: up})
		return
	}
	s.Signal(e.Port, up)
}

// restart has s, which was crashed, get its signal back in one step. A part does so by itself.
func (o *orders) restart(s *liveSwitch) {
	if o.f.outpostOf(s.id.Node()) == nil {
		o.whole = append(o.whole, &returning{liveSwitch: s})
	}
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
			f.give(func(o *orders) { o.signal(ends[i], true) })
		}
	})
	return true
}

// restarts reports whether a node is a switch that restart was called with.
func (o *orders) restarts(n weft.Node) bool {
	return slices.ContainsFunc(o.whole, func(r *returning) bool { return r.id.Node() == n })
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
	e, i := l.ends()[d], impairment(l.suffers[d])
	if p := o.f.outpostOf(e.Node); p != nil {
		order := o.to(p)
		order.Impair = append(order.Impair, part.ImpairOrder{End: part.EndOf(e), Impair: i})
		if p.sw == nil {
			return
		} // else also for when it is ours again
	}
	if e.Node.IsSwitch() {
		o.f.switches[e.Node.Index].Impair(e.Port, i)
		return
	}
	o.f.nics[e.Node.Index].Impair(e.Port, i)
}

func impairment(s fault.Impairment) pace.Impairment {
	return pace.Impairment{Loss: s.Loss.Share(), Rate: s.Rate, Delay: s.Delay, Jitter: s.Jitter}
}

// crash loses all that s holds.
func (o *orders) crash(s *liveSwitch) {
	if p := o.f.outpostOf(s.id.Node()); p != nil {
		order := o.to(p)
		order.Crash = append(order.Crash, s.id)
		return
	}
	s.crashNow()
}
