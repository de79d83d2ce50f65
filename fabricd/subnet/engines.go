package subnet

import (
	"context"

	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// engine is one that computes routes.
type engine struct {
	name  string
	about string
	on    firmware.Shape
	keys  []string // what it can be asked for, of optionKeys
	route func(ctx context.Context, g *topology.Graph, o layered.Options) (*layered.Routing, error)
}

// engines lists them in the order of their names.
func engines() []engine {
	return []engine{
		{
			"a-lash", "any topology: every shortest path, adaptive, in as many layers as keep each free from deadlock (A-LASH)",
			firmware.Anything,
			[]string{"layers", "seed", "step4", "move", "fallback", "root", "tree"},
			layered.ALASH,
		},
		{
			"d-mroots", "any topology: Up*/Down* with a root far from the others for each layer, one layer per pair (D-MROOTS)",
			firmware.Anything,
			[]string{"layers", "root", "tree", "seed"},
			layered.DMRoots,
		},
		{
			"e-cube", "meshes and tori: dimension order over shortest paths, a layer for each set of dimensions in which they " +
				"go around the end", firmware.Grids,
			nil,
			layered.ECube,
		},
		{
			"escape", "any topology: every shortest path, adaptive, in all layers but one, which is Up*/Down* to escape to",
			firmware.Anything,
			[]string{"layers", "root", "tree", "seed"},
			layered.EscapePaths,
		},
		{
			"ftree", "fat trees: updown by forwarding tables", firmware.Trees,
			nil,
			upDownTables,
		},
		{
			"lash", "any topology: deterministic shortest paths, in as many layers as keep each free from deadlock (LASH)",
			firmware.Anything,
			[]string{"layers", "seed", "balance", "paths", "rounds", "both", "fallback", "root", "tree"},
			layered.LASH,
		},
		{
			"minimal-hop", "any topology: deterministic shortest paths, loads balanced; can deadlock (the baseline)",
			firmware.Anything,
			[]string{"layers", "seed"},
			layered.MinimalHop,
		},
		{
			"mp-lash", "any topology: every shortest path, the source chooses, in as many layers as keep each free from " +
				"deadlock (MP-LASH)", firmware.Anything,
			[]string{"layers", "seed", "limit", "balance", "step4", "fallback", "root", "tree"},
			layered.MPLASH,
		},
		{
			"mroots", "any topology: Up*/Down* with a root far from the others for each layer, packets in any layer (MROOTS)",
			firmware.Anything,
			[]string{"layers", "root", "tree", "seed"},
			layered.MRoots,
		},
		{
			"updn", "any topology: deterministic Up*/Down*, up towards a root and then down", firmware.Anything,
			[]string{"layers", "root", "tree", "seed", "in-port"},
			layered.UpDown,
		},
		{
			"updn-adaptive", "any topology: Up*/Down* by every shortest legal path, adaptive, in all layers", firmware.Anything,
			[]string{"layers", "root", "tree", "move"},
			layered.UpDownAdaptive,
		},
		{
			"xy", "meshes: dimension order, x first, then y, then z; in tori nothing goes around the end", firmware.Grids,
			nil,
			layered.XY,
		},
	}
}

// entry is the engine without options. With some it is made by ByName.
func (e engine) entry() Entry {
	entry := e.made(e.name, layered.Options{})
	if e.keys != nil {
		entry.with = func(name, options string) (Entry, error) {
			o, err := parseOptions(options, e.keys, optionKeys)
			return e.made(name, o), err
		}
	}
	return entry
}

func (e engine) made(name string, o layered.Options) Entry {
	var keys []Key
	for _, k := range e.keys {
		keys = append(keys, optionKeys[k].Key)
	}
	made := Entry{Name: name, About: e.about, On: e.on, Keys: keys}
	return computed(made, func(ctx context.Context, g *topology.Graph) (*layered.Routing, error) {
		r, err := e.route(ctx, g, o)
		if err = named(name, err); err != nil && e.on != firmware.Anything && e.on != shapeOf(g) {
			err = instead(err, g)
		}
		return r, err
	})
}

// computed adds to an entry how it is made of the routes that are computed for a topology.
func computed(e Entry, routes func(ctx context.Context, g *topology.Graph) (*layered.Routing, error)) Entry {
	e.Routes = routes
	e.New = func(ctx context.Context, g *topology.Graph) (firmware.Firmware, int, error) {
		r, err := routes(ctx, g)
		if err != nil {
			return firmware.Firmware{}, 0, err
		}
		return FirmwareOf(r), r.Layers, nil
	}
	return e
}
