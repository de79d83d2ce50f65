package measure

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
)

// Run measures one network. The error wraps ErrConfig when the configuration cannot be used, and
// ctx.Err() when ctx ends the run.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.Validate(ctx); err != nil {
		return Result{}, err
	}
	c = c.Filled()
	faults, err := drawFaults(&c)
	if err != nil {
		return Result{}, err
	}
	if !c.BypassPlanes {
		return measure(ctx, c, faults)
	}
	left, ok, err := c.bypassed(faults)
	if err != nil || !ok {
		return Result{Faults: len(faults), DeadlockAt: -1}, err
	}
	r, err := measure(ctx, left, nil)
	r.Faults = len(faults)
	return r, err
}

// measure measures a network with these faults.
func measure(ctx context.Context, c Config, faults []death) (Result, error) {
	n, err := build(ctx, c)
	if err != nil {
		return Result{}, err
	}
	r := &run{network: n, ctx: ctx, faults: faults, result: Result{DeadlockAt: -1}}
	if err := r.run(); err != nil {
		return Result{}, err
	}
	return r.result, nil
}

// run is one run on its way through its parts.
type run struct {
	*network
	ctx    context.Context
	faults []death // in order
	died   int     // of these, under load
	// discarded is how many packets were before the first of them: a NIC without a way, with what
	// is dead from the beginning.
	discarded uint64
	look      *lookout
	horizon   int64  // cycle at which it ends at the latest
	offered   uint64 // packets, before the batch that goes on
	begun     bool   // the window has
	before    totals
	batches   []batch // of the window
	result    Result
}

// totals are counters of the NICs and switches since the start.
type totals struct{ offered, refused, queued, reordered, rerouted, hops uint64 }

func (r *run) run() error {
	dynamic := r.faults
	for len(dynamic) > 0 && dynamic[0].before {
		r.leaveOut(dynamic[0])
		dynamic = dynamic[1:]
	}
	if err := r.start(); err != nil {
		return err
	}
	r.horizon = r.cfg.longest(r.faults)
	r.look = newLookout(r.network, r.time(r.horizon))
	if err := r.parts(dynamic); err != nil {
		return err
	}
	r.result.Faults = len(r.faults) - len(dynamic) + r.died
	r.finish()
	var err error
	r.result.Connected, err = r.connected(r.ctx, r.faults)
	return err
}

// longest is the cycle at which a run with these faults ends at the latest.
func (c *Config) longest(faults []death) int64 {
	if c.MostCycles > 0 {
		return int64(c.MostCycles)
	}
	batch := int64(c.Warmup.Batch)
	warmup := (int64(c.Warmup.Most) + batch - 1) / batch * batch
	last := int64(0)
	for _, f := range faults {
		if !f.before {
			last = max(last, f.at+c.reconfiguration())
		}
	}
	return 2*warmup + last + int64(c.Window)
}

// reconfiguration is how many cycles pass from a fault to the tables without it.
func (c *Config) reconfiguration() int64 {
	if !c.reconfigures() {
		return 0
	}
	return int64(c.ReconfigureAfter)
}

// parts goes through warm-up, faults, warm-up and window. It ends early at a deadlock and at the
// horizon.
func (r *run) parts(dynamic []death) error {
	if on, err := r.warm(); !on || err != nil {
		return err
	}
	base := r.cycle()
	for _, d := range dynamic {
		if on, err := r.advance(base + d.at); !on || err != nil {
			return err
		}
		if r.died == 0 {
			r.discarded = r.meters.counts().discarded
		}
		r.kill(d)
		r.died++
	}
	if len(dynamic) > 0 && !r.cfg.Hunt {
		if on, err := r.advance(r.inForce); !on || err != nil {
			return err
		}
		if on, err := r.warm(); !on || err != nil {
			return err
		}
	}
	r.open()
	if r.cfg.Hunt {
		return r.hunt()
	}
	return r.measure()
}

// hunt waits for a deadlock, to the horizon or as long as there can be one.
func (r *run) hunt() error {
	if r.cfg.StopWhenSafe && r.reconfigured == nil && (r.firmware.Registers == nil || r.firmware.Vectors) {
		v, err := r.judge(r.ctx, r.faults)
		if err != nil {
			return err
		}
		r.result.Acyclic = v.Acyclic
	}
	r.meters.mark(r.engine.Now())
	for r.cycle() < r.horizon {
		if r.result.Acyclic && r.meters.marked() == 0 {
			return nil
		}
		if on, err := r.advance(min(r.cycle()+lookEvery, r.horizon)); !on || err != nil {
			return err
		}
	}
	return nil
}

func (r *run) cycle() int64               { return int64(r.engine.Now() / r.cfg.Cycle) }
func (r *run) time(cycle int64) weft.Time { return weft.Time(cycle) * r.cfg.Cycle }

const (
	// lookEvery is how many cycles may pass until somebody looks whether there is a deadlock.
	lookEvery = 1000
	// hearEvery is how many cycles may pass until an interrupt is heard: some seconds in a network
	// of ten thousand NICs.
	hearEvery = 50
)

// advance lets time go on to a cycle. It reports false when the run is over before: by a deadlock,
// or since it is long enough.
func (r *run) advance(to int64) (on bool, err error) {
	for r.cycle() < to {
		next := min(to, r.cycle()+lookEvery, r.horizon)
		for r.cycle() < next {
			r.engine.Run(r.time(min(next, r.cycle()+hearEvery)))
			if err := r.ctx.Err(); err != nil {
				return false, fmt.Errorf("measurement of %s, %s ended at cycle %d: %w", r.graph.Spec, r.cfg.Routing, r.cycle(), err)
			}
		}
		if r.look.look() {
			r.result.Deadlocked, r.result.DeadlockAt, r.result.Cycle = true, next, r.look.String()
			return false, nil
		}
		if next == r.horizon && next < to {
			return false, nil
		}
	}
	return true, nil
}

// warm lets time go on until the network is steady.
func (r *run) warm() (on bool, err error) {
	w := r.cfg.Warmup
	r.meters.batch() // what was before does not count
	r.result.Stable, r.offered = w.Skip, r.totals().offered
	s := steady{w: w}
	for end := r.cycle() + int64(w.Most); !w.Skip && !r.result.Stable && r.cycle() < end; {
		if on, err := r.advance(r.cycle() + int64(w.Batch)); !on || err != nil {
			return on, err
		}
		r.result.Stable = s.add(r.batch())
	}
	return true, nil
}

// batch is what happened since the last was asked for, and begins the next.
func (r *run) batch() batch {
	b, c := r.meters.batch(), r.meters.counts()
	of, before := r.totals(), r.offered
	r.offered = of.offered
	n := max(1, float64(b.delivered)) * float64(r.cfg.Cycle)
	return batch{
		delivered: float64(b.delivered), latency: float64(b.latency) / n, network: float64(b.network) / n,
		inside: float64(c.inside()),
		queued: float64(of.queued), offered: float64(of.offered - before),
	}
}

func (r *run) totals() (t totals) {
	for _, m := range r.nics {
		s := m.Stats()
		t.offered += s.Injected + s.Refused
		t.refused += s.Refused
		t.reordered += s.Reordered
		t.rerouted += s.Rerouted
		t.queued += s.Injected
	}
	t.queued -= r.meters.counts().entered
	for _, s := range r.switches {
		t.hops += s.Stats().Forwarded
	}
	return t
}
