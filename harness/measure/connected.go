package measure

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/harness/verify"
)

// connected reports whether the routing leads every NIC to every other with all that is dead in the
// end, whichever choice a packet takes and whatever other packets have left in registers. It asks
// the checker, which runs the firmware. Pairs of a NIC whose switch is dead are not asked of, but
// by DDRC's tables, which know no such exception. What is told what is dead says it by itself.
func (n *network) connected(ctx context.Context, dead []death) (bool, error) {
	if n.reconfigured != nil {
		for _, d := range dead {
			n.leaveOut(d)
		}
		return n.reconfigured.connects(&n.dead)
	}
	if len(dead) == 0 {
		return true, nil
	}
	set := make([]verify.Element, len(dead))
	for i, d := range dead {
		set[i] = d.Element
	}
	c := verify.Config{Graph: n.graph, Firmware: n.firmware, Name: n.cfg.Routing, VCs: n.cfg.Switch.VCs}
	return Connects(ctx, c, set)
}

// Connects reports whether the firmware of c leads every NIC to every other while these are dead,
// whichever choice a packet takes. The rest of c is not looked at. Errors are those of
// [verify.Run], and ctx.Err() when ctx ends it.
func Connects(ctx context.Context, c verify.Config, dead []verify.Element) (bool, error) {
	for _, e := range dead {
		if !e.Switch && !c.Graph.Links[e.ID].BetweenSwitches() {
			return false, nil // the only link of a NIC
		}
	}
	c.Sets, c.Workers = verify.Sets{List: [][]verify.Element{dead}}, 1
	r, err := verify.Run(ctx, c)
	if err != nil {
		return false, fmt.Errorf("whether all pairs are connected: %w", err)
	}
	return r.Unconnected == 0 && r.Livelocks == 0, ctx.Err()
}
