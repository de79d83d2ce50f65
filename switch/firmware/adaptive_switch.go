package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// AdaptiveSwitch is R^switch_adaptive of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance
// in Fat Trees, section VII.B, with its ambiguities resolved (docs/reference/routing/trees.md): it
// connects every pair with up to k-1 dead links and switches of the tiers above the leaves, while
// faults only come. One virtual channel.
//
// A packet goes around a dead switch by two tiers down and up again. The header's port field tells
// on the way down which of the two tiers it is in, and on the way back from a second dead link by
// which port to return to the U-turn switch, whose re-route vector says which up ports are left. No
// deadlock with up to k-1 faults, as with [AdaptiveLink].
type AdaptiveSwitch struct {
	// Vector says where the re-route vector is; as printed, one per switch.
	Vector Vector
	// VectorTimeout is as in [AdaptiveLink]. A vector in the header needs none.
	VectorTimeout weft.Time
}

const (
	rule4aSecond     = "4a: down the second tier"
	rule4bAdaptive   = "4b: U-turn, an up port not in the re-route vector"
	rule4dReturn     = "4d: back to the U-turn switch"
	rule4dReturnDied = "4d: down the second tier, the port field's port has just died"
	rule6SecondUp    = "6: any live up port, the second tier up"
	rule7Adaptive    = "7: every up port is dead or in the re-route vector"
)

// Firmware is the firmware.
func (a AdaptiveSwitch) Firmware() Firmware {
	return Firmware{
		Name: "adaptive-switch", On: Trees, VCs: 1, Tolerance: Tolerance{Links: true, Switches: true},
		About: "fat trees: adaptive, re-routes around dead switches and links with a re-route vector in the switch " +
			"(R^switch_adaptive)",
		Route: a.route, Check: checkVector, Registers: a.registers,
		// As for AdaptiveLink. The decision also depends on the port field and perhaps on the header's
		// vector: a stranded packet has those it came with.
		CheckRequeue: mayRequeue, DestinationBased: true, Notifies: true,
		// Every choice is offered. The port field is renumbered like the down ports of the switch that
		// set it, the vector like the up ports of the U-turn switch.
		Symmetric: true, Vectors: true,
	}
}

// AdaptiveSwitchDigit is AdaptiveSwitch with a vector per digit.
func AdaptiveSwitchDigit() Firmware {
	f := AdaptiveSwitch{Vector: VectorPerDigit}.Firmware()
	f.Name = "adaptive-switch-digit"
	f.About = "fat trees: adaptive-switch with one re-route vector per value of the digit that the U-turn mends"
	return f
}

// AdaptiveSwitchHeader is AdaptiveSwitch with the vector in the header.
func AdaptiveSwitchHeader() Firmware {
	f := AdaptiveSwitch{Vector: VectorInHeader}.Firmware()
	f.Name, f.About = "adaptive-switch-header", "fat trees: adaptive-switch with the re-route vector in the header"
	return f
}

// mends lists the digits that U-turns at a switch mend: that of the dead switch's tier, two above,
// and at the leaves also that of the tier above, as a dead link just above the leaves is gone
// around by one tier.
func mends(t *weft.Tree) (digits [2]digit, n int) {
	if t.Leaf() && t.Tier >= 1 {
		digits[n] = digitAbove(t, 1)
		n++
	}
	if t.Tier >= 2 {
		digits[n] = digitAbove(t, 2)
		n++
	}
	return digits, n
}

func (a AdaptiveSwitch) registers(place *weft.Place) []Register {
	digits, n := mends(place.Tree)
	return a.Vector.registers(place, a.VectorTimeout, digits[:n]...)
}

// slot is the register for d: of the first digit in which d differs from the switch.
func (a AdaptiveSwitch) slot(t *weft.Tree, d weft.NICID) int {
	if a.Vector != VectorPerDigit {
		return 0
	}
	digits, n := mends(t)
	k := uint32(t.K)
	if t.Leaf() && n == 2 && t.Number(d)/t.Above/k != t.Prefix/k {
		return digits[0].values + digits[1].value(t, d)
	}
	return digits[0].value(t, d)
}

func (a AdaptiveSwitch) route(pkt *weft.Header, at Arrival, sw View) Decision {
	t, pf := sw.Place().Tree, pkt.PortField
	f := pkt.Fields
	switch {
	case t.HasDown(pkt.Dst):
		f.PortField = weft.PortFieldNone
		if a.Vector == VectorInHeader {
			f.Misroute = 0
		}
		return adaptiveDown(pkt, at, sw, f)
	case at.From != weft.RoleUp:
		return secondUp(pkt, at, sw)
	case aimed(t, f):
		return secondDownAgain(pkt, at, sw)
	case pf == weft.PortFieldNone && !t.Leaf():
		f.PortField = weft.PortFieldDown
		return many(downs(sw, t, weft.NoPort, at.VC, f), rule4aSecond, switching.Reroute, ruleNoDown)
	case turns(t, pf):
		return notify(a.Vector.uturn(pkt, at, sw, a.slot(t, pkt.Dst), rule4bAdaptive, rule7Adaptive))
	}
	return switching.Discard(ruleNever)
}

// turns reports whether a switch with no way down is a U-turn switch for a packet with this port
// field, which is two tiers below the dead link, or one if that is just above the leaves.
func turns(t *weft.Tree, pf int16) bool {
	return t.Leaf() && pf == weft.PortFieldNone || t.Tier >= 2 && pf == weft.PortFieldDown
}

// secondUp is rules 1 and 6: up by any port, remembering the way back if the packet comes from a
// U-turn switch.
func secondUp(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	switch pkt.PortField {
	case weft.PortFieldNone:
		return many(ups(sw, t, 0, at.VC, pkt.Fields), rule1Adaptive, switching.Straight, ruleNoUp)
	case weft.PortFieldDown:
		f := withPort(pkt.Fields, int16(at.Port))
		return many(ups(sw, t, 0, at.VC, f), rule6SecondUp, switching.Reroute, ruleNoUp)
	}
	return switching.Discard(ruleNever)
}

// secondDownAgain is rule 4d: back to the U-turn switch by the port that the port field names.
func secondDownAgain(pkt *weft.Header, at Arrival, sw View) Decision {
	t, back := sw.Place().Tree, weft.PortID(pkt.PortField)
	f := withPort(pkt.Fields, weft.PortFieldDown)
	if sw.PortUp(back) {
		return switching.To(sw, back, at.VC, f, rule4dReturn).As(switching.Reroute)
	}
	return many(downs(sw, t, back, at.VC, f), rule4dReturnDied, switching.Reroute, ruleNoDown)
}
