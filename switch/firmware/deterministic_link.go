package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// DeterministicLink is R^link_deterministic of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault
// Tolerance in Fat Trees, section VI.A, with its ambiguities resolved
// (docs/reference/routing/trees.md): it connects every pair with up to k-1 dead links in every
// switch group. Two virtual layers: packets travel in the normal layer, and from a U-turn on in the
// re-routing layer, in which the U-turn switch resumes the testing sequence D after the port the
// packet came back by. Every hop raises the channel's number in the paper's numbering, whatever
// links are dead, so there is no deadlock.
func DeterministicLink() Firmware {
	return Firmware{
		Name: "deterministic-link", On: Trees, VCs: 2, Tolerance: Tolerance{Links: true},
		About: "fat trees: deterministic, re-routes around dead links in a second virtual layer (R^link_deterministic)",
		Route: deterministicLink, Check: checkUniform, ChannelNumber: linkNumberInD,
		// Theorem 1 of the paper says of any packet that its next channel has a higher number than the
		// one it came by, whatever links are dead at that moment. A stranded packet goes on from the
		// channel it came by; the dead one in which it waits meanwhile is waited for by nobody.
		CheckRequeue: mayRequeue, DestinationBased: true, Cyclic: true, Notifies: true,
	}
}

// The virtual layers of DeterministicLink.
const (
	normalLayer  weft.VC = 0 // NL
	rerouteLayer weft.VC = 1 // ML
)

const (
	ruleRerouted    = "2: down, re-routing finished"
	rule2a          = "2a: another down port"
	rule2First      = "2: first bounce, back to the same lower switch"
	rule2FirstOther = "2: first bounce, another down port"
	rule2b          = "2b: back to the same lower switch"
	rule2bDied      = "2b: another down port, the arrival port has just died"
	rule3a          = "3a: U-turn, first up port of D"
	rule3b          = "3b: U-turn, next up port of D"
	rule4           = "4: every up port of D has been tried"
)

// linkNumberInD is the numbering of the paper's section VI.C.
func linkNumberInD(place *weft.Place, p weft.PortID, vc weft.VC) int {
	return linkNumber(place.Tree, p, vc, upperDigit(place.Tree, p))
}

// linkNumber is the number of the channel of Theorem 1 of the paper (section VI.C) that leaves a
// switch by a port, when the upper end of its link has index i in D.
func linkNumber(t *weft.Tree, p weft.PortID, vc weft.VC, i int) int {
	s, up := linkTier(t, p)
	base := t.N - 1 + s*(2*t.K+1)
	switch {
	case vc == normalLayer && up:
		return t.N - 2 - s
	case vc == normalLayer:
		return base
	case up:
		return base + 2*i + 1
	}
	return base + 2*i + 2
}

func deterministicLink(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	above := at.From == weft.RoleUp
	if !t.HasDown(pkt.Dst) {
		switch {
		case !above:
			return goUp(sw, t, pkt.Dst, normalLayer, &pkt.Fields)
		case at.VC == normalLayer:
			p := firstLiveUp(sw, t, 0, at.Port)
			return notify(one(sw, p, rerouteLayer, &pkt.Fields, rule3a, switching.UTurn, rule4))
		default:
			p := firstLiveUp(sw, t, t.UpIndex(at.Port)+1, weft.NoPort)
			return notify(one(sw, p, rerouteLayer, &pkt.Fields, rule3b, switching.UTurn, rule4))
		}
	}

	dp := t.DownPort(pkt.Dst)
	if sw.PortUp(dp) {
		switch {
		case at.VC == normalLayer:
			return switching.To(sw, dp, normalLayer, pkt.Fields, ruleDown)
		case above:
			return switching.To(sw, dp, normalLayer, pkt.Fields, ruleRerouted)
		default:
			return switching.To(sw, dp, rerouteLayer, pkt.Fields, ruleDown)
		}
	}
	if t.Leaf() {
		return switching.Discard(ruleNodeDead)
	}
	switch {
	case above:
		return one(sw, otherDown(sw, t, dp), normalLayer, &pkt.Fields, rule2a, switching.Reroute, ruleNoOtherDown)
	case at.VC == normalLayer && sw.PortUp(at.Port):
		return one(sw, at.Port, normalLayer, &pkt.Fields, rule2First, switching.Reroute, ruleNoOtherDown)
	case at.VC == normalLayer:
		return one(sw, otherDown(sw, t, dp), normalLayer, &pkt.Fields, rule2FirstOther, switching.Reroute,
			ruleNoOtherDown)
	case sw.PortUp(at.Port):
		return one(sw, at.Port, rerouteLayer, &pkt.Fields, rule2b, switching.Reroute, ruleNoOtherDown)
	default:
		return one(sw, otherDown(sw, t, dp), rerouteLayer, &pkt.Fields, rule2bDied, switching.Reroute, ruleNoOtherDown)
	}
}
