package firmware

import (
	"errors"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// AdaptiveLink is R^link_adaptive of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in
// Fat Trees, section VII.A, with its ambiguities resolved (docs/reference/routing/trees.md): it
// connects every pair with up to k-1 dead links in every switch group while faults only come. One
// virtual channel. The way up is any live up port; a U-turn switch keeps in its re-route vector
// which up ports packets have come back by, and sends re-routed packets up the others.
//
// No deadlock with up to k-1 faults as long as a blocked packet goes on waiting for all its
// candidates, as the pipeline does; beyond, some fault sets can deadlock.
type AdaptiveLink struct {
	// Vector is VectorPerSwitch, as printed, or VectorPerDigit. With the vector in the header it
	// would be [MisrouteVector].
	Vector Vector
	// VectorTimeout is the period of U-turn inactivity after which a switch zeroes its vector, so
	// that links that have come back are used again. 0 means DefaultVectorTimeout. It should exceed
	// the time a packet spends in the fabric.
	VectorTimeout weft.Time
}

const (
	rule1Adaptive = "1: any live up port"
	rule3Adaptive = "4: U-turn, an up port not in the re-route vector"
	rule5Adaptive = "5: every up port is dead or in the re-route vector"
)

// Firmware is the firmware.
func (a AdaptiveLink) Firmware() Firmware {
	return Firmware{
		Name: "adaptive-link", On: Trees, VCs: 1, Tolerance: Tolerance{Links: true},
		About: "fat trees: adaptive, re-routes around dead links with a re-route vector in the switch " +
			"(R^link_adaptive)",
		Route: a.route, Check: a.check, Registers: a.registers,
		// The decision depends on the arrival, on which links are dead and on the re-route vector, so
		// a stranded packet waits for just what one that came by the same channel and is still in the
		// input queue waits for. The paper's proof (appendix, section G) has the latter wait for any
		// of its candidates, at any time: what it shows for up to k-1 dead links, no set of queues
		// that wait for each other only, therefore holds with requeue, and the stranded packets' own
		// queues are no part of such a set, as no candidate is dead.
		CheckRequeue: mayRequeue, DestinationBased: true, Notifies: true,
		// Every choice is offered. With a vector per digit the registers are renumbered like the
		// values of the digit.
		Symmetric: true, Vectors: true,
	}
}

// AdaptiveLinkDigit is AdaptiveLink with a vector per digit.
func AdaptiveLinkDigit() Firmware {
	f := AdaptiveLink{Vector: VectorPerDigit}.Firmware()
	f.Name = "adaptive-link-digit"
	f.About = "fat trees: adaptive-link with one re-route vector per value of the digit that the U-turn mends"
	return f
}

func (a AdaptiveLink) check(place *weft.Place, vcs int) error {
	if a.Vector > VectorPerDigit {
		return errors.New("keeps its vector in the switch, not in the header: misroute-vector does that")
	}
	return checkVector(place, vcs)
}

func (a AdaptiveLink) registers(place *weft.Place) []Register {
	if place.Tree.Tier == 0 {
		return a.Vector.registers(place, a.VectorTimeout)
	}
	return a.Vector.registers(place, a.VectorTimeout, digitAbove(place.Tree, 1))
}

func (a AdaptiveLink) route(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	switch {
	case t.HasDown(pkt.Dst):
		return adaptiveDown(pkt, at, sw, pkt.Fields)
	case at.From != weft.RoleUp:
		return many(ups(sw, t, 0, at.VC, pkt.Fields), rule1Adaptive, switching.Straight, ruleNoUp)
	}
	slot := 0
	if a.Vector == VectorPerDigit {
		slot = digitAbove(t, 1).value(t, pkt.Dst)
	}
	return notify(a.Vector.uturn(pkt, at, sw, slot, rule3Adaptive, rule5Adaptive))
}
