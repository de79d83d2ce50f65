// Package world is virtual time as a fabric lives in it: the same faults, reports, ledger and
// scenarios as live, over a calendar of events instead of goroutines and the clock on the wall.
//
//	f, err := fabric.New(fabric.Options{Topology: g, Firmware: fw, World: world.New()})
//
// Time goes on only while the fabric waits for something, on the goroutine that called it: one
// goroutine may use the fabric, and nothing but its seed and its calls, in their order, has a say
// in what happens. The same calls give the same events, to the bit; see [World.Hash].
//
// # What differs from live
//
// Switches and NICs take no time to think: a packet is received when its last byte has arrived, and
// may be sent on at once. A link that is not paced is not infinitely fast: it is paced at
// [unpacedRate] and delays by [unpacedDelay]. Nobody is late, so nothing is excused: a silence is
// one. The neighbours of a switch that returns see it one after the other, in an order that is
// drawn anew each time: live, chance has a say in it. Switches that are processes, brokers and
// their failures do not exist.
package world

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/virtual"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
)

// What a link is that the fabric does not pace. Chosen by us, near what a link in memory does on
// one core: a packet of 256 bytes takes a microsecond to send and another on its way.
const (
	unpacedRate  = 256e6 // bytes per second
	unpacedDelay = time.Microsecond
)

// ErrNothingLeft is the error of waiting for what cannot come: no event is left that could bring
// it.
var ErrNothingLeft = errors.New("nothing is left that could happen")

// ErrStandsStill is the error of waiting for a time that never comes, because something goes on for
// ever without taking any.
var ErrStandsStill = errors.New("time stands still")

// World implements [fabric.Runtime] and [fabric.Hashed]. One goroutine may use it.
type World struct {
	engine         *virtual.Engine
	switches, nics []*virtual.Node

	soon       []*agent // that have been poked
	expired    uint     // how many timeouts have
	mostAtOnce int      // events that may happen at one time
	scatter    *rand.PCG
}

var (
	_ fabric.Runtime   = (*World)(nil)
	_ fabric.Hashed    = (*World)(nil)
	_ fabric.Scattered = (*World)(nil)
)

// New returns a world at time 0, for one fabric.
func New() *World { return &World{mostAtOnce: mostAtOnce} }

// Build implements [fabric.Runtime].
func (w *World) Build(b fabric.BuildSpec) (switches, nics []fabric.Driver, err error) {
	w.engine = virtual.New(virtual.Config{Seed: b.Seed, Batch: b.Batch})
	w.scatter = weft.Stream(b.Seed, weft.StreamReturn, 0, 0)
	drive := func(core weft.Core, n weft.Node) (*virtual.Node, fabric.Driver) {
		node := w.engine.Add(core, virtual.NodeConfig{Watch: b.Watch(n)})
		return node, driver{node}
	}
	for i, core := range b.Switches {
		n, d := drive(core, weft.SwitchID(i).Node())
		w.switches, switches = append(w.switches, n), append(switches, d)
	}
	for i, core := range b.NICs {
		n, d := drive(core, weft.NICID(i).Node())
		w.nics, nics = append(w.nics, n), append(nics, d)
	}
	for _, l := range b.Graph.Links {
		w.engine.Connect(w.port(l.A), w.port(l.B), paced(b.Pace))
	}
	return switches, nics, nil
}

func (w *World) port(e weft.End) virtual.Port {
	if e.Node.IsSwitch() {
		return virtual.Port{Node: w.switches[e.Node.Index], Port: e.Port}
	}
	return virtual.Port{Node: w.nics[e.Node.Index], Port: e.Port}
}

// paced is p, with times that are not zero.
func paced(p link.Pace) link.Pace {
	if p.Rate == 0 {
		p.Rate = unpacedRate
		p.Delay += unpacedDelay
	}
	return p
}

// driver is a node as the fabric sees it.
type driver struct{ *virtual.Node }

// Stats implements [fabric.Driver].
func (d driver) Stats() switchd.Stats {
	s := d.Node.Stats()
	return switchd.Stats{
		FramesIn: s.FramesIn, FramesOut: s.FramesOut, FramesLost: s.FramesLost,
		CreditFrames: s.CreditFrames,
	}
}

// Start implements [fabric.Runtime].
func (w *World) Start(context.Context) error { return nil }

// Stop implements [fabric.Runtime].
func (w *World) Stop() {}

// Cut implements [fabric.Runtime].
func (w *World) Cut(from []weft.End) error {
	for _, e := range from {
		w.engine.Cut(w.port(e))
	}
	return nil
}

// Restore implements [fabric.Runtime].
func (w *World) Restore(from []weft.End) error {
	for _, e := range from {
		w.engine.Restore(w.port(e))
	}
	return nil
}

// mostScatter is within which time the neighbours of a switch that returns have signal, each at a
// moment of its own. Chosen by us: packets cross several switches meanwhile; live it is less,
// unless the machine is busy.
const mostScatter = 10 * weft.Millisecond

// Scatter implements [fabric.Scattered].
func (w *World) Scatter() weft.Time { return weft.Time(w.scatter.Uint64() % uint64(mostScatter)) }

// Hash is a fingerprint of all events so far, and of all calls that have been made by time. It is
// the same on every machine.
func (w *World) Hash() uint64 { return w.engine.Hash() }

// Events is how many events have happened.
func (w *World) Events() uint64 { return w.engine.Events() }

// Now implements [fabric.Clock].
func (w *World) Now() weft.Time {
	if w.engine == nil {
		return 0
	}
	return w.engine.Now()
}

// At implements [fabric.Clock].
func (w *World) At(t weft.Time, do func()) (stop func()) {
	timer := w.engine.At(t, do)
	return func() { timer.Stop() }
}

// agent is one of [World.Agent].
type agent struct {
	do    func()
	poked bool
	busy  bool // what it does waits, and lets time go on
}

// Task implements [fabric.Clock].
func (w *World) Task(every time.Duration, do func()) (wake func()) {
	a := &agent{do: do}
	if every > 0 {
		next := w.Now() + weft.FromDuration(every)
		var again func()
		again = func() {
			next += weft.FromDuration(every)
			w.engine.At(next, again)
			a.run()
		}
		w.engine.At(next, again)
	}
	return func() {
		if !a.poked {
			a.poked = true
			w.soon = append(w.soon, a)
		}
	}
}

func (a *agent) run() {
	if !a.busy {
		a.busy = true
		a.do()
		a.busy = false
	}
}

// settle runs the agents that have been poked, until there are none.
func (w *World) settle() {
	for len(w.soon) > 0 && !w.soon[0].busy {
		a := w.soon[0]
		w.soon = w.soon[1:]
		a.poked = false
		a.run()
	}
}

const (
	// interruptEvery is how many events may happen before an interrupt from outside is heard.
	interruptEvery = 1 << 12
	// mostAtOnce is how many may happen at one time, some seconds of ours. The largest fabric has a
	// hundredth of that.
	mostAtOnce = 1 << 24
)

// Pause implements [fabric.Clock]. It wraps ErrNothingLeft when neither can come, and
// ErrStandsStill when the time cannot.
func (w *World) Pause(ctx context.Context, until weft.Time, news <-chan struct{}) error {
	seen := w.expired - 1
	since, at := 0, w.Now()
	for n := 1; ; n++ {
		if seen != w.expired || n%interruptEvery == 0 {
			seen = w.expired
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if now := w.Now(); now != at {
				since, at = n, now
			} else if n-since > w.mostAtOnce {
				return fmt.Errorf("%w at %v: %d events have happened then, and there is no end of them", ErrStandsStill, at,
					n-since)
			}
		}
		w.settle()
		select {
		case <-news:
			return nil
		default:
		}
		if w.engine.Step(until) {
			continue
		}
		if until == weft.Never {
			return fmt.Errorf("%w, at %v", ErrNothingLeft, w.Now())
		}
		w.engine.Run(until)
		return nil
	}
}

// WithTimeout implements [fabric.Clock].
func (w *World) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := w.engine.At(w.Now()+weft.FromDuration(d), func() {
		w.expired++
		cancel(context.DeadlineExceeded)
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
