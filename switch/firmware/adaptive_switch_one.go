package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// AdaptiveSwitchOne is [AdaptiveSwitch] for one dead switch or link, as the fat-tree paper has it
// at the end of section VI.B and the opening of VII: one bit in the header, that a packet is on its
// way down the second tier (weft.PortFieldDown), no vector, and no way back to the same U-turn
// switch, as the first try succeeds.
//
// One virtual channel is enough. Let the dead switch, or the lower end of the dead link, be at tier
// l+1 with digit l+1 = x. Every re-routed packet comes down to tier l+1 where that digit is x, and
// makes its U-turn below, by an up port other than x. From there, channels up and then down lead
// only to switches of tier l+1 whose digit is not x, and only U-turns lead from down to up again:
// nothing leads back to the channel into the U-turn switch. (A U-turn at the leaves changes digit
// n-2 of the upper switch in the same way.) So channel dependencies close no cycle, whichever ports
// are chosen.
func AdaptiveSwitchOne() Firmware {
	return Firmware{
		Name: "adaptive-switch-one", On: Trees, VCs: 1, Tolerance: Tolerance{Links: true, Switches: true, One: true},
		About: "fat trees: adaptive-switch for one dead switch or link, with one bit in the header and no vector",
		Route: adaptiveSwitchOne, Check: checkVector,
		// As for AdaptiveLink, here with one fault; a stranded packet has the header's bit it came with.
		CheckRequeue: mayRequeue, DestinationBased: true, Notifies: true,
		Symmetric: true, // every choice is offered
	}
}

func adaptiveSwitchOne(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	first := withPort(pkt.Fields, weft.PortFieldNone)
	switch {
	case t.HasDown(pkt.Dst):
		return adaptiveDown(pkt, at, sw, first)
	case at.From != weft.RoleUp:
		return many(ups(sw, t, 0, at.VC, pkt.Fields), rule1Adaptive, switching.Straight, ruleNoUp)
	case pkt.PortField == weft.PortFieldNone && !t.Leaf():
		second := withPort(pkt.Fields, weft.PortFieldDown)
		return many(downs(sw, t, weft.NoPort, at.VC, second), rule4aSecond, switching.Reroute, ruleNoDown)
	case turns(t, pkt.PortField):
		c := ups(sw, t, bit(t, at.Port), at.VC, first)
		return notify(many(c, rule4bAnyOther, switching.UTurn, rule5NoOther))
	}
	return switching.Discard(ruleNever)
}

const rule4bAnyOther = "4b: U-turn, any other up port"
