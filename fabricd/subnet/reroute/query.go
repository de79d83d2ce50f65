package reroute

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/work"
)

// Query is a routing in force, of which is asked what faults do. Its methods are the drivers of
// this package: they tell the time that each fault took.
type Query struct {
	head   Head
	asked  string // of the graph
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
	return &Query{head, fmt.Sprint(engine, " ", m, " ", o), g, routes}, nil
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

// Each lets each link between switches die, alone. It tells of so many runs done, of so many. The
// engine runs them one after the other; nil: this process does.
func (q *Query) Each(ctx context.Context, engine work.Engine, told func(done, of int)) (*ManyResult, error) {
	list := q.links()
	return q.many(ctx, engine, "each", len(list), 1, told, func(run int) ([]weft.LinkID, tried, error) {
		return list[run : run+1], q.routes.Try, nil
	})
}

// Random lets so many links between switches die, drawn by a seed, one after another; and that so
// many times. It tells as Each does. The error says that there are not so many links.
func (q *Query) Random(ctx context.Context, engine work.Engine, runs, faults int, seed uint64,
	told func(done, of int),
) (*ManyResult, error) {
	list := q.links()
	if len(list) < faults {
		return nil, fmt.Errorf("--faults %d: %s has %d links between switches", faults, q.graph.Spec, len(list))
	}
	draw := rand.New(weft.Stream(seed, weft.StreamReroutes, 0, 0))
	var chosen []weft.LinkID // of all runs drawn so far: a run's draws come after those of the runs before it
	return q.many(ctx, engine, fmt.Sprint("drawn by ", seed), runs, faults, told,
		func(run int) ([]weft.LinkID, tried, error) {
			for len(chosen) < (run+1)*faults {
				draw.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
				chosen = append(chosen, list[:faults]...)
				list = q.links()
			}
			routes, err := q.routes.Clone(ctx)
			if err != nil {
				return nil, nil, err
			}
			return chosen[run*faults:][:faults], routes.Fail, nil
		})
}

// steps are those of one run, until one after which there are pairs without a path.
type steps struct {
	Steps []StepResult `json:"steps"`
	Flows int          `json:"flows_total"`
}

// many counts runs. Begin says which links die in a run, and how.
func (q *Query) many(ctx context.Context, engine work.Engine, which string, runs, faults int, told func(done, of int),
	begin func(run int) ([]weft.LinkID, tried, error),
) (*ManyResult, error) {
	if engine == nil {
		engine = work.Local{Workers: 1} // the answer tells how long each took
	}
	graph := sha256.New()
	_ = q.graph.WriteJSON(graph) // a hash takes everything
	same := fmt.Sprintf("reroute %x %s %s %d", graph.Sum(nil), q.asked, which, faults)
	j := work.Job{What: "faults", Count: runs, Ordered: true, Piece: func(i int) work.Piece {
		return work.Piece{Name: fmt.Sprintf("run %d", i), Key: work.Key(same, i), Cost: float64(faults)}
	}}
	r := &ManyResult{Head: q.head, Runs: runs, Acyclic: true, ByFaults: make([]AfterFaults, faults)}
	tries := 0
	j.Run, j.Merge = work.JSON(func(ctx context.Context, _, i int) (list steps, err error) {
		links, by, err := begin(i)
		for _, l := range links {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return list, err
			}
			s, step, err := q.step(ctx, Fault{q.graph.Links[l].Name, []weft.LinkID{l}}, by)
			if err != nil {
				return list, err
			}
			list.Steps, list.Flows = append(list.Steps, step), s.FlowsTotal
			if !step.Connected {
				break
			}
		}
		return list, err
	}, func(i int, list steps) error {
		emptied := false
		for k, step := range list.Steps {
			r.Seconds, tries = r.Seconds+step.Seconds, tries+1
			r.MaxSeconds = max(r.MaxSeconds, step.Seconds)
			emptied = emptied || step.Static
			r.add(k, step, list.Flows, emptied)
		}
		told(i+1, runs)
		return nil
	})
	j.Plain = work.Untimed
	if err := engine.Run(ctx, &j); err != nil {
		return nil, err
	}
	for k := range r.ByFaults {
		b := &r.ByFaults[k]
		b.Faults, b.Share = k+1, float64(b.Tolerated)/float64(max(1, runs))
		if n := float64(b.Connected); n > 0 {
			b.Rerouted, b.Moved, b.NewTurns = b.Rerouted/n, b.Moved/n, b.NewTurns/n
			b.Stretch /= float64(max(1, b.moved))
		}
	}
	r.Seconds /= float64(max(1, tries))
	return r, nil
}

// maxFailed bounds the faults that a [ManyResult] lists as not tolerated, chosen by us.
const maxFailed = 20

// add counts a step, fault k of its run. emptied: for this fault or one before it the fabric is
// emptied.
func (r *ManyResult) add(k int, step StepResult, flows int, emptied bool) {
	r.FlowsTotal = flows
	r.Acyclic = r.Acyclic && step.Acyclic
	r.Unroutable = max(r.Unroutable, step.Unroutable)
	if !step.Tolerated && len(r.Failed) < maxFailed {
		r.Failed = append(r.Failed, step)
	}
	if !step.Connected {
		return
	}
	b := &r.ByFaults[k]
	if b.Connected++; emptied {
		b.Emptied++
	} else {
		b.Tolerated++
	}
	if step.Unroutable == 0 {
		b.Joined++
	}
	b.Rerouted += float64(step.FlowsRerouted)
	b.Moved += step.Share
	b.NewTurns += float64(step.NewTurns)
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
}
