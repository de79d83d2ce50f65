package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// DeterministicSwitchOne is [DeterministicSwitch] for one dead switch or link, as the end of the
// fat-tree paper's section VI.B has it: one bit in the header, that a packet is on its way down the
// second tier (weft.PortFieldDown), and no way back to the same U-turn switch, as the first try
// succeeds.
//
// One virtual channel is enough, for the reason given at [AdaptiveSwitchOne]: it holds whichever
// ports are chosen. With two faults packets can deadlock, or go around between them for ever: one
// such ends as looping when it has crossed weft.MaxHops switches.
func DeterministicSwitchOne() Firmware {
	return Firmware{
		Name: "deterministic-switch-one", On: Trees,
		VCs: 1, Tolerance: Tolerance{Links: true, Switches: true, One: true},
		About: "fat trees: deterministic-switch for one dead switch or link, with one bit in the header and one layer",
		Route: deterministicSwitchOne, Check: checkUniform,
		// As for DeterministicLinkOne; a stranded packet has the header's bit it came with.
		CheckRequeue: mayRequeue, DestinationBased: true, Cyclic: true, Notifies: true,
	}
}

const rule4bFirstLive = "4b: U-turn, the first other up port"

func deterministicSwitchOne(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	first := withPort(pkt.Fields, weft.PortFieldNone)
	switch {
	case t.HasDown(pkt.Dst):
		return sameDown(pkt, at, sw, first)
	case at.From != weft.RoleUp:
		return goUp(sw, t, pkt.Dst, at.VC, &pkt.Fields)
	case pkt.PortField == weft.PortFieldNone && !t.Leaf():
		second := withPort(pkt.Fields, weft.PortFieldDown)
		return one(sw, anyDown(sw, t, pkt.Dst), at.VC, &second, rule4aSecond, switching.Reroute, ruleNoDown)
	case turns(t, pkt.PortField):
		p := firstLiveUp(sw, t, 0, at.Port)
		return notify(one(sw, p, at.VC, &first, rule4bFirstLive, switching.UTurn, rule5NoOther))
	}
	return switching.Discard(ruleNever)
}
