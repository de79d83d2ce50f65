package firmware

import (
	"errors"

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

// Firmware is the firmware.
func (f Layered) Firmware() Firmware {
	fw := byTables(f.Tables, f.Assignment)
	fw.Name, fw.About = "layered", "any topology: by tables over in port, virtual layer and address"
	fw.Route = f.route
	fw.Programmed = func(p *tables.Program) Firmware {
		return Layered{Tables: p.Tables, Assignment: p.Assignment}.Firmware()
	}
	return fw
}

// byTables is what the firmwares have in common that forward by such tables.
func byTables(t *tables.Tables, a *tables.Assignment) Firmware {
	return Firmware{
		Check: func(place *weft.Place, vcs int) error {
			if err := t.Check(place, vcs); err != nil {
				return err
			}
			if a == nil {
				return errors.New("has no traffic assignment, which says in which layers NICs send: " +
					"give it that of its tables")
			}
			return nil
		},
		// What a packet may do is up to its arrival and to which links are dead.
		CheckRequeue:     mayRequeue,
		DestinationBased: true, // where a packet comes from a NIC, that is known by the switch
		Addresses: func(leaf *weft.Place, at weft.PortID, dst weft.NICID) []weft.Address {
			return a.From(leaf.Switch, at, dst)
		},
		// A way that goes up and then down, each along an order of the switches, crosses fewer than
		// twice their number, and so does one that comes to no switch twice.
		MostHops: t.MostHops(),
		Program:  &tables.Program{Tables: t, Assignment: a},
	}
}

func (f Layered) route(pkt *weft.Header, at Arrival, sw View) (d Decision) {
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
func waysBy(t *tables.Tables, list []Candidate, pkt *weft.Header, sw View, in weft.PortID, layer weft.VC,
	class uint8,
) (_ []Candidate, entry bool) {
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
