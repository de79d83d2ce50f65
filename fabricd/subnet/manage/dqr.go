package manage

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// quick is dynamic quick reconfiguration (Sem-Jacobsen, Lysne: Topology Agnostic Dynamic Quick
// Reconfiguration for Large-Scale Interconnection Networks).
type quick struct {
	g      *topology.Graph
	now    *dqr.Reconfiguration
	dead   subnet.Dead
	layers int // that may be used; 0: those of the engine
	// away: links have come back, and some flows may not have returned to the paths of the engine
	away bool
}

// attempt is what compute tells adopt.
type attempt struct {
	state  *dqr.Reconfiguration
	change *dqr.Result // that it has come to by; nil: none
	dead   subnet.Dead
	away   bool
}

func newDQR(ctx context.Context, g *topology.Graph, e subnet.Entry, m Method, vcs int) (computer, error) {
	if e.Routes == nil {
		return nil, errors.New(e.Name + " has no tables to start from: choose an engine, as updn or lash")
	}
	r, err := e.Routes(ctx, g)
	if err != nil {
		return nil, err
	}
	if r.Kind != layered.Deterministic {
		return nil, errors.New(e.Name + " is adaptive, and it is for deterministic tables: choose " + Engine)
	}
	state, err := dqr.New(ctx, r, m.DQR())
	if err != nil {
		return nil, err
	}
	c := &quick{g: g, now: state}
	if m.Spare() > 0 {
		c.layers = vcs
	}
	return c, nil
}

// DQR are the options of dqr that the method names, and for others the defaults.
func (m Method) DQR() (o dqr.Options) {
	index := func(names []string, key string) int { return max(0, slices.Index(names, m.Options[key])) }
	o.Path = dqr.Path(index(dqr.PathNames, "path"))
	o.Turns = dqr.Turns(index(dqr.TurnsNames, "turns"))
	o.Layers = dqr.LayerSearch(index(dqr.LayersNames, "layers"))
	o.Entries = dqr.Entries(index(dqr.EntriesNames, "entries"))
	o.Cost = dqr.Cost(index(dqr.CostNames, "cost"))
	o.Revisit = dqr.Revisit(index(dqr.RevisitNames, "revisit"))
	if m.Options["plugin"] == "mesh" {
		o.Plugin = dqr.Mesh{}
	}
	return o
}

func (c *quick) compute(ctx context.Context, dead *subnet.Dead) (*result, error) {
	state := c.now.Clone()
	back := false
	for i := range c.g.Links {
		l := &c.g.Links[i]
		back = back || c.dead.Cuts(l) && !dead.Cuts(l)
	}
	change := state.Fail
	if back = back || c.away; back {
		change = state.Restore
	}
	var res *dqr.Result
	var err error
	if back || dead.Len() > 0 || c.dead.Len() > 0 {
		if res, err = change(ctx, dead.Cuts); err != nil {
			return nil, err
		}
	}
	return c.result(ctx, attempt{state, res, dead.Clone(), back})
}

// result are the tables of an attempt, and those that a spare layer allows.
func (c *quick) result(ctx context.Context, a attempt) (*result, error) {
	out, err := a.result()
	if err != nil || c.layers == 0 {
		return out, err
	}
	out.aside = func() (*result, error) {
		aside := attempt{state: c.now.Clone(), dead: a.dead, away: a.away}
		var err error
		aside.change, err = aside.state.MoveAside(ctx, a.dead.Cuts, a.away, c.layers,
			func(dead func(*topology.Link) bool) (*layered.Routing, error) {
				return Around(ctx, c.g, dead)
			})
		if err != nil {
			return nil, err
		}
		out, err := aside.result()
		if err == nil {
			out.moved = true
		}
		return out, err
	}
	return out, nil
}

func (a attempt) result() (*result, error) {
	r, err := a.state.Routing()
	if err != nil {
		return nil, err
	}
	out := &result{routing: r, first: a.state.First, hidden: a}
	if a.change != nil {
		out.unroutable, out.rerouted = a.change.Unroutable, a.change.FlowsRerouted
	}
	return out, nil
}

// Quick is what dqr does when links have died, in a fabric whose packets all go by the tables of
// now, with so many virtual channels for spare layers, 0 for none: the plan, the state of dqr with
// its tables, and how that came about. settled is the transition of the tables in force; next is a
// copy of now that has failed, as failed says.
func Quick(ctx context.Context, settled *layered.Transition, now, next *dqr.Reconfiguration, failed *dqr.Result,
	dead *subnet.Dead, vcs int,
) (*Plan, *dqr.Reconfiguration, *dqr.Result, error) {
	old, err := now.Routing()
	if err != nil {
		return nil, nil, nil, err
	}
	p := newPlans(old.Graph)
	p.inForce, p.transition, p.gone = []*layered.Routing{old}, settled, true
	before := result{routing: old}
	base := now.Clone()
	base.Settle()
	c := quick{g: old.Graph, now: base, layers: vcs}
	r, err := c.result(ctx, attempt{next, failed, dead.Clone(), false})
	if err != nil {
		return nil, nil, nil, err
	}
	plan, err := p.upload(&Plan{Routing: old, Program: before.forwards()}, dead, r)
	if err != nil {
		return nil, nil, nil, err
	}
	a := plan.result.hidden.(attempt)
	return plan, a.state, a.change, nil
}

func (c *quick) adopt(r *result) {
	a := r.hidden.(attempt)
	c.now, c.dead, c.away = a.state, a.dead, a.away
}

func (c *quick) settled() { c.now.Settle() }

func (c *quick) more() bool { return c.away }
