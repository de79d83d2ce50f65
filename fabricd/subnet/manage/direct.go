package manage

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// ways plans what NICs write into packets (Gomez, Flich, Lopez, Robles, Duato: A Routing
// Methodology for Achieving Fault Tolerance in Direct Networks). The paper has it static: the
// network is emptied before. Dynamic is an extension of ours.
type ways struct {
	g          *topology.Graph
	net        *direct.Net
	mechanisms direct.Mechanisms
	acyclic    bool
	dynamic    bool
}

// mostNamed is how many pairs without a way a plan names; chosen by us.
const mostNamed = 8

// newWays is for a routing with mechanisms. It begins with no ways, as the switches do: when
// nothing is dead all packets go adaptively.
func newWays(ctx context.Context, g *topology.Graph, e subnet.Entry, m Method, vcs int) (*ways, *Plan, error) {
	fw, need, err := e.New(ctx, g)
	if err != nil {
		return nil, nil, err
	}
	mechanisms := e.Mechanisms
	switch {
	case fw.Program == nil || fw.Program.Ways == nil:
		return nil, nil, fmt.Errorf("the switches of %s look at nothing that NICs could write: choose a routing with "+
			"mechanisms, as duato:mechanisms=I+D", e.Name)
	case mechanisms == nil || *mechanisms == direct.Mechanisms{}:
		return nil, nil,
			fmt.Errorf("%s knows no way around what is dead: choose one with mechanisms, as duato:mechanisms=I+D", e.Name)
	case need > vcs:
		return nil, nil, fmt.Errorf("%s needs %d virtual channels, there are %d: raise the number", e.Name, need, vcs)
	}
	net, err := direct.New(g)
	if err != nil {
		return nil, nil, err
	}
	w := &ways{
		g: g, net: net, mechanisms: *mechanisms, acyclic: e.Direct.Ring != firmware.Free || !goesAround(g),
		dynamic: m.Dynamic(),
	}
	now, err := w.plan(ctx, &Plan{Program: *fw.Program}, &subnet.Dead{}, nil)
	return w, now, err
}

// goesAround reports whether a dimension of a grid does, so that its links make rings.
func goesAround(g *topology.Graph) bool {
	grid := g.Place(0).Grid
	for i := range grid.Dims {
		if grid.Around(i) {
			return true
		}
	}
	return false
}

// plan implements [planning].
//
// Packets of older ways and of newer ones cannot wait for each other in a circle, whatever mixture
// of them there is. What a switch does with a packet depends on the packet alone, and not on the
// ways in force: so a mixture has no dependencies but those of the firmware with all sub-headers
// that a packet can have, and these have no cycle unless its rings may fill up ([firmware.Free]).
// Those that meet a dead link take another adaptive way, or are discarded.
func (w *ways) plan(ctx context.Context, now *Plan, dead *subnet.Dead, each func(n int, run func(i int)),
) (*Plan, error) {
	n := len(w.g.NICs)
	p := &Plan{
		Dead: dead.Clone(), Graph: w.g, FlowsTotal: n * (n - 1), Unconnected: subnet.Connected(w.g, dead),
		Acyclic: w.acyclic,
	}
	if each == nil {
		each = func(n int, run func(i int)) {
			for i := range n {
				run(i)
			}
		}
	}
	s := w.net.Solve(w.mechanisms, dead.Cuts, func(n int, run func(i int)) bool {
		each(n, func(i int) {
			if ctx.Err() == nil {
				run(i)
			}
		})
		return ctx.Err() == nil
	})
	if s == nil {
		return nil, fmt.Errorf("no ways are computed: %w", context.Cause(ctx))
	}
	ways, err := s.Ways()
	if err != nil {
		return nil, err
	}
	p.Program = tables.Program{Ways: ways}
	p.patches = differences(w.g, now.Program, p.Program)
	p.Rounds = []Round{{Program: p.Program, Patches: p.patches}}
	p.Static = !w.dynamic && len(p.patches) > 0

	all := nicsOf(w.g, func(weft.NICID, weft.LinkID) bool { return true })
	for _, patch := range p.patches {
		for _, x := range patch.Ways {
			p.FlowsRerouted += all[patch.Switch] * all[x.Dst]
		}
	}
	live := nicsOf(w.g, func(_ weft.NICID, l weft.LinkID) bool { return !dead.Cuts(&w.g.Links[l]) })
	p.Unroutable = p.Unconnected
	for _, x := range s.Unroutable {
		p.Unroutable += live[x.Src] * live[x.Dst]
	}
	p.name(slices.Values(s.Unroutable), live)
	p.name(s.Isolated(), all)
	return p, nil
}

// name names pairs that have NICs, as long as there is room.
func (p *Plan) name(pairs iter.Seq[direct.Pair], nics []int) {
	for x := range pairs {
		if len(p.Without) == mostNamed {
			return
		}
		if nics[x.Src]*nics[x.Dst] > 0 {
			p.Without = append(p.Without, p.Graph.Switches[x.Src].Name+" to "+p.Graph.Switches[x.Dst].Name)
		}
	}
}

// empties implements [planning]: it is not before some way changes, and none does when links of
// NICs alone die or come back.
func (w *ways) empties(now *Plan, dead *subnet.Dead) bool {
	return !w.dynamic && slices.ContainsFunc(w.g.Links, func(l topology.Link) bool {
		return l.BetweenSwitches() && dead.Cuts(&l) != now.Dead.Cuts(&l)
	})
}

func (*ways) adopt(*Plan)        {}
func (*ways) acknowledged(*Plan) {}
func (*ways) settled(*Plan)      {}
func (*ways) more() bool         { return false }

var _ planning = (*ways)(nil)
