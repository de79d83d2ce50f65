package manage

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// planner plans the tables of switches: those that a method computes, as long as no mixture of them
// with the tables before can deadlock.
type planner struct {
	g       *topology.Graph
	compute computer
	home    *result // what the switches begin with, and have again when nothing is dead

	inForce    []*layered.Routing  // what some switch may still forward by; the newest last
	transition *layered.Transition // where packets are that have not settled, and what they wait for
	gone       bool                // they have
	nics       []int               // per switch: how many hang there
}

// computer is a method at work. It computes without being changed by that; adopt says which of its
// results came into force.
type computer interface {
	compute(ctx context.Context, dead *subnet.Dead) (*result, error)
	adopt(r *result)
	settled()
}

// result is what a method computed.
type result struct {
	routing    *layered.Routing
	unroutable int
	rerouted   int             // -1: to be counted
	program    *tables.Program // what the firmware forwards by; nil: tables and assignment of routing
	hidden     any             // the method's own
	// first makes tables that can be uploaded before, so that fewer mixtures have a cycle; nil:
	// there are none
	first func() (*layered.Routing, error)
	// aside computes what can be uploaded while packets travel with a virtual channel more, see
	// [dqr.Reconfiguration.MoveAside]; nil: there is no such way
	aside func() (*result, error)
	moved bool // it is such: in two rounds, so that nobody sends in the spare layer before all switches have its entries
}

// newTables begins with what the switches have, the tables of the routing: nothing is told to them
// while nothing is dead. A method that cannot keep them is refused.
func newTables(ctx context.Context, g *topology.Graph, e subnet.Entry, m Method, vcs int) (*planner, *Plan, error) {
	p := newPlans(g)
	var err error
	switch m.Kind {
	case DDRC:
		p.compute, err = newDDRC(ctx, g, e)
	case Engine:
		p.compute, err = newEngine(g, e, m, vcs)
	case DQR:
		p.compute, err = newDQR(ctx, g, e, m, vcs)
	default:
		err = errors.New("it plans nothing")
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := p.compute.compute(ctx, &subnet.Dead{})
	if err != nil {
		return nil, nil, err
	}
	if r.routing.Layers > vcs {
		return nil, nil, fmt.Errorf("its tables need %d virtual channels, there are %d: raise the number", r.routing.Layers,
			vcs)
	}
	p.compute.adopt(r)
	if p.home, err = p.began(ctx, e, r); err != nil {
		return nil, nil, err
	}
	n := len(g.NICs)
	now := &Plan{
		Graph: g, Routing: p.home.routing, Program: p.home.forwards(), FlowsTotal: n * (n - 1),
		Unroutable: p.home.unroutable,
	}
	now.Rounds = []Round{{now.Routing, now.Program, nil}}
	p.inForce, p.transition = []*layered.Routing{now.Routing}, layered.NewTransition(now.Routing)
	now.transition = p.transition
	now.judge(p.transition.Without(now.dies))
	return p, now, nil
}

// places are those that patches change, by which a result differs from an older routing; and the
// destinations for which it does.
func (p *planner) places(patches []*tables.Patch, old *layered.Routing, r *result) (list []layered.Place,
	changed []bool,
) {
	changed = make([]bool, len(p.g.NICs))
	if r.program != nil { // packets are followed by the routing, and the patches are those of something else
		patches = differences(p.g, tables.Program{Tables: old.Tables, Assignment: old.Assignment},
			tables.Program{Tables: r.routing.Tables, Assignment: r.routing.Assignment})
	}
	tables, nics := r.routing.Tables, len(p.g.NICs)
	paths := tables.Paths()
	for _, d := range patches {
		for _, set := range d.Set {
			for i := set.At; i < set.At+set.N; i++ {
				x := layered.Place{
					At: d.Switch, Layer: weft.VC(i / (nics * paths)), Path: uint16(i % paths),
					Dst: weft.NICID(i / paths % nics),
				}
				list, changed[x.Dst] = append(list, x), true
				for x.Layer++; !tables.PerLayer() && int(x.Layer) < tables.VCs(); x.Layer++ {
					list = append(list, x)
				}
			}
		}
		for _, a := range d.Addresses {
			for dst := a.Dst; dst < a.Dst+weft.NICID(a.N); dst++ {
				changed[dst] = true
				for _, to := range a.List {
					list = append(list, layered.Place{At: d.Switch, Layer: to.VC, Path: to.Path, Dst: dst})
				}
			}
		}
	}
	return list, changed
}

// forwards is the result as the firmware takes it.
func (r *result) forwards() tables.Program {
	if r.program != nil {
		return *r.program
	}
	return tables.Program{Tables: r.routing.Tables, Assignment: r.routing.Assignment}
}

// began is what the switches have before they are told anything. r is what the method computes when
// nothing is dead.
func (p *planner) began(ctx context.Context, e subnet.Entry, r *result) (*result, error) {
	if c, ok := p.compute.(*engine); ok && c.name == e.Name || e.Routes == nil {
		return r, nil
	}
	if r.program != nil { // the firmware has rules of its own beside tables, and tables that are not those of a routing
		fw, _, err := e.New(ctx, p.g)
		if err != nil {
			return nil, err
		}
		return &result{routing: r.routing, program: fw.Program, unroutable: r.unroutable, rerouted: -1}, nil
	}
	routing, err := e.Routes(ctx, p.g)
	if err != nil {
		return nil, err
	}
	return &result{routing: routing, unroutable: routing.Unroutable, rerouted: -1}, nil
}

// plan implements [planning].
func (p *planner) plan(ctx context.Context, now *Plan, dead *subnet.Dead, _ func(int, func(int))) (*Plan, error) {
	r, err := p.compute.compute(ctx, dead)
	if err != nil {
		return nil, err
	}
	if _, steps := p.compute.(*quick); !steps && dead.Len() == 0 {
		r = p.home // dqr brings flows home step by step
	}
	return p.upload(now, dead, r)
}

func newPlans(g *topology.Graph) *planner {
	return &planner{g: g, nics: nicsOf(g, func(weft.NICID, weft.LinkID) bool { return true })}
}

// upload makes a plan of what a method has computed: in which rounds it replaces what is in force
// now. Where that would need an empty fabric, or leave a pair without a path that live links join,
// it is of what the method computes with a spare virtual channel, if that does not.
func (p *planner) upload(now *Plan, dead *subnet.Dead, r *result) (*Plan, error) {
	plan, err := p.rounds(now, dead, r)
	if err != nil || r.aside == nil || plan.Acyclic && plan.Unroutable <= plan.Unconnected {
		return plan, err
	}
	other, err := r.aside()
	switch {
	case errors.Is(err, dqr.ErrNoSpare):
		plan.NoSpare = err.Error()
		return plan, nil
	case err != nil:
		return nil, err
	}
	aside, err := p.rounds(now, dead, other)
	switch {
	case err != nil:
		return nil, err
	case aside.Static && !plan.Static:
		return plan, nil
	}
	return aside, nil
}

// rounds makes a plan of tables.
func (p *planner) rounds(now *Plan, dead *subnet.Dead, r *result) (*Plan, error) {
	n := len(p.g.NICs)
	plan := &Plan{
		Dead: dead.Clone(), Graph: p.g, Routing: r.routing, Program: r.forwards(), FlowsTotal: n * (n - 1),
		FlowsRerouted: r.rerouted,
		Unroutable:    r.unroutable, Unconnected: subnet.Connected(p.g, dead), result: r,
	}
	plan.patches = differences(p.g, now.Program, plan.Program)
	plan.Rounds = []Round{{plan.Routing, plan.Program, plan.patches}}
	places, changed := p.places(plan.patches, now.Routing, r)
	if err := p.keeps(now, plan, changed); err != nil {
		return nil, err
	}
	plan.transition = p.transition
	if len(plan.patches) > 0 || !p.gone {
		plan.transition = p.transition.With(places, p.with(r.routing)...)
	}
	if plan.judge(plan.transition.Without(plan.dies)); r.first != nil && (!plan.Acyclic || r.moved) {
		if err := p.twice(now, plan); err != nil {
			return nil, err
		}
	}
	if r.rerouted < 0 {
		plan.FlowsRerouted = p.rerouted(now.Routing, r.routing, func(d weft.NICID) bool { return changed[d] })
	}
	return plan, nil
}

// with are the routings in force and another one.
func (p *planner) with(r *layered.Routing) []*layered.Routing {
	return append(p.inForce[:len(p.inForce):len(p.inForce)], r)
}

// twice makes two rounds of the one of a plan, if they have no cycle.
func (p *planner) twice(now, plan *Plan) error {
	first, err := plan.result.first()
	if err != nil {
		return err
	}
	before := result{routing: first}
	a := Round{Routing: first, Program: before.forwards()}
	if a.Patches = differences(p.g, now.Program, a.Program); len(a.Patches) == 0 {
		return nil
	}
	b := Round{plan.Routing, plan.Program, differences(p.g, a.Program, plan.Program)}
	if len(b.Patches) == 0 {
		return nil
	}
	places, _ := p.places(a.Patches, now.Routing, &before)
	t := p.transition.With(places, p.with(first)...)
	if !t.Without(plan.dies).Acyclic() {
		return nil
	}
	places, _ = p.places(b.Patches, first, plan.result)
	t = t.With(places, first, plan.Routing)
	if deps := t.Without(plan.dies); deps.Acyclic() {
		plan.Rounds, plan.transition, plan.deps = []Round{a, b}, t, deps
		plan.Acyclic, plan.Static = true, false
	}
	return nil
}

// adopt implements [planning].
func (p *planner) adopt(plan *Plan) {
	p.compute.adopt(plan.result)
	p.transition, p.gone = plan.transition, false
	for _, r := range plan.Rounds {
		p.inForce = append(p.inForce, r.Routing)
	}
}

// acknowledged implements [planning].
func (p *planner) acknowledged(now *Plan) { p.inForce = []*layered.Routing{now.Routing} }

// settled implements [planning].
func (p *planner) settled(now *Plan) {
	if p.gone {
		return
	}
	p.acknowledged(now)
	p.compute.settled()
	p.transition, p.gone = layered.NewTransition(now.Routing), true
}

// more implements [planning].
func (p *planner) more() bool {
	more, ok := p.compute.(interface{ more() bool })
	return ok && p.gone && more.more()
}

// empties implements [planning]: whether packets may travel, the plan says.
func (*planner) empties(*Plan, *subnet.Dead) bool { return false }
