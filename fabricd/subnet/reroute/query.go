package reroute

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Query is a routing in force, of which is asked what faults do. Its methods are the drivers of
// this package: they tell the time that each fault took.
type Query struct {
	head   Head
	graph  *topology.Graph
	routes *Reroute
}

// NewQuery computes the tables. The arguments and the errors are those of [New].
func NewQuery(ctx context.Context, g *topology.Graph, engine string, m manage.Method, o Options) (*Query, error) {
	start := time.Now()
	routes, err := New(ctx, g, engine, m, o)
	if err != nil {
		return nil, err
	}
	r := routes.Routing()
	head := Head{g.Spec, r.Engine, r.Layers, m.String(), o.SwitchFlows, time.Since(start).Seconds()}
	return &Query{head, g, routes}, nil
}

// Fault are links that die together, under a name.
type Fault struct {
	Name  string
	Links []weft.LinkID
}

// Given lets faults come one after another: they stay. Listed says which flows that got another
// path are listed; nil: none. Errors name the fault.
func (q *Query) Given(ctx context.Context, faults []Fault, listed func(dqr.Rerouted) bool) (*GivenResult, error) {
	r := &GivenResult{Head: q.head, Acyclic: true, Connected: true, Tolerated: true}
	if listed != nil {
		r.Paths = []PathResult{}
	}
	for _, f := range faults {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, step, err := q.step(ctx, f, q.routes.Fail)
		if err != nil {
			return nil, err
		}
		r.Faults = append(r.Faults, step)
		r.FlowsTotal, r.Unroutable, r.Isolated = s.FlowsTotal, s.Unroutable, s.Isolated
		r.FlowsRerouted += s.FlowsRerouted
		r.Share += s.Share()
		r.Seconds += step.Seconds
		r.Acyclic, r.Tolerated = r.Acyclic && step.Acyclic, r.Tolerated && step.Tolerated
		r.Connected, r.Emptied = r.Connected && step.Connected, r.Emptied || step.Static
		if listed == nil {
			continue
		}
		for p := range s.Paths() {
			if listed(p) {
				r.Paths = append(r.Paths, pathOf(q.graph, f.Name, p))
			}
		}
	}
	return r, nil
}

// tried is Try or Fail of some routes.
type tried func(ctx context.Context, links ...weft.LinkID) (*Step, error)

// step is what comes of a fault, as tried.
func (q *Query) step(ctx context.Context, f Fault, by tried) (*Step, StepResult, error) {
	start := time.Now()
	s, err := by(ctx, f.Links...)
	took := time.Since(start).Seconds()
	var r StepResult
	if err == nil {
		r, err = stepOf(ctx, f.Name, len(f.Links), s, took)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", f.Name, err)
	}
	return s, r, err
}

// Between says of flows whether they are from one node to another. A switch stands for its NICs,
// but flows to the switch itself are meant too. The error names an unknown node.
func Between(g *topology.Graph, src, dst string) (func(dqr.Rerouted) bool, error) {
	from, err := g.NodeByName(src)
	if err != nil {
		return nil, err
	}
	to, err := g.NodeByName(dst)
	if err != nil {
		return nil, err
	}
	at := weft.SwitchID(from.Index)
	if !from.IsSwitch() {
		at, _ = g.SwitchOf(weft.NICID(from.Index))
	}
	return func(p dqr.Rerouted) bool {
		if p.From != at {
			return false
		}
		if to.IsSwitch() && !p.To.IsSwitch() { // its NICs
			s, _ := g.SwitchOf(weft.NICID(p.To.Index))
			return s == weft.SwitchID(to.Index)
		}
		return p.To == to
	}, nil
}

// links are those between switches.
func (q *Query) links() (list []weft.LinkID) {
	for _, l := range q.graph.Links {
		if l.BetweenSwitches() {
			list = append(list, l.ID)
		}
	}
	return list
}

// Each lets each link between switches die, alone. It tells of so many runs done, of so many.
func (q *Query) Each(ctx context.Context, told func(done, of int)) (*ManyResult, error) {
	list := q.links()
	return q.many(ctx, len(list), 1, told, func(run int) ([]weft.LinkID, tried, error) {
		return list[run : run+1], q.routes.Try, nil
	})
}

// Random lets so many links between switches die, drawn by a seed, one after another; and that so
// many times. It tells as Each does. The error says that there are not so many links.
func (q *Query) Random(ctx context.Context, runs, faults int, seed uint64, told func(done, of int),
) (*ManyResult, error) {
	list := q.links()
	if len(list) < faults {
		return nil, fmt.Errorf("--faults %d: %s has %d links between switches", faults, q.graph.Spec, len(list))
	}
	draw := rand.New(weft.Stream(seed, weft.StreamReroutes, 0, 0))
	return q.many(ctx, runs, faults, told, func(int) ([]weft.LinkID, tried, error) {
		chosen := slices.Clone(list)
		draw.Shuffle(len(chosen), func(i, k int) { chosen[i], chosen[k] = chosen[k], chosen[i] })
		routes, err := q.routes.Clone(ctx)
		if err != nil {
			return nil, nil, err
		}
		return chosen[:faults], routes.Fail, nil
	})
}

// many counts runs. Begin says which links die in a run, and how.
func (q *Query) many(ctx context.Context, runs, faults int, told func(done, of int),
	begin func(run int) ([]weft.LinkID, tried, error),
) (*ManyResult, error) {
	r := &ManyResult{Head: q.head, Runs: runs, Acyclic: true, ByFaults: make([]AfterFaults, faults)}
	steps := 0
	for i := range runs {
		links, by, err := begin(i)
		if err != nil {
			return nil, err
		}
		emptied := false
		for k, l := range links {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s, step, err := q.step(ctx, Fault{q.graph.Links[l].Name, []weft.LinkID{l}}, by)
			if err != nil {
				return nil, err
			}
			r.Seconds, steps = r.Seconds+step.Seconds, steps+1
			r.MaxSeconds = max(r.MaxSeconds, step.Seconds)
			emptied = emptied || step.Static
			if !r.add(k, step, s, emptied) {
				break
			}
		}
		told(i+1, runs)
	}
	for k := range r.ByFaults {
		b := &r.ByFaults[k]
		b.Faults, b.Share = k+1, float64(b.Tolerated)/float64(max(1, runs))
		if n := float64(b.Connected); n > 0 {
			b.Rerouted, b.Moved, b.NewTurns = b.Rerouted/n, b.Moved/n, b.NewTurns/n
			b.Stretch /= float64(max(1, b.moved))
		}
	}
	r.Seconds /= float64(max(1, steps))
	return r, nil
}

// maxFailed bounds the faults that a [ManyResult] lists as not tolerated, chosen by us.
const maxFailed = 20

// add counts a step, fault k of its run, and reports whether the run goes on: all pairs that live
// links join have a path. emptied: for this fault or one before it the fabric is emptied.
func (r *ManyResult) add(k int, step StepResult, s *Step, emptied bool) bool {
	r.FlowsTotal = s.FlowsTotal
	r.Acyclic = r.Acyclic && step.Acyclic
	r.Unroutable = max(r.Unroutable, s.Unroutable)
	if !step.Tolerated && len(r.Failed) < maxFailed {
		r.Failed = append(r.Failed, step)
	}
	if !step.Connected {
		return false
	}
	b := &r.ByFaults[k]
	if b.Connected++; emptied {
		b.Emptied++
	} else {
		b.Tolerated++
	}
	if s.Unroutable == 0 {
		b.Joined++
	}
	b.Rerouted += float64(s.FlowsRerouted)
	b.Moved += s.Share()
	b.NewTurns += float64(s.NewTurns)
	if step.MaxStretch > 0 {
		b.moved++
	}
	b.Stretch += step.MeanStretch
	b.Most = max(b.Most, step.MaxStretch)
	if step.Rounds > 1 {
		b.Twice++
	}
	if r.Worst.Fault == "" || step.FlowsRerouted > r.Worst.FlowsRerouted {
		r.Worst = step
	}
	return true
}
