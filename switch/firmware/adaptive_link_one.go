package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// AdaptiveLinkOne is [AdaptiveLink] without the re-route vector, as the opening of the fat-tree
// paper's section VII has it for one dead link: a U-turn switch takes any live up port but the one
// the packet came back by, and all of these lead past the only fault. No state, one virtual
// channel.
//
// By Theorem 2 of the paper one dead link causes no deadlock. With two a packet can go around for
// ever between them: it ends as looping when it has crossed weft.MaxHops switches.
func AdaptiveLinkOne() Firmware {
	return Firmware{
		Name: "adaptive-link-one", On: Trees, VCs: 1, Tolerance: Tolerance{Links: true, One: true},
		About: "fat trees: adaptive-link for one dead link, without the re-route vector",
		Route: adaptiveLinkOne, Check: checkVector,
		CheckRequeue:     mayRequeue, // as for AdaptiveLink, here with one dead link
		DestinationBased: true, Notifies: true,
		Symmetric: true, // every choice is offered
	}
}

const (
	rule4AnyOther = "4: U-turn, any other up port"
	rule5NoOther  = "5: no other live up port"
)

func adaptiveLinkOne(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	switch {
	case t.HasDown(pkt.Dst):
		return adaptiveDown(pkt, at, sw, pkt.Fields)
	case at.From != weft.RoleUp:
		return many(ups(sw, t, 0, at.VC, pkt.Fields), rule1Adaptive, switching.Straight, ruleNoUp)
	}
	c := ups(sw, t, bit(t, at.Port), at.VC, pkt.Fields)
	return notify(many(c, rule4AnyOther, switching.UTurn, rule5NoOther))
}
