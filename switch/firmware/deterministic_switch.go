package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// DeterministicSwitch is R^switch_deterministic of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault
// Tolerance in Fat Trees, section VI.B, with its ambiguities resolved
// (docs/reference/routing/trees.md): it connects every pair with up to k-1 dead links and switches
// of the tiers above the leaves. A packet goes around a dead switch by two tiers down and up again;
// the header's port field tells the two tiers apart and leads back to the U-turn switch.
//
// Three virtual layers: NL, ML1 and ML2. Up: NL in the upward phase, ML1 out of a U-turn switch,
// ML2 above it. Down: from above ML2 to ML1 to NL; from below the layer is kept. Every hop raises
// the channel's number, whatever is dead, so there is no deadlock.
type DeterministicSwitch struct {
	// LeavesInML2 sends U-turns at the leaves around a link just above them up in ML2, so that the
	// tier above follows rules 2a and 3b as printed. It needs channel numbers that the paper does
	// not define and tolerates slightly more beyond k-1. Otherwise such packets go up in ML1 and
	// keep it.
	LeavesInML2 bool
}

// The virtual layers of DeterministicSwitch above the normal one.
const (
	rerouteLayer1 weft.VC = 1 // ML1
	rerouteLayer2 weft.VC = 2 // ML2
)

const (
	rule2aSwitch      = "2a: down, past the fault"
	rule2bSwitch      = "2b: down, from ML2 to ML1"
	rule2cSwitch      = "2c: down, from ML1 to NL"
	rule2dSwitch      = "2d: down"
	rule2Kept         = "2: down, past the fault just above the leaves"
	rule3aiSwitch     = "3a.i: another down port, from ML2 to ML1"
	rule3aiiSwitch    = "3a.ii: another down port"
	rule3First        = "3: first bounce, back to the same lower switch"
	rule3FirstOther   = "3: first bounce, another down port"
	rule3bSwitch      = "3b: back to the same lower switch"
	rule3bSwitchDied  = "3b: another down port, the arrival port has just died"
	rule4biSwitch     = "4b.i: U-turn, first up port of D"
	rule4biiSwitch    = "4b.ii: U-turn, next up port of D"
	rule4biiiSwitch   = "4b.iii: every up port of D has been tried"
	rule4cReturn      = "4c: back to the U-turn switch"
	rule4cReturnDied  = "4c: down the second tier, the port field's port has just died"
	rule5SecondUp     = "5: up, the second tier"
	rule5SecondUpElse = "5: up, the second tier, the default port is dead"
)

// Firmware is the firmware.
func (f DeterministicSwitch) Firmware() Firmware {
	return Firmware{
		Name: "deterministic-switch", On: Trees, VCs: 3, Tolerance: Tolerance{Links: true, Switches: true},
		About: "fat trees: deterministic, re-routes around dead switches and links in two more virtual layers " +
			"(R^switch_deterministic)",
		Route: f.route, Check: checkUniform, ChannelNumber: switchNumber,
		// The next channel of any packet has a higher number than the one it came by, whatever is dead
		// at that moment. A stranded packet goes on from the channel it came by, with the port field it
		// came with; the dead channel in which it waits meanwhile is waited for by nobody.
		CheckRequeue: mayRequeue, DestinationBased: true, Cyclic: true, Notifies: true,
	}
}

// switchNumber is the numbering of the paper's appendix. ML2 of a link is numbered with the tier
// below, whose U-turn switch it serves. With LeavesInML2 the links above the leaves have ML2 above
// all their other numbers.
func switchNumber(place *weft.Place, p weft.PortID, vc weft.VC) int {
	t := place.Tree
	s, up := linkTier(t, p)
	base := func(s int) int { return t.N - 1 + s*(4*t.K+1) }
	switch {
	case vc == normalLayer && up:
		return t.N - 2 - s
	case vc == normalLayer:
		return base(s)
	case vc == rerouteLayer1 && up:
		return base(s) + 4*upperDigit(t, p) + 1
	case vc == rerouteLayer1:
		return base(s) + 4*upperDigit(t, p) + 4
	}
	down := 1
	if up {
		down = 0
	}
	if s+1 > t.N-2 {
		return base(s) + 4*t.K + 1 + 2*upperDigit(t, p) + down
	}
	return base(s+1) + 4*t.W[s+1] + 2 + down
}

func (f DeterministicSwitch) route(pkt *weft.Header, at Arrival, sw View) Decision {
	switch t := sw.Place().Tree; {
	case t.HasDown(pkt.Dst):
		return f.down(pkt, at, sw)
	case at.From == weft.RoleUp:
		return f.noWayDown(pkt, at, sw)
	case at.VC == normalLayer && pkt.PortField == weft.PortFieldNone:
		return goUp(sw, t, pkt.Dst, normalLayer, &pkt.Fields)
	case at.VC == rerouteLayer1 && pkt.PortField == weft.PortFieldDown:
		p, turn := upFor(sw, t, pkt.Dst)
		rule := rule5SecondUp
		if turn != switching.Straight {
			rule = rule5SecondUpElse
		}
		f := withPort(pkt.Fields, int16(at.Port))
		return one(sw, p, rerouteLayer2, &f, rule, switching.Reroute, ruleNoUp)
	}
	return switching.Discard(ruleNever)
}

// down is rules 2 and 3, for packets whose destination is below.
func (DeterministicSwitch) down(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	above := at.From == weft.RoleUp
	out := at.VC // from below
	if above {
		out = normalLayer
		if at.VC == rerouteLayer2 {
			out = rerouteLayer1
		}
	}

	dp := t.DownPort(pkt.Dst)
	done := withPort(pkt.Fields, weft.PortFieldNone)
	if sw.PortUp(dp) {
		rule := rule2dSwitch
		switch {
		case at.VC == rerouteLayer2 && above:
			rule = rule2bSwitch
		case at.VC == rerouteLayer2:
			rule = rule2aSwitch
		case at.VC == rerouteLayer1 && above:
			rule = rule2cSwitch
		case at.VC == rerouteLayer1:
			rule = rule2Kept
		}
		return switching.To(sw, dp, out, done, rule)
	}
	if t.Leaf() {
		return switching.Discard(ruleNodeDead)
	}
	if above {
		rule := rule3aiiSwitch
		if at.VC == rerouteLayer2 {
			rule = rule3aiSwitch
		}
		return one(sw, otherDown(sw, t, dp), out, &done, rule, switching.Reroute, ruleNoOtherDown)
	}
	p, rule, died := at.Port, rule3bSwitch, rule3bSwitchDied
	if at.VC == normalLayer {
		rule, died = rule3First, rule3FirstOther
	}
	if !sw.PortUp(p) {
		p, rule = otherDown(sw, t, dp), died
	}
	return one(sw, p, out, &pkt.Fields, rule, switching.Reroute, ruleNoOtherDown)
}

// noWayDown is rule 4, for packets from above whose destination is not below.
func (f DeterministicSwitch) noWayDown(pkt *weft.Header, at Arrival, sw View) Decision {
	t, pf := sw.Place().Tree, pkt.PortField
	second := withPort(pkt.Fields, weft.PortFieldDown)
	leafML2 := f.LeavesInML2 && t.Leaf() && pf == weft.PortFieldNone
	switch {
	case at.VC == rerouteLayer2 && aimed(t, pkt.Fields):
		p, rule := weft.PortID(pf), rule4cReturn
		if !sw.PortUp(p) {
			p, rule = otherDown(sw, t, p), rule4cReturnDied
		}
		return one(sw, p, rerouteLayer1, &second, rule, switching.Reroute, ruleNoDown)
	case at.VC == rerouteLayer2 && !leafML2:
		return switching.Discard(ruleNever)
	case pf == weft.PortFieldNone && !t.Leaf():
		return one(sw, anyDown(sw, t, pkt.Dst), normalLayer, &second, rule4aSecond, switching.Reroute, ruleNoDown)
	case !turns(t, pf):
		return switching.Discard(ruleNever)
	}

	out := rerouteLayer1
	if leafML2 {
		out = rerouteLayer2
	}
	p, rule := firstLiveUp(sw, t, 0, at.Port), rule4biSwitch
	if at.VC == out { // it has been sent up from here before
		p, rule = firstLiveUp(sw, t, t.UpIndex(at.Port)+1, weft.NoPort), rule4biiSwitch
	}
	return notify(one(sw, p, out, &pkt.Fields, rule, switching.UTurn, rule4biiiSwitch))
}
