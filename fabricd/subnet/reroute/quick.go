package reroute

import (
	"fmt"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

func newWay(g *topology.Graph, engine string, m manage.Method, switchFlows bool) (way, error) {
	if m.Kind != manage.DQR {
		if m.Kind == manage.Direct {
			return nil, fmt.Errorf("method %s has no tables to repair: ask fabricd tolerate what it does around faults", m)
		}
		if switchFlows {
			return nil, fmt.Errorf("method %s knows flows between NICs only: leave out those between switches, or take method %s", m, manage.DQR)
		}
		return newPlanned(g, engine, m)
	}
	r, err := subnet.Routes(engine, g)
	if err != nil {
		return nil, err
	}
	if r.Kind != layered.Deterministic {
		return nil, fmt.Errorf("method %s is for deterministic tables, and %s is adaptive: take method %s", m, engine, manage.Engine)
	}
	o := m.DQR()
	o.SwitchFlows = switchFlows
	now, err := dqr.New(r, o)
	if err != nil {
		return nil, err
	}
	return &quick{now: now, before: r}, nil
}

// quick is method dqr.
type quick struct {
	now     *dqr.Reconfiguration
	before  *layered.Routing
	settled *layered.Transition // of the tables in force; nil until somebody asks how others would replace them
}

func (q *quick) routing() *layered.Routing { return q.before }

func (q *quick) clone(*subnet.Dead) (way, error) {
	return &quick{now: q.now.Clone(), before: q.before}, nil
}

func (q *quick) try(dead *subnet.Dead) (*Step, error) {
	s, _, err := q.step(dead)
	return s, err
}

func (q *quick) fail(dead *subnet.Dead) (*Step, error) {
	s, next, err := q.step(dead)
	if err == nil {
		q.now, q.settled = next, nil
	}
	return s, err
}

// step is what is next. What is in force stays as it is.
func (q *quick) step(dead *subnet.Dead) (*Step, *dqr.Reconfiguration, error) {
	next := q.now.Clone()
	next.Settle()
	r, err := next.Fail(func(l *topology.Link) bool { return dead.Cuts(l) })
	if err != nil {
		return nil, nil, err
	}
	before, gone := *q, dead.Clone()
	return &Step{
		FlowsTotal: r.FlowsTotal, FlowsRerouted: r.FlowsRerouted, Unroutable: r.Unroutable, Isolated: r.Isolated, Acyclic: r.Acyclic,
		NewTurns: r.NewTurns, PluginTurns: r.PluginTurns, LocalTurns: r.LocalTurns, Searches: r.Searches, paths: r.Paths(),
		upload: func() (*manage.Plan, error) {
			old, err := before.now.Routing()
			if err != nil {
				return nil, err
			}
			if before.settled == nil {
				before.settled = layered.NewTransition(old)
				if q.now == before.now {
					q.settled = before.settled
				}
			}
			routing, err := next.Routing()
			if err != nil {
				return nil, err
			}
			return manage.Upload(before.settled, old, routing, &gone, next.First)
		},
	}, next, nil
}
