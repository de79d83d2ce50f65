package subnet

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// directOptions are those of the routings of meshes and tori by rules.
type directOptions struct {
	ring, order, adaptive *int
	mechanisms            *string
}

var (
	ringWords  = []string{firmware.Bubble.String(), firmware.Dateline.String(), firmware.Free.String()}
	orderWords = []string{firmware.DimensionFirst.String(), firmware.DirectionFirst.String()}
)

var directKeys = keysByName(
	optionKey[directOptions]{
		Key{"ring", "bubble, dateline or free", "what keeps packets from waiting for each other all around a ring: a place " +
			"that is left free, a second channel, or nothing"},
		word(ringWords, func(o *directOptions, i int) { o.ring = &i }),
	},
	optionKey[directOptions]{
		Key{
			"order", "dimension or direction",
			"of the channels to escape to: x, y, z, or x up, y up, z up, x down, y down, z down",
		},
		word(orderWords, func(o *directOptions, i int) { o.order = &i }),
	},
	optionKey[directOptions]{
		Key{"adaptive", yesNo, "whether packets take any shortest way, or that of the order alone"},
		word([]string{"false", "true"}, func(o *directOptions, i int) { o.adaptive = &i }),
	},
	optionKey[directOptions]{
		Key{
			"mechanisms", "none, or some of I, Ix2, Ix3, D, M, direction-order and either, as I+D",
			"by which ways around what is dead are computed: intermediate nodes, adaptive routing off, misroutes",
		},
		func(o *directOptions, value string) bool {
			o.mechanisms = &value
			return value != ""
		},
	},
)

// directEntries says what of [firmware.Direct] the routings by rules are that take options, and
// which.
var directEntries = map[string]struct {
	fw   firmware.Direct
	keys []string
}{
	"dimension-order": {firmware.Direct{Ring: firmware.Dateline}, []string{"ring"}},
	"direction-order": {firmware.Direct{Ring: firmware.Dateline, Order: firmware.DirectionFirst}, []string{"ring"}},
	"duato": {
		firmware.Direct{Ring: firmware.Bubble, Adaptive: true},
		[]string{"mechanisms", "ring", "order", "adaptive"},
	},
}

// withDirectOptions adds to an entry the options that it takes, if any.
func withDirectOptions(e Entry) Entry {
	d, ok := directEntries[e.Name]
	if !ok {
		return e
	}
	for _, k := range d.keys {
		e.Keys = append(e.Keys, directKeys[k].Key)
	}
	if e.Name != "dimension-order" { // without options it is a firmware of its own
		e = e.direct(d.fw)
	}
	plain := e
	e.with = func(name, options string) (Entry, error) {
		o, err := parseOptions(options, d.keys, directKeys)
		if err != nil {
			return Entry{}, err
		}
		made := plain
		made.Name = name
		err = made.options(d.fw, o)
		return made, err
	}
	return e
}

// options has an entry make a firmware with options.
func (e *Entry) options(fw firmware.Direct, o directOptions) error {
	if o.ring != nil {
		fw.Ring = firmware.Ring(*o.ring)
	}
	if o.adaptive != nil {
		fw.Adaptive = *o.adaptive == 1
	}
	if o.order != nil {
		fw.Order = firmware.Order(*o.order)
	}
	if o.mechanisms == nil {
		*e = e.direct(fw)
		return nil
	}
	m, err := direct.Parse(*o.mechanisms)
	switch {
	case err != nil:
		return err
	case o.order != nil && fw.Order == firmware.DirectionFirst && m.Deterministic:
		m.DirectionOrder = true
	case o.order != nil && fw.Order == firmware.DimensionFirst && m.InDirectionOrder():
		return fmt.Errorf("mechanisms %v go in direction order: leave out order=dimension, or what asks for it", m)
	case m.SubPaths() > weft.MaxSubPaths:
		return fmt.Errorf("mechanisms %v: a packet has room for %d intermediate nodes, choose Ix%d", m, weft.MaxSubPaths-1,
			weft.MaxSubPaths-1)
	}
	if m.InDirectionOrder() {
		fw.Order = firmware.DirectionFirst
	}
	fw.SubPaths, fw.Deterministic, fw.Misroutes = m.SubPaths(), m.Deterministic, m.Misroute
	*e = e.direct(fw)
	e.Mechanisms = &m
	plain := e.New
	e.Around = func(ctx context.Context, g *topology.Graph, dead *Dead) (firmware.Firmware, int, error) {
		made, vcs, err := plain(ctx, g)
		if err != nil {
			return made, 0, err
		}
		ways, err := waysAround(ctx, g, m, dead)
		if err != nil {
			return made, 0, named(e.Name, err)
		}
		return made.Programmed(&tables.Program{Ways: ways}), vcs, nil
	}
	e.New = func(ctx context.Context, g *topology.Graph) (firmware.Firmware, int, error) {
		return e.Around(ctx, g, nil)
	}
	return nil
}

// waysAround are the ways around what is dead, and around links that a topology lacks. They are
// computed in turn: who asks for them, verify or a sweep, has many sets of dead links, and computes
// for several of these at once. A subnet manager has one, and computes that in parallel
// (manage.Planner).
func waysAround(ctx context.Context, g *topology.Graph, m direct.Mechanisms, dead *Dead) (*tables.Ways, error) {
	net, err := direct.New(g)
	if err != nil {
		return nil, err
	}
	inTurn := func(n int, run func(int)) bool {
		for i := range n {
			if ctx.Err() != nil {
				return false
			}
			run(i)
		}
		return true
	}
	s := net.Solve(m, dead.Cuts, inTurn)
	if err := layered.Interrupted(ctx); err != nil {
		return nil, err
	}
	return s.Ways()
}

// direct is an entry that makes such a firmware.
func (e Entry) direct(fw firmware.Direct) Entry {
	e.Direct = &fw
	e.New = func(ctx context.Context, g *topology.Graph) (firmware.Firmware, int, error) {
		made := fw
		made.Diameter = diameter(g)
		return Plain(made.Firmware()).New(ctx, g)
	}
	return e
}

// diameter is the most hops of a shortest way between two switches of a mesh or a torus, 0
// elsewhere.
func diameter(g *topology.Graph) (hops int) {
	if len(g.Switches) == 0 || g.Place(0).Grid == nil {
		return 0
	}
	grid := g.Place(0).Grid
	for i, d := range grid.Dims {
		if grid.Around(i) {
			hops += int(d.Size) / 2
		} else {
			hops += int(d.Size) - 1
		}
	}
	return hops
}
