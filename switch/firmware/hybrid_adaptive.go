package firmware

import (
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
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

// Check implements [Checker].
func (f HybridAdaptive) Check(place *weft.Place, vcs int) error {
	if err := f.Local.Check(place, vcs); err != nil {
		return err
	}
	return f.Tables.Check("hybrid-adaptive", place, vcs)
}

// CheckRequeue implements [Requeuer], as for [AdaptiveLink].
func (HybridAdaptive) CheckRequeue(*weft.Place) error { return nil }

// DestinationBased implements [switching.DestinationBased].
func (HybridAdaptive) DestinationBased() {}

// Registers implements [Stateful].
func (f HybridAdaptive) Registers(place *weft.Place) []Register { return f.Local.Registers(place) }

// Program implements [tables.Programmed].
func (f HybridAdaptive) Program() tables.Program { return tables.Program{Tables: f.Tables} }

// Patched implements [tables.Programmed].
func (f HybridAdaptive) Patched(place *weft.Place, p *tables.Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return HybridAdaptive{Tables: r.Tables, Local: f.Local}, nil
}

// Route implements [Firmware].
func (f HybridAdaptive) Route(pkt *weft.Header, at Arrival, sw View) Decision {
	d := f.Local.Route(pkt, at, sw)
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
