package subnet

import (
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// directOptions are those of the routings of meshes and tori by rules.
type directOptions struct{ ring, order, adaptive *int }

var (
	ringWords  = []string{firmware.Bubble.String(), firmware.Dateline.String(), firmware.Free.String()}
	orderWords = []string{firmware.DimensionFirst.String(), firmware.DirectionFirst.String()}
)

var directKeys = keysByName(
	optionKey[directOptions]{
		Key{"ring", "bubble, dateline or free", "what keeps packets from waiting for each other all around a ring: a place that is left free, a second channel, or nothing"},
		word(ringWords, func(o *directOptions, i int) { o.ring = &i }),
	},
	optionKey[directOptions]{
		Key{"order", "dimension or direction", "of the channels to escape to: x, y, z, or x up, y up, z up, x down, y down, z down"},
		word(orderWords, func(o *directOptions, i int) { o.order = &i }),
	},
	optionKey[directOptions]{
		Key{"adaptive", yesNo, "whether packets take any shortest way, or that of the order alone"},
		word([]string{"false", "true"}, func(o *directOptions, i int) { o.adaptive = &i }),
	},
)

// directEntries says what of [firmware.Direct] the routings by rules are that take options, and which.
var directEntries = map[string]struct {
	fw   firmware.Direct
	keys []string
}{
	"dimension-order": {firmware.Direct{Ring: firmware.Dateline}, []string{"ring"}},
	"direction-order": {firmware.Direct{Ring: firmware.Dateline, Order: firmware.DirectionFirst}, []string{"ring"}},
	"duato":           {firmware.Direct{Ring: firmware.Bubble, Adaptive: true}, []string{"adaptive", "order", "ring"}},
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
		fw := d.fw
		if o.ring != nil {
			fw.Ring = firmware.Ring(*o.ring)
		}
		if o.order != nil {
			fw.Order = firmware.Order(*o.order)
		}
		if o.adaptive != nil {
			fw.Adaptive = *o.adaptive == 1
		}
		made := plain.direct(fw)
		made.Name = name
		return made, nil
	}
	return e
}

// direct is an entry that makes such a firmware.
func (e Entry) direct(fw firmware.Direct) Entry {
	on := e.On
	e.New = func(g *topology.Graph) (firmware.Firmware, int, error) {
		made := fw
		made.Diameter = diameter(g)
		vcs := LeastVCs(made, g)
		if err := misfit(made, on, g); vcs == 0 && err != nil {
			return nil, 0, err
		}
		return made, vcs, nil
	}
	return e
}

// diameter is the most hops of a shortest way between two switches of a mesh or a torus, 0 elsewhere.
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
