package firmware

import (
	"fmt"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// Layered forwards by tables over (in port, virtual layer, address): a deterministic, layered
// routing function R of Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular Networks
// (definitions 3 and 8). The NIC chooses address and layer as T and A have it, and the packet stays
// in its layer as the tables have it (see [SameVC]). A packet without an entry is discarded, and so
// is one whose link is dead.
//
// It is as free of deadlock as its tables are (theorem 2 of the paper), whatever is dead: a packet
// that is discarded waits for nobody. Tables that loop do not keep a packet for ever, see MostHops.
type Layered struct {
	Tables     *tables.Tables
	Assignment *tables.Assignment
}

const ruleUnassigned = "table: no layer is assigned to this pair"

// Check implements [Checker].
func (f Layered) Check(place *weft.Place, vcs int) error {
	return checkLayered("layered", f.Tables, f.Assignment, place, vcs)
}

func checkLayered(name string, t *tables.Tables, a *tables.Assignment, place *weft.Place, vcs int) error {
	if err := t.Check(name, place, vcs); err != nil {
		return err
	}
	if a == nil {
		return fmt.Errorf("firmware %s has no traffic assignment, which says in which layers NICs send: give it that of its tables", name)
	}
	return nil
}

// CheckRequeue implements [Requeuer]: packets may be routed a second time. They are sent to the
// same link, and discarded if it is dead.
func (Layered) CheckRequeue(*weft.Place) error { return nil }

// DestinationBased implements [switching.DestinationBased]: where a packet comes from a NIC, that
// is known by the switch.
func (Layered) DestinationBased() {}

// Addresses implements [Assigner].
func (f Layered) Addresses(leaf *weft.Place, at weft.PortID, dst weft.NICID) []weft.Address {
	return f.Assignment.From(leaf.Switch, at, dst)
}

// MostHops implements [Bounded]: twice the number of switches. A way that goes up and then down,
// each along an order of the switches, crosses fewer, and so does one that comes to no switch
// twice.
func (f Layered) MostHops() int { return f.Tables.MostHops() }

// Route implements [Firmware].
func (f Layered) Route(pkt *weft.Header, at Arrival, sw View) (d Decision) {
	place := sw.Place()
	hops := f.Tables.Choices(place.Switch, pkt.Dst, pkt.Path, at.Port, at.VC)
	if len(hops) == 0 || hops[0].Port == weft.NoPort {
		return switching.Discard(ruleNoEntry)
	}
	hop := hops[0]
	switch {
	case !sw.PortUp(hop.Port):
		return switching.Discard(ruleTableDead)
	case at.From == weft.RoleNIC && leavesBy(f.Assignment, place, at.Port, pkt.Dst, hop.Port):
		return switching.Discard(ruleUnassigned)
	}
	d.Candidates, d.Rule = only(sw, hop.Port, hop.In(at.VC), &pkt.Fields), ruleTable
	return d
}

// leavesBy reports whether a packet from the NIC at port in is to go to another switch by port p
// though no layer is assigned to it: T is undefined for it, and the dependencies that it would add
// have not been looked at.
func leavesBy(a *tables.Assignment, place *weft.Place, in weft.PortID, d weft.NICID, p weft.PortID) bool {
	return len(a.From(place.Switch, in, d)) == 0 && place.Roles[p] != weft.RoleNIC
}

// waysBy appends to list the hops of tables t for a packet that came in by a port in a layer, those
// of live links only, as candidates of a class. It reports false when there is no hop at all, dead
// or alive.
func waysBy(t *tables.Tables, list []Candidate, pkt *weft.Header, sw View, in weft.PortID, layer weft.VC, class uint8) (_ []Candidate, entry bool) {
	for _, h := range t.Choices(sw.Place().Switch, pkt.Dst, pkt.Path, in, layer) {
		if h.Port == weft.NoPort {
			continue
		}
		entry = true
		if sw.PortUp(h.Port) {
			list = append(list, Candidate{Port: h.Port, VC: h.In(layer), Class: class, Fields: pkt.Fields})
		}
	}
	return list, entry
}

// enteringBy is the in port by which tables t are asked for a packet that goes on in a layer: its
// own, unless it comes there from another layer and the tables tell layers apart.
func enteringBy(t *tables.Tables, at Arrival, layer weft.VC) weft.PortID {
	if t.PerLayer() && layer != at.VC && at.From != weft.RoleNIC {
		return weft.NoPort
	}
	return at.Port
}
