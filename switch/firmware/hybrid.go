package firmware

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// Hybrid is up/down routing by tables with local re-routing beneath it: Sem-Jacobsen, Skeie, Lysne,
// Duato: Dynamic Fault Tolerance in Fat Trees, section IX.A. A packet goes up by the table, which a
// subnet manager computes anew without what is dead; whatever else may befall it is up to
// [DeterministicLink]: it goes down as there, is re-routed around a dead link as there, in the
// second layer, and goes up as there where the table's link is dead or the table has no way. So
// between a fault and the new tables no more is lost than without them, and with them packets go by
// shortest paths again.
//
// It can be numbered like DeterministicLink, whatever its tables are: on the way up in the normal
// layer the numbering looks at the tier only. So there is no deadlock in any mixture of old tables,
// new ones and packets being re-routed, whatever is dead. A packet that came down by old tables is
// never sent up by new ones: its U-turn is in the other layer, and by the rules.
type Hybrid struct {
	Tables *tables.Tables // up ports; other entries, and VCs, do not count
}

const ruleTableUp = "1: up, by the table"

// Firmware is the firmware.
func (f Hybrid) Firmware() Firmware {
	fw := DeterministicLink() // all that it declares holds here too
	fw.Name = "hybrid"
	fw.About = "fat trees: up by tables that a subnet manager replaces, around dead links as deterministic-link"
	fw.Route, fw.Check = f.route, alsoTables(fw.Check, f.Tables)
	fw.Program = &tables.Program{Tables: f.Tables}
	fw.Programmed = func(p *tables.Program) Firmware { return Hybrid{Tables: p.Tables}.Firmware() }
	return fw
}

// alsoTables is a check that asks for tables beside what another asks for.
func alsoTables(check func(*weft.Place, int) error, t *tables.Tables) func(*weft.Place, int) error {
	return func(place *weft.Place, vcs int) error {
		if err := check(place, vcs); err != nil {
			return err
		}
		return t.Check(place, vcs)
	}
}

func (f Hybrid) route(pkt *weft.Header, at Arrival, sw View) Decision {
	place := sw.Place()
	if at.From != weft.RoleUp && at.VC == normalLayer && !place.Tree.HasDown(pkt.Dst) {
		c := sw.Scratch()
		for _, h := range f.Tables.Choices(place.Switch, pkt.Dst, 0, at.Port, normalLayer) {
			if place.Tree.UpIndex(h.Port) >= 0 && sw.PortUp(h.Port) {
				c = append(c, Candidate{Port: h.Port, VC: normalLayer, Fields: pkt.Fields})
			}
		}
		if len(c) > 0 {
			return Decision{Candidates: c, Rule: ruleTableUp}
		}
	}
	return deterministicLink(pkt, at, sw)
}
