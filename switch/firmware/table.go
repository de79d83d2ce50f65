package firmware

import (
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// DeterministicTable is R^link_deterministic by forwarding tables, as Algorithm 1 fills them
// (Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees, appendix B): what a
// switch can do that only looks up destination, in port and in VC. It decides as
// [DeterministicLink] does, everywhere. Beside the look-up the switch does three things, all of
// them at a dead link:
//   - it takes another port in the right direction. The paper says when the packet is in NL; a
//     packet that comes down from above in ML leaves in NL, and this holds for it too;
//   - it sends a packet that came from below back by its port of arrival: in ML, and in NL as the
//     choice among the ports above;
//   - at a U-turn it goes on along the testing sequence to the next live port.
type DeterministicTable struct{ Tables *tables.Tables }

const ruleNoEntry = "table: no entry"

// Firmware is the firmware.
func (f DeterministicTable) Firmware() Firmware {
	return Firmware{
		Name: "deterministic-table", On: Trees, VCs: 2, Tolerance: Tolerance{Links: true},
		About: "fat trees: deterministic-link by forwarding tables (Algorithm 1)",
		Route: f.route, Check: alsoTables(checkUniform, f.Tables), ChannelNumber: f.number,
		CheckRequeue:     mayRequeue, // for the reasons of DeterministicLink
		DestinationBased: true, Notifies: true,
		Program: &tables.Program{Tables: f.Tables},
	}
}

// number is the numbering of Theorem 1 of the paper, as for [DeterministicLink], with the testing
// sequences of the tables for D.
func (f DeterministicTable) number(place *weft.Place, p weft.PortID, vc weft.VC) int {
	i := f.Tables.Rank(place.Switch)
	if place.Tree.UpIndex(p) >= 0 {
		i = slices.Index(f.Tables.Sequence(place.Switch), p)
	}
	return linkNumber(place.Tree, p, vc, i)
}

func (f DeterministicTable) route(pkt *weft.Header, at Arrival, sw View) Decision {
	place := sw.Place()
	t := place.Tree
	above := at.From == weft.RoleUp
	hop, ok := f.Tables.Lookup(place.Switch, pkt.Dst, at.Port, at.VC)
	up := t.UpIndex(hop.Port) >= 0
	switch {
	case ok && above && (up || hop.Port == weft.NoPort):
		return f.uTurn(pkt, at, sw, hop)
	case !ok || hop.Port == weft.NoPort:
		return switching.Discard(ruleNoEntry)
	case sw.PortUp(hop.Port):
		rule := ruleDown
		switch {
		case up:
			rule = ruleUp
		case hop.VC != at.VC:
			rule = ruleRerouted
		}
		return switching.To(sw, hop.Port, hop.VC, pkt.Fields, rule)
	case !up && t.Leaf():
		return switching.Discard(ruleNodeDead)
	}

	p, rule, none := f.detour(at, sw, hop, up)
	if p == weft.NoPort {
		return switching.Discard(none)
	}
	return switching.To(sw, p, hop.VC, pkt.Fields, rule).As(switching.Reroute)
}

// detour is the port that a packet takes instead of the dead one of its entry, and the rule; with
// NoPort the rule that discards it.
func (DeterministicTable) detour(at Arrival, sw View, hop tables.Hop, up bool) (p weft.PortID, rule, none string) {
	t := sw.Place().Tree
	if up {
		p = firstLiveUp(sw, t, t.UpIndex(hop.Port)+1, hop.Port)
		if p == weft.NoPort {
			p = firstLiveUp(sw, t, 0, hop.Port)
		}
		return p, ruleUpOther, ruleNoUp
	}
	p, rule = otherDown(sw, t, hop.Port), rule2a
	switch back := at.From != weft.RoleUp && sw.PortUp(at.Port); {
	case back && hop.VC == normalLayer:
		p, rule = at.Port, rule2First
	case back:
		p, rule = at.Port, rule2b
	case at.From != weft.RoleUp && hop.VC == normalLayer:
		rule = rule2FirstOther
	case at.From != weft.RoleUp:
		rule = rule2bDied
	}
	return p, rule, ruleNoOtherDown
}

// uTurn follows the testing sequence from the port of the table to the first that is live and not
// the port of arrival, where it would meet the dead link again.
func (f DeterministicTable) uTurn(pkt *weft.Header, at Arrival, sw View, hop tables.Hop) Decision {
	rule := rule3a
	if at.VC != normalLayer {
		rule = rule3b
	}
	d := f.Tables.Sequence(sw.Place().Switch)
	if i := slices.Index(d, hop.Port); i >= 0 {
		for _, p := range d[i:] {
			if p != at.Port && sw.PortUp(p) {
				return switching.To(sw, p, hop.VC, pkt.Fields, rule).As(switching.UTurn)
			}
		}
	}
	return Decision{Rule: rule4, Notify: true}
}
