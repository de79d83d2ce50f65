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
	return &quick{now, r}, nil
}

// quick is method dqr.
type quick struct {
	now    *dqr.Reconfiguration
	before *layered.Routing
}

func (q *quick) routing() *layered.Routing { return q.before }

func (q *quick) clone(*subnet.Dead) (way, error) { return &quick{q.now.Clone(), q.before}, nil }

func (q *quick) try(dead *subnet.Dead) (*Step, error) {
	c := q.now.Clone()
	c.Settle()
	return failed(c, dead)
}

func (q *quick) fail(dead *subnet.Dead) (*Step, error) {
	q.now.Settle()
	return failed(q.now, dead)
}

func failed(q *dqr.Reconfiguration, dead *subnet.Dead) (*Step, error) {
	r, err := q.Fail(func(l *topology.Link) bool { return dead.Cuts(l) })
	if err != nil {
		return nil, err
	}
	return &Step{
		FlowsTotal: r.FlowsTotal, FlowsRerouted: r.FlowsRerouted, Unroutable: r.Unroutable, Isolated: r.Isolated, Acyclic: r.Acyclic,
		NewTurns: r.NewTurns, PluginTurns: r.PluginTurns, LocalTurns: r.LocalTurns, Searches: r.Searches, paths: r.Paths(),
	}, nil
}
