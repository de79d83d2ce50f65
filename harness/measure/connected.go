package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
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
	found, err := n.judge(ctx, dead)
	return found.Connected, err
}

// judge asks the checker about the firmware with all that is dead in the end.
func (n *network) judge(ctx context.Context, dead []death) (Verdict, error) {
	set := make([]verify.Element, len(dead))
	for i, d := range dead {
		set[i] = d.Element
	}
	return Judge(ctx, n.cfg.Asked(n.firmware, 0), set)
}

// Asked is what the checker is asked about the firmware of a run, which needs so many virtual
// channels at least.
func (c *Config) Asked(fw firmware.Firmware, vcs int) verify.Config {
	return verify.Config{
		Graph: c.Topology, Name: c.Routing, Firmware: fw, VCs: max(c.Switch.VCs, vcs), FixedChoice: c.Switch.Waiting == "one",
	}
}

// Verdict is what the checker says of firmware with some links or switches dead.
type Verdict struct {
	Connected bool // every NIC is led to every other, whichever choice a packet takes
	Acyclic   bool // nothing can deadlock
}

// Judge asks the checker about the firmware of c while these are dead. The links of NICs may be
// among them. c.Sets and c.Workers are not looked at. Errors are those of [verify.Run], and
// ctx.Err() when ctx ends it.
func Judge(ctx context.Context, c verify.Config, dead []verify.Element) (v Verdict, err error) {
	set := slices.DeleteFunc(slices.Clone(dead), func(e verify.Element) bool {
		return !e.Switch && !c.Graph.Links[e.ID].BetweenSwitches()
	})
	c.Sets, c.Workers = verify.Sets{List: [][]verify.Element{set}}, 1
	r, err := verify.Run(ctx, c)
	if err != nil {
		return v, fmt.Errorf("whether all pairs are connected and packets can deadlock: %w", err)
	}
	v.Connected = len(set) == len(dead) && r.Unconnected == 0 && r.Livelocks == 0
	v.Acyclic = r.Deadlocks == 0 && r.Undecided == ""
	return v, ctx.Err()
}
