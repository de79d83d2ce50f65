package measure

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/harness/verify"
)

// connected reports whether the routing leads every NIC to every other with all that is dead in the end, whichever choice a packet
// takes and whatever other packets have left in registers. It asks the checker, which runs the firmware. Pairs of a NIC whose
// switch is dead are not asked of, but by DDRC's tables, which know no such exception.
func (n *network) connected(ctx context.Context, dead []death) (bool, error) {
	if n.routes != nil {
		for _, d := range dead {
			n.bury(d)
		}
		n.reload()
		return n.routes.unroutable == 0, nil
	}
	if len(dead) == 0 {
		return true, nil
	}
	var set []verify.Element
	for _, d := range dead {
		e := verify.Element{Switch: d.isSwitch, ID: uint32(d.link)}
		if d.isSwitch {
			e.ID = uint32(d.sw)
		} else if !n.graph.Links[d.link].BetweenSwitches() {
			return false, nil // the only link of a NIC
		}
		set = append(set, e)
	}
	r, err := verify.Run(ctx, verify.Config{
		Graph: n.graph, Firmware: n.firmware, Name: n.cfg.Routing, VCs: n.vcs, Sets: verify.Sets{List: [][]verify.Element{set}}, Workers: 1,
	})
	if err != nil {
		return false, fmt.Errorf("whether all pairs are connected: %w", err)
	}
	return r.Unconnected == 0 && r.Livelocks == 0, ctx.Err()
}
