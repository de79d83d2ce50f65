package manage

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// Plan is what the switches are to forward by, from some fault or repair on.
type Plan struct {
	Dead    subnet.Dead // what it is without
	Graph   *topology.Graph
	Routing *layered.Routing // tables and assignment of all switches; nil with method direct, which has none
	Program tables.Program   // the same as the firmware takes it, or what NICs write into packets

	// Acyclic: no mixture of tables that there is while the rounds are uploaded one after the other
	// has a cycle of dependencies. Channels of links that are dead now do not count, for no packet
	// gets onto them; a link that has come back counts with all that may be in force still.
	Acyclic bool
	// Static: the fabric has to be empty while it is uploaded, because the dependencies have a
	// cycle, or the method is to have it so.
	Static bool
	// NoSpare says which virtual channels it would take for a plan that is not static, or connects
	// more; empty: none.
	NoSpare string
	// Rounds are what to upload: each of them to all its switches in any order, and the next when
	// all have acknowledged the one before. There is one, or for some plans of dqr a first one with
	// entries that no packet asks yet.
	Rounds []Round

	FlowsTotal    int // ordered pairs of different NICs
	FlowsRerouted int // of them, those whose path is another one than before
	Unroutable    int // of them, those without a path
	Unconnected   int // of them, those that no routing could connect
	// Without names those without a path as the switches from and to which it would be, at most so
	// many as are worth reading; with method direct.
	Without []string

	patches    []*tables.Patch // of the switches at which something changes, by all rounds together
	deps       *layered.Dependencies
	transition *layered.Transition // when all rounds are uploaded
	result     *result
}

// judge says whether the plan may be uploaded while packets travel, by their dependencies.
func (p *Plan) judge(deps *layered.Dependencies) {
	p.deps = deps
	p.Acyclic = deps.Acyclic()
	p.Static = !p.Acyclic
}

// dies reports whether the plan is without a link.
func (p *Plan) dies(id weft.LinkID) bool { return p.Dead.Cuts(&p.Graph.Links[id]) }

// Round is a part of an upload.
type Round struct {
	Routing *layered.Routing // nil with method direct
	Program tables.Program   // what all switches forward by after it
	Patches []*tables.Patch  // from the round before, or the plan before
}

// Whole is all that a switch forwards by after the round.
func (r *Round) Whole(s weft.SwitchID, version uint64) *tables.Patch {
	return tables.Diff(s, tables.Program{}, r.Program, 0, version)
}

// Cycle is a shortest cycle of dependencies, each of its channels followed by the next and the last
// by the first; nil when the plan is acyclic.
func (p *Plan) Cycle() []layered.Channel {
	if p.Acyclic || p.deps == nil {
		return nil
	}
	return p.deps.Cycle()
}

// Patches are what changes by all rounds together, from the plan before, a patch for each switch at
// which something does: for an empty fabric, or switches that take them all at once. Versions of
// patches are for who uploads them to set.
func (p *Plan) Patches() []*tables.Patch { return p.patches }

// Changes is how many entries of tables, addresses of destinations and ways a patch changes.
func Changes(p *tables.Patch) (n int) {
	for _, set := range p.Set {
		n += set.N
	}
	for _, a := range p.Addresses {
		n += a.N
	}
	return n + len(p.Routes) + len(p.Ways)
}
