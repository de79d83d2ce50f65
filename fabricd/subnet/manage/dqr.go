package manage

import (
	"errors"
	"slices"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// quick is dynamic quick reconfiguration (Sem-Jacobsen, Lysne: Topology Agnostic Dynamic Quick Reconfiguration for Large-Scale
// Interconnection Networks).
type quick struct {
	g    *topology.Graph
	now  *dqr.Reconfiguration
	dead subnet.Dead
	// away: links have come back, and some flows may not have returned to the paths of the engine
	away bool
}

// attempt is what compute tells adopt.
type attempt struct {
	state *dqr.Reconfiguration
	dead  subnet.Dead
	away  bool
}

func newDQR(g *topology.Graph, e subnet.Entry, m Method) (computer, error) {
	if e.Routes == nil {
		return nil, errors.New(e.Name + " has no tables to start from: choose an engine, as updn or lash")
	}
	r, err := e.Routes(g)
	if err != nil {
		return nil, err
	}
	if r.Kind != layered.Deterministic {
		return nil, errors.New(e.Name + " is adaptive, and it is for deterministic tables: choose " + Engine)
	}
	state, err := dqr.New(r, m.DQR())
	if err != nil {
		return nil, err
	}
	return &quick{g: g, now: state}, nil
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

func (c *quick) compute(dead *subnet.Dead) (*result, error) {
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
		if res, err = change(dead.Cuts); err != nil {
			return nil, err
		}
	}
	r, err := state.Routing()
	if err != nil {
		return nil, err
	}
	out := &result{routing: r, hidden: attempt{state, dead.Clone(), back}, first: state.First}
	if res != nil {
		out.unroutable, out.rerouted = res.Unroutable, res.FlowsRerouted
	}
	return out, nil
}

func (c *quick) adopt(r *result) {
	a := r.hidden.(attempt)
	c.now, c.dead, c.away = a.state, a.dead, a.away
}

func (c *quick) settled() { c.now.Settle() }

func (c *quick) more() bool { return c.away }
