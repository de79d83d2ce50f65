package subnet

import (
	"context"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// upDownTables are the routes of firmware updown without faults, by tables.
func upDownTables(ctx context.Context, g *topology.Graph, _ layered.Options) (*layered.Routing, error) {
	u, err := NewUpDownRoutes(g)
	if err != nil {
		return nil, err
	}
	return u.Routing(ctx, "ftree", u.Compute(nil))
}

// Routing is the routes of the last Compute as a routing by that name, with what that call
// returned. Its tables are per layer, of one layer, and look at the destination alone. A pair that
// is unroutable has no address.
func (u *UpDownRoutes) Routing(ctx context.Context, name string, unroutable int) (*layered.Routing, error) {
	lft, err := u.tables(ctx, true, u.port)
	if err != nil {
		return nil, err
	}
	enter, sends := []weft.Address{{}}, make([]bool, len(u.g.Switches))
	for d := range weft.NICID(len(u.g.NICs)) {
		s, _ := u.g.SwitchOf(d)
		sends[s] = true
	}
	assignment, err := tables.NewAssignment(len(u.g.Switches), len(u.g.NICs), 1, 1,
		func(s weft.SwitchID, d weft.NICID) []weft.Address {
			if !sends[s] || !u.of(s).has(uint32(d)) {
				return nil
			}
			return enter
		})
	if err != nil {
		return nil, err
	}
	return &layered.Routing{
		Engine: name, Graph: u.g, Kind: layered.Deterministic, Layers: 1, Tables: lft, Assignment: assignment,
		Unroutable: unroutable,
	}, nil
}
