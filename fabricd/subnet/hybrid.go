package subnet

import (
	"context"

	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// hybrids lists up/down routing by tables with local re-routing beneath it.
func hybrids() []Entry {
	return []Entry{
		hybrid("hybrid", "fat trees: up by tables that a subnet manager replaces, around dead links as deterministic-link", 2,
			func(ctx context.Context, u *UpDownRoutes) (firmware.Firmware, error) {
				t, err := u.tables(ctx, true, u.port)
				return firmware.Hybrid{Tables: t}.Firmware(), err
			}),
		hybrid("hybrid-adaptive",
			"fat trees: up by tables that a subnet manager replaces, around dead links as adaptive-link", 1,
			// The tables are those of method ddrc: while nothing is dead a packet goes up as with
			// adaptive-link.
			func(ctx context.Context, u *UpDownRoutes) (firmware.Firmware, error) {
				t, err := u.AdaptiveTables(ctx)
				return firmware.HybridAdaptive{Tables: t}.Firmware(), err
			}),
	}
}

func hybrid(name, about string, vcs int, of func(context.Context, *UpDownRoutes) (firmware.Firmware, error)) Entry {
	begin := func(g *topology.Graph) (u *UpDownRoutes, unroutable int, err error) {
		if u, err = NewUpDownRoutes(g); err != nil {
			return nil, 0, instead(named(name, err), g)
		}
		return u, u.Compute(nil), nil
	}
	routes := func(ctx context.Context, g *topology.Graph) (*layered.Routing, error) {
		u, unroutable, err := begin(g)
		if err != nil {
			return nil, err
		}
		r, err := u.Routing(ctx, name, unroutable)
		return r, named(name, err)
	}
	return Entry{
		Name: name, About: about, On: firmware.Trees, Tolerance: firmware.Tolerance{Links: true}, Routes: routes,
		New: func(ctx context.Context, g *topology.Graph) (firmware.Firmware, int, error) {
			u, _, err := begin(g)
			if err != nil {
				return firmware.Firmware{}, 0, err
			}
			fw, err := of(ctx, u)
			return fw, vcs, named(name, err)
		},
	}
}
