package reroute

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

func newWay(ctx context.Context, g *topology.Graph, engine string, m manage.Method, o Options) (way, error) {
	if m.Kind != manage.DQR {
		if m.Kind == manage.Direct {
			return nil, fmt.Errorf("method %s has no tables to repair: ask fabricd tolerate what it does around faults", m)
		}
		if o.SwitchFlows {
			return nil,
				fmt.Errorf("method %s knows flows between NICs only: leave out those between switches, or take method %s", m,
					manage.DQR)
		}
		return newPlanned(ctx, g, engine, m, o.VCs)
	}
	r, err := subnet.Routes(ctx, engine, g)
	if err != nil {
		return nil, err
	}
	if r.Kind != layered.Deterministic {
		return nil, fmt.Errorf("method %s is for deterministic tables, and %s is adaptive: take method %s", m, engine,
			manage.Engine)
	}
	choices := m.DQR()
	choices.SwitchFlows = o.SwitchFlows
	now, err := dqr.New(ctx, r, choices)
	if err != nil {
		return nil, err
	}
	q := &quick{now: now, before: r}
	switch {
	case o.VCs > 0 && r.Layers > o.VCs:
		return nil, fmt.Errorf("%s needs %d virtual channels, there are %d: raise the number", r.Engine, r.Layers, o.VCs)
	case m.Spare() > 0 && !o.SwitchFlows:
		q.vcs = o.VCs
	}
	return q, nil
}

// quick is method dqr.
type quick struct {
	now     *dqr.Reconfiguration
	before  *layered.Routing
	vcs     int                 // for spare layers
	settled *layered.Transition // of the tables in force; nil until somebody asks how others would replace them
}

func (q *quick) routing() *layered.Routing { return q.before }

func (q *quick) clone(context.Context, *subnet.Dead) (way, error) {
	return &quick{now: q.now.Clone(), before: q.before, vcs: q.vcs}, nil
}

func (q *quick) try(ctx context.Context, dead *subnet.Dead) (*Step, error) {
	s, _, err := q.step(ctx, dead)
	return s, err
}

func (q *quick) fail(ctx context.Context, dead *subnet.Dead) (*Step, error) {
	s, next, err := q.step(ctx, dead)
	if err == nil {
		q.now, q.settled = next, nil
	}
	return s, err
}

// step is what is next. What is in force stays as it is.
func (q *quick) step(ctx context.Context, dead *subnet.Dead) (*Step, *dqr.Reconfiguration, error) {
	next := q.now.Clone()
	next.Settle()
	r, err := next.Fail(ctx, func(l *topology.Link) bool { return dead.Cuts(l) })
	if err != nil {
		return nil, nil, err
	}
	was, gone := q.now, dead.Clone()
	upload := func(ctx context.Context) (*manage.Plan, *dqr.Reconfiguration, *dqr.Result, error) {
		settled, err := q.transition(was)
		if err != nil {
			return nil, nil, nil, err
		}
		return manage.Quick(ctx, settled, was, next, r, &gone, q.vcs)
	}
	plan := func(ctx context.Context) (*manage.Plan, error) {
		plan, _, _, err := upload(ctx)
		return plan, err
	}
	if q.vcs > 0 { // what is in force depends on how it can be brought there
		var now *manage.Plan
		if now, next, r, err = upload(ctx); err != nil {
			return nil, nil, err
		}
		plan = func(context.Context) (*manage.Plan, error) { return now, nil }
	}
	return &Step{Result: *r, paths: r.Paths(), upload: plan}, next, nil
}

// transition is that of the tables of a state, all packets being theirs; it is remembered for the
// state in force.
func (q *quick) transition(of *dqr.Reconfiguration) (*layered.Transition, error) {
	if of == q.now && q.settled != nil {
		return q.settled, nil
	}
	r, err := of.Routing()
	if err != nil {
		return nil, err
	}
	t := layered.NewTransition(r)
	if of == q.now {
		q.settled = t
	}
	return t, nil
}
