package manage

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// ddrc computes up/down routes of a tree without what is dead (Sem-Jacobsen, Skeie, Lysne, Duato:
// Dynamic Fault Tolerance in Fat Trees, section VIII). No mixture of its tables makes a packet turn
// upward, and none has a cycle.
type ddrc struct {
	routes *subnet.UpDownRoutes
	fw     firmware.Firmware // that forwards by the tables
}

func newDDRC(ctx context.Context, g *topology.Graph, e subnet.Entry) (computer, error) {
	u, err := subnet.NewUpDownRoutes(g)
	if err != nil {
		return nil, err
	}
	fw, _, err := e.New(ctx, g)
	if err != nil {
		return nil, err
	}
	return &ddrc{u, fw}, nil
}

func (c *ddrc) adopt(*result) {}
func (c *ddrc) settled()      {}

func (c *ddrc) compute(ctx context.Context, dead *subnet.Dead) (*result, error) {
	unroutable := c.routes.Compute(dead)
	r, err := c.routes.Routing(ctx, "ftree", unroutable)
	if err != nil {
		return nil, err
	}
	out := &result{routing: r, unroutable: unroutable, rerouted: -1}
	switch {
	case c.fw.Program.Assignment != nil: // it uses the tables and addresses of a routing
	case c.fw.Name == "hybrid-adaptive":
		lft, err := c.routes.AdaptiveTables(ctx)
		if err != nil {
			return nil, err
		}
		out.program = &tables.Program{Tables: lft}
	default:
		p, err := subnet.ProgramOf(ctx, c.fw, r)
		if err != nil {
			return nil, err
		}
		out.program = &p
	}
	return out, nil
}

var _ computer = (*ddrc)(nil)

// Routing is the routing, by name, that a fabric runs for this method to be able to replace its
// tables, and whether that is another than it was asked for: rules of up/down routing are run as
// tables that decide alike.
func (m Method) Routing(name string) (routing string, other bool) {
	if name == "updown" && m.On() {
		return "ftree", true
	}
	return name, false
}

func unchosen(ctx context.Context) error {
	return fmt.Errorf("no method is chosen: %w", context.Cause(ctx))
}

// For is the method by which a routing is managed unless one is named: none where it has no tables,
// or its rules go round what is dead themselves; ddrc in fat trees; dqr for deterministic tables;
// direct where NICs write the way, static as its paper has it; and otherwise the engine again.
// Where dqr cannot keep what the tables do it is none, and why says so; that ctx has ended too.
func For(ctx context.Context, routing string, g *topology.Graph) (m Method, why error) {
	e, err := subnet.ByName(routing)
	switch {
	case err != nil:
		return Method{Kind: None}, nil
	case e.Mechanisms != nil && *e.Mechanisms != direct.Mechanisms{}:
		return Method{Kind: Direct}, nil
	case e.Routes == nil, subnet.IsFromManager(routing): // or somebody else manages it
		return Method{Kind: None}, nil
	}
	fw, _, err := e.New(ctx, g)
	switch {
	case err != nil && ctx.Err() != nil:
		return Method{Kind: None}, unchosen(ctx)
	case err != nil:
		return Method{Kind: None}, nil
	}
	switch {
	case fw.Programmed == nil:
		return Method{Kind: None}, nil
	case fw.Program.Assignment == nil, e.Name == "ftree": // local re-routing beneath up/down tables, or these alone
		return Method{Kind: DDRC}, nil
	}
	r, err := e.Routes(ctx, g)
	switch {
	case ctx.Err() != nil:
		return Method{Kind: None}, unchosen(ctx)
	case err != nil:
		return Method{Kind: None}, nil
	case r.Kind == layered.Deterministic:
		if _, err := dqr.New(ctx, r, dqr.Options{}); err != nil {
			return Method{Kind: None}, fmt.Errorf("method %s: %w", DQR, err)
		}
		return Method{Kind: DQR}, nil
	}
	return Method{Kind: Engine}, nil
}
