package manage

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Planner knows the tables in force and plans those that follow. It belongs to one goroutine.
type Planner struct {
	g       *topology.Graph
	method  Method
	compute computer

	now        *Plan               // what was adopted last
	inForce    []*layered.Routing  // what some switch may still forward by; the newest last
	transition *layered.Transition // where packets are that have not settled, and what they wait for
	settled    bool
	nics       []int // per switch: how many hang there
}

// computer is a method at work. It computes without being changed by that; adopt says which of its results came into force.
type computer interface {
	compute(dead *subnet.Dead) (*result, error)
	adopt(r *result)
	settled()
}

// result is what a method computed.
type result struct {
	routing    *layered.Routing
	unroutable int
	rerouted   int               // -1: to be counted
	program    *firmware.Program // what the firmware forwards by; nil: tables and assignment of routing
	hidden     any               // the method's own
	// first makes tables that can be uploaded before, so that fewer mixtures have a cycle; nil: there are none
	first func() (*layered.Routing, error)
}

// New makes a planner for a fabric that runs a routing, by name, with so many virtual channels. A method that needs tables of another kind is
// refused, and so is one for another topology; the error says what to choose.
func New(g *topology.Graph, routing string, m Method, vcs int) (*Planner, error) {
	p := &Planner{g: g, method: m, nics: make([]int, len(g.Switches))}
	for d := range g.NICs {
		s, _ := g.SwitchOf(weft.NICID(d))
		p.nics[s]++
	}
	routing, _ = m.Routing(routing)
	e, err := subnet.ByName(routing)
	if err != nil {
		return nil, err
	}
	if err = programmed(e, g); err != nil {
		return nil, fmt.Errorf("method %v: %w", m, err)
	}
	switch m.Kind {
	case DDRC:
		p.compute, err = newDDRC(g, e)
	case Engine:
		p.compute, err = newEngine(g, e, m, vcs)
	case DQR:
		p.compute, err = newDQR(g, e, m)
	default:
		err = errors.New("it plans nothing")
	}
	if err != nil {
		return nil, fmt.Errorf("method %v: %w", m, err)
	}
	r, err := p.compute.compute(&subnet.Dead{})
	if err != nil {
		return nil, fmt.Errorf("method %v: %w", m, err)
	}
	if r.routing.Layers > vcs {
		return nil, fmt.Errorf("method %v: its tables need %d virtual channels, there are %d: raise the number", m, r.routing.Layers, vcs)
	}
	p.compute.adopt(r)
	began, err := p.began(e, r)
	if err != nil {
		return nil, err
	}
	n := len(g.NICs)
	p.now = &Plan{Routing: r.routing, Program: r.forwards(), FlowsTotal: n * (n - 1), Unroutable: r.unroutable}
	p.now.patches = p.differences(began.forwards(), p.now.Program)
	p.now.Rounds = []Round{{p.now.Routing, p.now.Program, p.now.patches}}
	p.inForce, p.transition = []*layered.Routing{r.routing}, layered.NewTransition(began.routing)
	if len(p.now.patches) > 0 {
		p.inForce = append([]*layered.Routing{began.routing}, p.inForce...)
		p.transition = p.transition.With(p.places(p.now.patches, began.routing, r), p.inForce...)
	}
	p.now.transition = p.transition
	p.now.deps = p.transition.Without(p.now.dies)
	p.now.Acyclic = p.now.deps.Acyclic()
	return p, nil
}

// differences are the patches from one program to another.
func (p *Planner) differences(old, new firmware.Program) (list []*firmware.Patch) {
	for _, s := range p.g.Switches {
		if d := firmware.Diff(s.ID, old, new, p.base(), p.base()+1); !d.Empty() {
			list = append(list, d)
		}
	}
	return list
}

// places are those that patches change, by which a result differs from an older routing.
func (p *Planner) places(patches []*firmware.Patch, old *layered.Routing, r *result) (list []layered.Place) {
	if r.program != nil { // packets are followed by the routing, and the patches are those of something else
		patches = p.differences(firmware.Program{Tables: old.Tables, Assignment: old.Assignment}, firmware.Program{Tables: r.routing.Tables, Assignment: r.routing.Assignment})
	}
	tables, nics := r.routing.Tables, len(p.g.NICs)
	paths := tables.Paths()
	for _, d := range patches {
		for _, set := range d.Set {
			for i := set.At; i < set.At+set.N; i++ {
				x := layered.Place{At: d.Switch, Layer: weft.VC(i / (nics * paths)), Path: uint16(i % paths), Dst: weft.NICID(i / paths % nics)}
				list = append(list, x)
				for x.Layer++; !tables.PerLayer() && int(x.Layer) < tables.VCs(); x.Layer++ {
					list = append(list, x)
				}
			}
		}
		for _, a := range d.Addresses {
			for dst := a.Dst; dst < a.Dst+weft.NICID(a.N); dst++ {
				for _, to := range a.List {
					list = append(list, layered.Place{At: d.Switch, Layer: to.VC, Path: to.Path, Dst: dst})
				}
			}
		}
	}
	return list
}

// forwards is the result as the firmware takes it.
func (r *result) forwards() firmware.Program {
	if r.program != nil {
		return *r.program
	}
	return firmware.Program{Tables: r.routing.Tables, Assignment: r.routing.Assignment}
}

// began is what the switches have before they are told anything.
func (p *Planner) began(e subnet.Entry, r *result) (*result, error) {
	if c, ok := p.compute.(*engine); ok && c.name == e.Name || e.Routes == nil {
		return r, nil
	}
	if r.program != nil { // the firmware has rules of its own beside tables, and tables that are not those of a routing
		fw, _, err := e.New(p.g)
		if err != nil {
			return nil, err
		}
		program := fw.(firmware.Programmed).Program() // programmed has looked
		return &result{routing: r.routing, program: &program}, nil
	}
	routing, err := e.Routes(p.g)
	return &result{routing: routing}, err
}

// Now is the plan in force: at first what the switches are to begin with. Its patches are what a switch has to be told that has what the
// routing itself begins with.
func (p *Planner) Now() *Plan { return p.now }

// Method is how it plans.
func (p *Planner) Method() Method { return p.method }

// Plan computes what the switches are to forward by without what is dead. It changes nothing before [Planner.Adopt], so a plan that comes too late
// may be thrown away. dead is copied.
func (p *Planner) Plan(dead *subnet.Dead) (*Plan, error) {
	r, err := p.compute.compute(dead)
	if err != nil {
		return nil, fmt.Errorf("method %v: %w", p.method, err)
	}
	n := len(p.g.NICs)
	plan := &Plan{
		Dead: dead.Clone(), Routing: r.routing, Program: r.forwards(), FlowsTotal: n * (n - 1), FlowsRerouted: r.rerouted,
		Unroutable: r.unroutable, Unconnected: subnet.Connected(p.g, dead), result: r,
	}
	plan.patches = p.differences(p.now.Program, plan.Program)
	plan.Rounds = []Round{{plan.Routing, plan.Program, plan.patches}}
	places := p.places(plan.patches, p.now.Routing, r)
	plan.transition = p.transition
	if len(plan.patches) > 0 || !p.settled {
		plan.transition = p.transition.With(places, p.with(r.routing)...)
	}
	plan.deps = plan.transition.Without(plan.dies)
	if plan.Acyclic = plan.deps.Acyclic(); !plan.Acyclic && r.first != nil {
		if err := p.twice(plan); err != nil {
			return nil, fmt.Errorf("method %v: %w", p.method, err)
		}
	}
	if r.rerouted < 0 {
		changed := make([]bool, n)
		for _, x := range places {
			changed[x.Dst] = true
		}
		plan.FlowsRerouted = p.rerouted(p.now.Routing, r.routing, func(d weft.NICID) bool { return changed[d] })
	}
	return plan, nil
}

// dies reports whether the plan is without a link.
func (p *Plan) dies(id weft.LinkID) bool { return p.Dead.Cuts(&p.Routing.Graph.Links[id]) }

// with are the routings in force and another one.
func (p *Planner) with(r *layered.Routing) []*layered.Routing {
	return append(p.inForce[:len(p.inForce):len(p.inForce)], r)
}

// twice makes two rounds of the one of a plan, if they have no cycle.
func (p *Planner) twice(plan *Plan) error {
	first, err := plan.result.first()
	if err != nil {
		return err
	}
	before := result{routing: first}
	a := Round{Routing: first, Program: before.forwards()}
	if a.Patches = p.differences(p.now.Program, a.Program); len(a.Patches) == 0 {
		return nil
	}
	b := Round{plan.Routing, plan.Program, p.differences(a.Program, plan.Program)}
	t := p.transition.With(p.places(a.Patches, p.now.Routing, &before), p.with(first)...)
	if !t.Without(plan.dies).Acyclic() {
		return nil
	}
	t = t.With(p.places(b.Patches, first, plan.result), first, plan.Routing)
	deps := t.Without(plan.dies)
	if plan.Acyclic = deps.Acyclic(); plan.Acyclic {
		plan.Rounds, plan.transition, plan.deps = []Round{a, b}, t, deps
	}
	return nil
}

// base is a version to make differences from; who uploads gives them their own.
func (p *Planner) base() uint64 { return firmware.FirstVersion }

// Adopt says that switches are being told this plan, the latest of this planner. Until [Planner.Told] the tables before it count as in force too.
func (p *Planner) Adopt(plan *Plan) {
	if plan == p.now {
		return
	}
	p.compute.adopt(plan.result)
	p.now, p.transition, p.settled = plan, plan.transition, false
	for _, r := range plan.Rounds {
		p.inForce = append(p.inForce, r.Routing)
	}
}

// Told says that all switches have acknowledged the plan adopted last. Packets that travelled by older tables may be on their way.
func (p *Planner) Told() { p.inForce = []*layered.Routing{p.now.Routing} }

// Settled says that all switches have the plan adopted last, and that no packet is left that travelled by older tables.
func (p *Planner) Settled() {
	if p.settled {
		return
	}
	p.Told()
	p.compute.settled()
	p.transition, p.settled = layered.NewTransition(p.now.Routing), true
}

// More reports whether planning again for what is dead already may change something, now that older packets are gone: flows that could not return to the
// paths of the engine before may be able to. A plan without patches says that there is no more to come.
func (p *Planner) More() bool {
	more, ok := p.compute.(interface{ more() bool })
	return ok && p.settled && more.more()
}

// programmed refuses a routing whose tables cannot be replaced.
func programmed(e subnet.Entry, g *topology.Graph) error {
	if e.Routes != nil && e.On == firmware.Anything {
		return nil
	}
	fw, _, err := e.New(g)
	if err != nil {
		return err
	}
	if _, ok := fw.(firmware.Programmed); !ok {
		return fmt.Errorf("%s decides by rules and has no tables that could be replaced: choose a routing with tables, as ftree, hybrid, lash or xy", e.Name)
	}
	return nil
}
