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
type AdaptiveLinkOne struct {
	// Notify makes the discard of a packet that no up port leads on inform the packet's source.
	Notify bool
}

const (
	rule4AnyOther = "4: U-turn, any other up port"
	rule5NoOther  = "5: no other live up port"
)

// Check implements [Checker].
func (AdaptiveLinkOne) Check(place *weft.Place, vcs int) error {
	return checkVector("adaptive-link-one", place, vcs)
}

// CheckRequeue implements [Requeuer]: packets may be routed a second time, for the reason given at
// [AdaptiveLink.CheckRequeue], here with one dead link.
func (AdaptiveLinkOne) CheckRequeue(*weft.Place) error { return nil }

// DestinationBased implements [switching.DestinationBased].
func (AdaptiveLinkOne) DestinationBased() {}

// Symmetric implements [switching.Symmetric]: every choice is offered.
func (AdaptiveLinkOne) Symmetric() {}

// Route implements [Firmware].
func (f AdaptiveLinkOne) Route(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	switch {
	case t.HasDown(pkt.Dst):
		return adaptiveDown(pkt, at, sw, pkt.Fields)
	case at.From != weft.RoleUp:
		return many(ups(sw, t, 0, at.VC, pkt.Fields), rule1Adaptive, switching.Straight, ruleNoUp)
	}
	c := ups(sw, t, bit(t, at.Port), at.VC, pkt.Fields)
	return notify(many(c, rule4AnyOther, switching.UTurn, rule5NoOther), f.Notify)
}
