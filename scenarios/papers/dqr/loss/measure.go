package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/trace"
	"github.com/weft-fabric/weft/harness/virtual/world"
	"github.com/weft-fabric/weft/scenarios/papers/dqr/live"
)

const (
	spec = "kary-ntree:4,3"
	// window is how long each of these lasts: warming up, measuring the ways of packets before the
	// cut, waiting after it, measuring again.
	window = 200 * time.Millisecond
	// inForce bounds how long new tables are waited for.
	inForce = 30 * time.Second
)

// drawn are so many links between switches, or all.
func drawn(g *topology.Graph, n int) []weft.LinkID {
	var all []weft.LinkID
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			all = append(all, l.ID)
		}
	}
	r := rand.New(rand.NewPCG(1, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}

// cost is what one cut did.
type cost struct {
	wire, queued, discarded uint64
	inForce                 float64 // ms; 0: nobody manages
	rate                    float64 // packets a second over a link between switches, both directions, before
	before, after           float64 // switches crossed by packets delivered, over those of shortest ways
	injected                uint64  // before the cut
}

func (c cost) lost() float64 { return float64(c.wire + c.queued + c.discarded) }

// starter starts a fabric with its manager, if any, and how to end both.
type starter func(ctx context.Context, c live.Config) (*fabric.Fabric, func() error, error)

func overBroker(ctx context.Context, c live.Config) (*fabric.Fabric, func() error, error) {
	f, err := live.Start(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return f.Fabric, f.Close, nil
}

// virtually starts a fabric in virtual time, whose manager takes 30 ms.
func virtually(ctx context.Context, c live.Config) (*fabric.Fabric, func() error, error) {
	entry, err := subnet.ByName(c.Routing)
	if err != nil {
		return nil, nil, err
	}
	fw, vcs, err := entry.New(ctx, c.Graph)
	if err != nil {
		return nil, nil, err
	}
	o := fabric.Options{
		Topology: c.Graph, Firmware: fw, Runtime: world.New(), Link: c.Link, Traffic: c.Traffic,
		Seed: c.Seed,
	}
	o.Switch.VCs = max(vcs, 1)
	f, err := fabric.New(o)
	if err != nil {
		return nil, nil, err
	}
	if err := f.Start(ctx); err != nil {
		return nil, nil, err
	}
	end := func() error { f.Stop(); return nil }
	if c.Method == "" {
		return f, end, nil
	}
	m, err := manage.Parse(c.Method)
	if err == nil {
		_, err = manager.Attach(f, c.Routing, m, o.Switch.VCs, manager.Delays{})
	}
	return f, end, err
}

// cutOne cuts a link in a new fabric.
func cutOne(ctx context.Context, start starter, g *topology.Graph, m method, load float64, id weft.LinkID, seed uint64) (c cost, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	traffic, err := trace.Traffic(fmt.Sprintf("uniform:%g", load))
	if err != nil {
		return c, err
	}
	f, end, err := start(ctx, live.Config{Graph: g, Routing: m.routing, Method: m.manager, Traffic: traffic, Seed: seed, Link: settings.Link{Paced: true}})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := f.Pause(ctx, window, nil); err != nil {
		return c, err
	}
	if c.before, c.rate, err = stretch(ctx, f); err != nil {
		return c, err
	}
	was := f.Ledger()
	c.injected = was.Injected
	began := f.Now()
	if _, _, err := f.Cut(id); err != nil {
		return c, err
	}
	if m.manager != "" {
		if c.inForce, err = repaired(ctx, f); err != nil {
			return c, err
		}
	}
	if err := f.Pause(ctx, max(0, window-(f.Now()-began).Duration()), nil); err != nil {
		return c, err
	}
	if c.after, _, err = stretch(ctx, f); err != nil {
		return c, err
	}
	if err := f.StopTraffic(); err != nil {
		return c, err
	}
	now, err := f.Quiesce(ctx)
	if err == nil && (!now.Balanced || now.InFlight != 0) {
		err = fmt.Errorf("the ledger does not balance: %+v", now)
	}
	c.wire, c.queued, c.discarded = now.LostWire-was.LostWire, now.LostQueued-was.LostQueued, now.Discarded-was.Discarded
	return c, err
}

// repaired waits for new tables.
func repaired(ctx context.Context, f *fabric.Fabric) (ms float64, err error) {
	for late := f.Now() + weft.FromDuration(inForce); f.Now() < late; {
		var r *fault.Reconfiguration
		if all := f.Faults(); len(all) > 0 {
			r = all[len(all)-1].Reconfiguration
		}
		if r != nil && r.Error != "" {
			return 0, errors.New(r.Error)
		}
		if r != nil && r.InForceSeconds > 0 {
			return 1000 * r.InForceSeconds, nil
		}
		if err := f.Pause(ctx, time.Millisecond, nil); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("no new tables came")
}

// stretch is how many times as many switches as on shortest ways without faults were crossed by the
// packets delivered in a while, and how many packets a second a link between switches carried in
// both directions, in the mean.
func stretch(ctx context.Context, f *fabric.Fabric) (x, rate float64, err error) {
	was, began := f.Totals(), f.Now()
	if err := f.Pause(ctx, window, nil); err != nil {
		return 0, 0, err
	}
	now, seconds := f.Totals(), (f.Now() - began).Duration().Seconds()
	hops := func(t fabric.Totals) float64 { return t.MeanHops * float64(t.Delivered) }
	shortest := func(t fabric.Totals) float64 {
		if t.Delivered == 0 {
			return 0
		}
		return hops(t) / t.Stretch
	}
	crossed := hops(now) - hops(was)
	links := float64(len(drawn(f.Topology(), math.MaxInt)))
	return crossed / (shortest(now) - shortest(was)), (crossed - float64(now.Delivered-was.Delivered)) / links / seconds, nil
}
