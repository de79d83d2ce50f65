package fabric

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/switchd"
)

// live is the World of goroutines. Its timers and agents are goroutines too.
type live struct {
	transport bus.Transport
	start     time.Time
	graph     *topology.Graph

	links          [][2]bus.Direction // per link, A to B and B to A
	wires          *wiring
	switches, nics []*switchd.Driver
	beat           *bus.Beat // nil: links do not leave the process

	ctx     context.Context // of all that runs
	stop    context.CancelFunc
	running sync.WaitGroup
}

var _ World = (*live)(nil)

func newLive(t bus.Transport) *live { return &live{transport: t, start: time.Now()} }

// Build implements World.
func (w *live) Build(b Blueprint) (switches, nics []Driver, err error) {
	w.graph = b.Graph
	if every := b.Interval / 4; every > 0 && b.some() && w.transport.Enforcement() != bus.EnforcedInProcess {
		if w.beat, err = bus.NewBeat(w.transport, every.Duration()); err != nil {
			return nil, nil, fmt.Errorf("fabric: %w", err)
		}
	}
	w.wires = newWiring(b.Graph)
	w.links = make([][2]bus.Direction, len(b.Graph.Links))
	for i, l := range b.Graph.Links {
		if b.Progress != nil {
			b.Progress(i, len(b.Graph.Links))
		}
		w.links[i] = directionsOf(b.Graph, l)
		if err := w.wire(l, b); err != nil {
			return nil, nil, fmt.Errorf("fabric: link %s: %w", l.Name, err)
		}
	}
	drive := func(core weft.Core, n weft.Node, seed uint64) *switchd.Driver {
		return switchd.New(switchd.Config{
			Core: core, Wires: w.wires.of(n), Clock: w.Now, Batch: b.Batch, Seed: seed,
			Watch: b.Watch(n), Excuse: w.excuse(n, b.Interval.Duration()),
		})
	}
	for i, core := range b.Switches {
		if core == nil {
			w.switches, switches = append(w.switches, nil), append(switches, nil)
			continue
		}
		d := drive(core, weft.SwitchID(i).Node(), b.Seed<<16+1<<39+uint64(i))
		w.switches, switches = append(w.switches, d), append(switches, d)
	}
	for i, core := range b.NICs {
		if core == nil {
			w.nics, nics = append(w.nics, nil), append(nics, nil)
			continue
		}
		d := drive(core, weft.NICID(i).Node(), b.Seed<<16+1<<40+uint64(i))
		w.nics, nics = append(w.nics, d), append(nics, d)
	}
	return switches, nics, nil
}

// Start implements World.
func (w *live) Start(ctx context.Context) error {
	if err := w.transport.Ready(ctx); err != nil {
		return fmt.Errorf("fabric: links are not ready: %w", err)
	}
	w.ctx, w.stop = context.WithCancel(context.Background())
	for _, list := range [][]*switchd.Driver{w.switches, w.nics} {
		for _, d := range list {
			if d != nil {
				w.running.Go(func() { d.Run(w.ctx) })
			}
		}
	}
	if w.beat != nil {
		w.running.Go(func() { w.beat.Run(w.ctx) })
	}
	return nil
}

// forward puts the clock to a time, unless it is that late already. Only before Start.
func (w *live) forward(to weft.Time) {
	if now := w.Now(); to > now {
		w.start = w.start.Add(-(to - now).Duration())
	}
}

// Stop implements World.
func (w *live) Stop() {
	if w.stop != nil {
		w.stop()
	}
	w.running.Wait()
}

// Now implements World.
func (w *live) Now() weft.Time { return weft.FromDuration(time.Since(w.start)) }

// Cut implements World.
func (w *live) Cut(from []weft.End) error { return w.transport.Cut(w.directions(from)...) }

// Restore implements World.
func (w *live) Restore(from []weft.End) error { return w.transport.Restore(w.directions(from)...) }

func (w *live) directions(from []weft.End) []bus.Direction {
	out := make([]bus.Direction, len(from))
	for i, e := range from {
		_, id, _ := w.graph.Peer(e)
		out[i] = w.links[id][0]
		if w.graph.Links[id].B == e {
			out[i] = w.links[id][1]
		}
	}
	return out
}

// At implements World.
func (w *live) At(t weft.Time, do func()) (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	w.running.Go(func() {
		defer cancel()
		if w.Pause(ctx, t, nil) == nil {
			do()
		}
	})
	return cancel
}

// Agent implements World.
func (w *live) Agent(every time.Duration, do func()) (poke func()) {
	poked := make(chan struct{}, 1)
	w.running.Go(func() {
		var tick <-chan time.Time
		if every > 0 {
			t := time.NewTicker(every)
			defer t.Stop()
			tick = t.C
		}
		for {
			select {
			case <-w.ctx.Done():
				return
			case <-poked:
			case <-tick:
			}
			do()
		}
	})
	return func() {
		select {
		case poked <- struct{}{}:
		default:
		}
	}
}

// Pause implements World.
func (w *live) Pause(ctx context.Context, until weft.Time, news <-chan struct{}) error {
	var timer <-chan time.Time
	if until != weft.Never {
		t := time.NewTimer((until - w.Now()).Duration() + 1)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
	case <-news:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// WithTimeout implements World.
func (w *live) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}
