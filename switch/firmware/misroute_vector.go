package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// MisrouteVector is R_m of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance with
// Misrouting in Fat Trees, section 3.1: it connects every pair with up to k-1 dead links in every
// switch group, also after repairs, as the vector of the up ports that have been tried travels in
// the packet's header. One virtual channel; any live up port on the way up. A packet comes from a
// U-turn switch exactly when its vector is not zero.
//
// No deadlock with up to k-1 faults as long as a blocked packet goes on waiting for all its
// candidates, as the pipeline does; beyond, some fault sets can deadlock.
type MisrouteVector struct {
	// ResetWhenDied clears the vector of a packet that cannot go back to its U-turn switch because
	// the link there has just died, as printed. Otherwise it is kept, which is better: its bits
	// stand for upper switches that all lower switches of the group number alike, and they stay
	// tried.
	ResetWhenDied bool
}

const (
	rule2Misroute = "2: misrouted, another down port"
	rule4Misroute = "4: U-turn, an up port not in the misroute vector"
	rule5Back     = "5: back to the U-turn switch"
	rule5Died     = "5: misrouted, the link to the U-turn switch has just died"
	rule6Misroute = "6: every up port is dead or in the misroute vector"
)

// Firmware is the firmware.
func (m MisrouteVector) Firmware() Firmware {
	return Firmware{
		Name: "misroute-vector", On: Trees, VCs: 1, Tolerance: Tolerance{Links: true},
		About: "fat trees: adaptive, misroutes around dead links with a vector in the header (R_m)",
		Route: m.route, Check: checkVector,
		// As for AdaptiveLink. In place of the register there is the header's vector: a stranded packet
		// has the one it came with.
		CheckRequeue: mayRequeue, DestinationBased: true, Cyclic: true, Notifies: true,
		// Every choice is offered. The vector is renumbered like the up ports of the switch below the
		// one that the packet comes to, or at a U-turn like its own.
		Symmetric: true,
	}
}

func (m MisrouteVector) route(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	above := at.From == weft.RoleUp
	if !t.HasDown(pkt.Dst) {
		if above {
			return notify(VectorInHeader.uturn(pkt, at, sw, 0, rule4Misroute, rule6Misroute))
		}
		return many(ups(sw, t, 0, at.VC, pkt.Fields), rule1Adaptive, switching.Straight, ruleNoUp)
	}

	dp := t.DownPort(pkt.Dst)
	f := pkt.Fields
	switch {
	case sw.PortUp(dp):
		f.Misroute = 0
		return switching.To(sw, dp, at.VC, f, ruleDown)
	case t.Leaf():
		return switching.Discard(ruleNodeDead)
	case above || f.Misroute == 0:
		f.Misroute = 0 // it came closer to get here from above
		return many(downs(sw, t, dp, at.VC, f), rule2Misroute, switching.Reroute, ruleNoOtherDown)
	case sw.PortUp(at.Port):
		return switching.To(sw, at.Port, at.VC, f, rule5Back).As(switching.Reroute)
	}
	if m.ResetWhenDied {
		f.Misroute = 0
	}
	return many(downs(sw, t, dp, at.VC, f), rule5Died, switching.Reroute, ruleNoOtherDown)
}
