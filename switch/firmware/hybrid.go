package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
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
	// Notify makes the discard of a packet that no up port leads on (rule 4) inform the packet's
	// source.
	Notify bool
}

const ruleTableUp = "1: up, by the table"

// Check implements [Checker].
func (f Hybrid) Check(place *weft.Place, vcs int) error {
	if err := checkTree("hybrid", place, vcs, 2); err != nil {
		return err
	}
	return f.Tables.Check("hybrid", place, vcs)
}

// CheckRequeue implements [Requeuer], for the reasons of [DeterministicLink].
func (Hybrid) CheckRequeue(*weft.Place) error { return nil }

// DestinationBased implements [switching.DestinationBased].
func (Hybrid) DestinationBased() {}

// ChannelNumber implements [Numbered], as [DeterministicLink] does.
func (Hybrid) ChannelNumber(place *weft.Place, p weft.PortID, vc weft.VC) int {
	return DeterministicLink{}.ChannelNumber(place, p, vc)
}

// Program implements [tables.Programmed].
func (f Hybrid) Program() tables.Program { return tables.Program{Tables: f.Tables} }

// Patched implements [tables.Programmed].
func (f Hybrid) Patched(place *weft.Place, p *tables.Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return Hybrid{Tables: r.Tables, Notify: f.Notify}, nil
}

// Route implements [Firmware].
func (f Hybrid) Route(pkt *weft.Header, at Arrival, sw View) Decision {
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
	return DeterministicLink{Notify: f.Notify}.Route(pkt, at, sw)
}
