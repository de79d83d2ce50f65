package reroute

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// planned is a method that computes all tables anew.
type planned struct {
	g       *topology.Graph
	engine  string
	method  manage.Method
	vcs     int
	planner *manage.Planner
	before  *layered.Routing
}

func newPlanned(ctx context.Context, g *topology.Graph, engine string, m manage.Method, vcs int) (*planned, error) {
	p, err := manage.New(ctx, g, engine, m, cmp.Or(vcs, weft.MaxVCs))
	if err != nil {
		return nil, err
	}
	return &planned{g, engine, m, vcs, p, p.Now().Routing}, nil
}

func (p *planned) routing() *layered.Routing { return p.before }

func (p *planned) clone(ctx context.Context, dead *subnet.Dead) (way, error) {
	c, err := newPlanned(ctx, p.g, p.engine, p.method, p.vcs)
	if err == nil && dead.Len() > 0 {
		_, err = c.fail(ctx, dead)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (p *planned) try(ctx context.Context, dead *subnet.Dead) (*Step, error) {
	p.planner.Settled()
	s, _, err := p.plan(ctx, dead)
	return s, err
}

func (p *planned) fail(ctx context.Context, dead *subnet.Dead) (*Step, error) {
	p.planner.Settled()
	s, plan, err := p.plan(ctx, dead)
	if err == nil {
		p.planner.Adopt(plan)
	}
	return s, err
}

func (p *planned) plan(ctx context.Context, dead *subnet.Dead) (*Step, *manage.Plan, error) {
	old := p.planner.Now().Routing
	plan, err := p.planner.Plan(ctx, dead)
	if err != nil {
		return nil, nil, err
	}
	return &Step{
		Result: dqr.Result{
			FlowsTotal: plan.FlowsTotal, FlowsRerouted: plan.FlowsRerouted, Unroutable: plan.Unroutable,
			Isolated: plan.Unconnected, Acyclic: plan.Acyclic,
		},
		upload: func(context.Context) (*manage.Plan, error) { return plan, nil },
		paths:  func(yield func(dqr.Rerouted) bool) { differing(old, plan.Routing, yield) },
	}, plan, nil
}

// differing tells of the flows whose paths by two routings differ.
func differing(old, now *layered.Routing, yield func(dqr.Rerouted) bool) {
	if old.Kind != layered.Deterministic || now.Kind != layered.Deterministic {
		return // a pair has many paths there
	}
	g := old.Graph
	nics := make([]int, len(g.Switches))
	for d := range g.NICs {
		s, _ := g.SwitchOf(weft.NICID(d))
		nics[s]++
	}
	for d := range weft.NICID(len(g.NICs)) {
		home, _ := g.SwitchOf(d)
		for s := range weft.SwitchID(len(g.Switches)) {
			if nics[s] == 0 || s == home {
				continue
			}
			a, b := path(old, s, d), path(now, s, d)
			if !slices.Equal(a, b) && !yield(dqr.Rerouted{From: s, To: d.Node(), Flows: nics[s], Old: a, New: b}) {
				return
			}
		}
	}
}

// path is how packets of the NICs of a switch go to d, by their first address; nil for none.
func path(r *layered.Routing, s weft.SwitchID, d weft.NICID) (list []layered.Channel) {
	addresses := r.Assignment.Addresses(s, d)
	if len(addresses) == 0 {
		return nil
	}
	in, a := r.Injected(s), addresses[0]
	for range 2 * len(r.Graph.Switches) {
		hops := r.Tables.Choices(s, d, a.Path, in, a.VC)
		if len(hops) == 0 || hops[0].Port == weft.NoPort {
			return nil
		}
		out := weft.End{Node: s.Node(), Port: hops[0].Port}
		to, _, ok := r.Graph.Peer(out)
		switch {
		case !ok:
			return nil
		case !to.Node.IsSwitch():
			return list
		}
		a.VC = hops[0].In(a.VC)
		list = append(list, layered.Channel{From: out, Layer: a.VC})
		s, in = weft.SwitchID(to.Node.Index), to.Port
	}
	return nil
}
