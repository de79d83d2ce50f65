package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// DeterministicLinkOne is [DeterministicLink] for one dead link, as the end of the fat-tree paper's
// section VI.A has it: no second virtual layer and no testing sequence. Every packet that meets the
// dead link is sent down by the same other port, also one that came from below by another, so that
// there is one U-turn switch only, entered by one channel, and two are needed for a deadlock. The
// up port out of the U-turn is arbitrary, here the first live one.
//
// With two dead links packets can deadlock, or go around between them for ever: one such ends as
// looping when it has crossed weft.MaxHops switches.
func DeterministicLinkOne() Firmware {
	return Firmware{
		Name: "deterministic-link-one", On: Trees, VCs: 1, Tolerance: Tolerance{Links: true, One: true},
		About: "fat trees: deterministic-link for one dead link, without the second layer",
		Route: deterministicLinkOne, Check: checkUniform,
		// The decision depends on the arrival and on which links are dead, so a stranded packet waits
		// for what one does that came by the same channel and is still in the input queue, and no
		// candidate is dead: the channel dependencies stay those of one U-turn.
		CheckRequeue: mayRequeue, DestinationBased: true, Cyclic: true, Notifies: true,
	}
}

const (
	rule2Same      = "2: the same other down port for every packet"
	rule3FirstLive = "3: U-turn, the first other up port"
)

func deterministicLinkOne(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	if !t.HasDown(pkt.Dst) {
		if at.From != weft.RoleUp {
			return goUp(sw, t, pkt.Dst, at.VC, &pkt.Fields)
		}
		p := firstLiveUp(sw, t, 0, at.Port)
		return notify(one(sw, p, at.VC, &pkt.Fields, rule3FirstLive, switching.UTurn, rule5NoOther))
	}
	return sameDown(pkt, at, sw, pkt.Fields)
}

// sameDown sends a packet whose destination is below down with the given fields, if need be by the
// port that stands in for the dead one whatever the arrival.
func sameDown(pkt *weft.Header, at Arrival, sw View, f weft.Fields) Decision {
	t := sw.Place().Tree
	dp := t.DownPort(pkt.Dst)
	switch {
	case sw.PortUp(dp):
		return switching.To(sw, dp, at.VC, f, ruleDown)
	case t.Leaf():
		return switching.Discard(ruleNodeDead)
	}
	return one(sw, otherDown(sw, t, dp), at.VC, &f, rule2Same, switching.Reroute, ruleNoOtherDown)
}
