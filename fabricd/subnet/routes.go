package subnet

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// ErrNoTables is wrapped by the error for a firmware that decides by rules alone, so that there is
// nothing to compute for it.
var ErrNoTables = errors.New("computes its decisions, it has no tables")

// Routes computes what the routing of that name forwards by in a topology. The error wraps
// [ErrNoTables] when it forwards by no tables; others are an unknown name, a topology that the
// routing is not for, and the cause when ctx ends before all is computed.
func Routes(ctx context.Context, name string, g *topology.Graph) (*layered.Routing, error) {
	e, err := ByName(name)
	if err != nil {
		return nil, err
	}
	if e.Routes == nil {
		return nil, fmt.Errorf("%s %w: ask fabricd explain what it does with a packet, or fabricd verify for all", name,
			ErrNoTables)
	}
	return e.Routes(ctx, g)
}

// tableRoutes are the tables of Algorithm 1 as long as nothing is dead: then packets stay in the
// layer that they enter in.
func tableRoutes(ctx context.Context, g *topology.Graph) (*layered.Routing, error) {
	lft, err := Algorithm1(ctx, g, nil)
	if err != nil {
		return nil, instead(named("deterministic-table", err), g)
	}
	enter := []weft.Address{{VC: normalLayer}}
	assignment, err := tables.NewAssignment(len(g.Switches), len(g.NICs), layers, 1,
		func(s weft.SwitchID, _ weft.NICID) []weft.Address {
			if t := g.Place(s).Tree; int(t.Tier) < t.N-1 {
				return nil // no NICs
			}
			return enter
		})
	if err != nil {
		return nil, err
	}
	return &layered.Routing{
		Engine: "deterministic-table", Graph: g, Kind: layered.Deterministic, Layers: layers, Tables: lft,
		Assignment: assignment,
	}, nil
}
