package measure

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// reconfigured makes what the switches and NICs of a run forward by, computed anew: the up/down
// tables of DDRC, or a routing that is told what is dead, see [subnet.Entry.Around].
type reconfigured struct {
	ctx     context.Context // of the run
	without func(dead *subnet.Dead) (switching.Firmware, error)
	// connects reports whether it leads every NIC to every other.
	connects func(dead *subnet.Dead) (bool, error)
	version  uint64 // of what was made last
}

// make computes it without what is dead.
func (r *reconfigured) make(dead *subnet.Dead) (switching.Firmware, error) {
	r.version++
	return r.without(dead)
}

// newUpDown is DDRC, for one tree.
func newUpDown(ctx context.Context, g *topology.Graph) (*reconfigured, error) {
	routes, err := subnet.NewUpDownRoutes(g)
	if err != nil {
		return nil, err
	}
	return &reconfigured{
		ctx: ctx,
		without: func(dead *subnet.Dead) (switching.Firmware, error) {
			routes.Compute(dead)
			t, err := routes.Tables(ctx)
			return firmware.Static{Tables: t}.Firmware(), err
		},
		connects: func(dead *subnet.Dead) (bool, error) { return routes.Compute(dead) == 0, nil },
	}, nil
}

// newAround is a routing that is told what is dead. That its ways lead where they should, the tests
// of the engine and of the firmware show, so no packet is followed here: whether they are complete
// is asked.
func newAround(ctx context.Context, e subnet.Entry, g *topology.Graph) *reconfigured {
	without := func(dead *subnet.Dead) (switching.Firmware, error) {
		fw, _, err := e.Around(ctx, g, dead)
		return fw, err
	}
	return &reconfigured{ctx: ctx, without: without, connects: func(dead *subnet.Dead) (bool, error) {
		fw, err := without(dead)
		if err != nil {
			return false, err
		}
		if fw.Program == nil || fw.Program.Ways == nil {
			return false, fmt.Errorf("measure: BUG: %s does not say for which pairs it knows no way", e.Name)
		}
		return joins(g, fw.Program.Ways, dead), nil
	}}
}

// joins reports whether every two NICs on live switches have live links and a way to each other.
func joins(g *topology.Graph, ways *tables.Ways, dead *subnet.Dead) bool {
	for i := range g.Links {
		if l := &g.Links[i]; !l.BetweenSwitches() && dead.HasLink(l.ID) {
			return false
		}
	}
	for s := range weft.SwitchID(len(g.Switches)) {
		for _, w := range ways.From(s) {
			if !w.Sub[0].Leads() && !dead.HasSwitch(s) && !dead.HasSwitch(w.Dst) {
				return false
			}
		}
	}
	return true
}

// reload has all switches and NICs forward by what does without what is dead by now, all at once.
func (n *network) reload() {
	if n.reconfigured == nil {
		return
	}
	fw, err := n.reconfigured.make(&n.dead)
	if err != nil && n.reconfigured.ctx.Err() != nil {
		return // the run ends
	}
	for i, sw := range n.switches {
		n.switchNodes[i].Do(func(now weft.Time, out *weft.Actions) {
			if err == nil {
				err = sw.Load(now, fw, n.reconfigured.version, out)
			}
		})
	}
	if err != nil {
		panic("measure: BUG: what was computed before cannot be computed again: " + err.Error())
	}
	n.firmware = fw
}
