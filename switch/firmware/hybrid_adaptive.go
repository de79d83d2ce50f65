package firmware

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// HybridAdaptive is [Hybrid] with [AdaptiveLink] beneath it: one virtual channel, and a re-route
// vector in the switch. A packet going up may take any live up port, as there, and prefers those of
// the table whenever one of them has room. All else is AdaptiveLink's.
//
// A packet may go, and waits, where it may go and waits in AdaptiveLink, whatever the tables are,
// so what is known of that holds: it connects as many, and cannot deadlock with up to k-1 faults.
// Tables that left candidates out would need a proof of their own.
type HybridAdaptive struct {
	Tables *tables.Tables // up ports; other entries, and VCs, do not count
	Local  AdaptiveLink
}

const ruleTableUps = "1: up, by the table if there is room"

// Firmware is the firmware.
func (f HybridAdaptive) Firmware() Firmware {
	fw := f.Local.Firmware() // but for one thing, what it declares holds here too
	fw.Name = "hybrid-adaptive"
	fw.About = "fat trees: up by tables that a subnet manager replaces, around dead links as adaptive-link"
	fw.Route, fw.Check = f.route, alsoTables(fw.Check, f.Tables)
	fw.Symmetric, fw.Vectors = false, false // the table prefers some ports
	fw.Program = &tables.Program{Tables: f.Tables}
	fw.Programmed = func(p *tables.Program) Firmware {
		return HybridAdaptive{Tables: p.Tables, Local: f.Local}.Firmware()
	}
	return fw
}

func (f HybridAdaptive) route(pkt *weft.Header, at Arrival, sw View) Decision {
	d := f.Local.route(pkt, at, sw)
	place := sw.Place()
	if at.From == weft.RoleUp || place.Tree.HasDown(pkt.Dst) {
		return d
	}
	hops := f.Tables.Choices(place.Switch, pkt.Dst, 0, at.Port, normalLayer)
	preferred := func(k Candidate) bool {
		return slices.ContainsFunc(hops, func(h tables.Hop) bool { return h.Port == k.Port })
	}
	if slices.ContainsFunc(d.Candidates, preferred) {
		d.Rule = ruleTableUps
		for i := range d.Candidates {
			if !preferred(d.Candidates[i]) {
				d.Candidates[i].Class = 1
			}
		}
	}
	return d
}
