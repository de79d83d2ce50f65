package manage

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// Planner knows what is in force and plans what follows. It belongs to one goroutine.
type Planner struct {
	g        *topology.Graph
	method   Method
	now      *Plan // what was adopted last
	planning planning
	each     func(n int, run func(i int))
}

// planning is how plans follow from what is dead: as tables of switches, or as what NICs write into
// packets.
type planning interface {
	// plan says what is to follow now, without what is dead. Nothing is changed by that; each runs
	// a function for 0 to n-1, nil: in turn.
	plan(ctx context.Context, now *Plan, dead *subnet.Dead, each func(n int, run func(i int))) (*Plan, error)
	adopt(plan *Plan)       // switches are being told
	acknowledged(now *Plan) // all have acknowledged
	settled(now *Plan)      // packets that travelled by what was before are gone
	more() bool             // planning again now may change something
	// empties reports whether the plan for what is dead will want the fabric empty, which is known
	// before.
	empties(now *Plan, dead *subnet.Dead) bool
}

// New makes a planner for a fabric that runs a routing, by name, with so many virtual channels. A
// method that needs tables of another kind is refused, and so is one for another topology; the
// error says what to choose. When ctx ends first the error wraps the cause.
func New(ctx context.Context, g *topology.Graph, routing string, m Method, vcs int) (*Planner, error) {
	routing, _ = m.Routing(routing)
	e, err := subnet.ByName(routing)
	if err != nil {
		return nil, err
	}
	p := &Planner{g: g, method: m}
	if m.Kind == Direct {
		p.planning, p.now, err = newWays(ctx, g, e, m, vcs)
	} else if err = programmed(ctx, e, g); err == nil {
		p.planning, p.now, err = newTables(ctx, g, e, m, vcs)
	}
	if err != nil {
		return nil, fmt.Errorf("method %v: %w", m, err)
	}
	return p, nil
}

// Graph is the topology.
func (p *Planner) Graph() *topology.Graph { return p.g }

// Now is the plan in force: at first what the switches have, the tables of the routing itself, so
// that there is nothing to tell them.
func (p *Planner) Now() *Plan { return p.now }

// Method is how it plans.
func (p *Planner) Method() Method { return p.method }

// InParallel has each run the parts of a computation that do not depend on each other: a function
// for 0 to n-1, in any order or at once. Plans do not depend on it. Without it they are run in
// turn. Only method direct has such parts.
func (p *Planner) InParallel(each func(n int, run func(i int))) { p.each = each }

// Empties reports whether the fabric may be emptied while the plan for what is dead is computed,
// because that plan will need it empty ([Plan.Static]).
func (p *Planner) Empties(dead *subnet.Dead) bool { return p.planning.empties(p.now, dead) }

// Plan computes what the switches are to forward by without what is dead. It changes nothing before
// [Planner.Adopt], so a plan that comes too late may be thrown away. dead is copied. When ctx ends
// first there is no plan, and the error wraps the cause.
func (p *Planner) Plan(ctx context.Context, dead *subnet.Dead) (*Plan, error) {
	plan, err := p.planning.plan(ctx, p.now, dead, p.each)
	if err != nil {
		return nil, fmt.Errorf("method %v: %w", p.method, err)
	}
	return plan, nil
}

// Adopt says that switches are being told this plan, the latest of this planner. Until
// [Planner.Acknowledged] what was before it counts as in force too.
func (p *Planner) Adopt(plan *Plan) {
	if plan == p.now {
		return
	}
	p.planning.adopt(plan)
	p.now = plan
}

// Acknowledged says that all switches have acknowledged the plan adopted last. Packets that
// travelled by older tables may be on their way.
func (p *Planner) Acknowledged() { p.planning.acknowledged(p.now) }

// Settled says that all switches have the plan adopted last, and that no packet is left that
// travelled by older tables.
func (p *Planner) Settled() { p.planning.settled(p.now) }

// More reports whether planning again for what is dead already may change something, now that older
// packets are gone: flows that could not return to the paths of the engine before may be able to. A
// plan without patches says that there is no more to come.
func (p *Planner) More() bool { return p.planning.more() }

// base is a version to make differences from; who uploads gives them their own.
const base = tables.FirstVersion

// differences are the patches from one program to another.
func differences(g *topology.Graph, old, new tables.Program) (list []*tables.Patch) {
	for _, s := range g.Switches {
		if d := tables.Diff(s.ID, old, new, base, base+1); !d.Empty() {
			list = append(list, d)
		}
	}
	return list
}

// nicsOf is how many NICs hang on each switch, of those that count.
func nicsOf(g *topology.Graph, counts func(nic weft.NICID, link weft.LinkID) bool) []int {
	nics := make([]int, len(g.Switches))
	for d := range weft.NICID(len(g.NICs)) {
		peer, link, ok := g.Peer(weft.End{Node: d.Node()})
		if ok && counts(d, link) {
			nics[peer.Node.Index]++
		}
	}
	return nics
}

// programmed refuses a routing whose tables cannot be replaced.
func programmed(ctx context.Context, e subnet.Entry, g *topology.Graph) error {
	if e.Routes != nil && e.On == firmware.Anything {
		return nil
	}
	fw, _, err := e.New(ctx, g)
	if err != nil {
		return err
	}
	switch {
	case fw.Program != nil && fw.Program.Ways != nil:
		return fmt.Errorf("%s has no tables, only what NICs write into packets: choose method %s", e.Name, Direct)
	case fw.Programmed == nil:
		return fmt.Errorf("%s decides by rules and has no tables that could be replaced: choose a routing with tables, as "+
			"ftree, hybrid, lash or xy", e.Name)
	}
	return nil
}
