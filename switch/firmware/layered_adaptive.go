package firmware

import (
	"math/bits"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// LayeredAdaptive forwards by tables with several ways for (in port, virtual layer, address): a
// packet takes any that is live and has room, and moves freely between the layers in its header
// (Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular Networks, section 7 and theorem 3);
// without layers in its header it stays in the one that it is in.
//
// By theorem 3 it is as free of deadlock as its tables are without moving, since a packet may
// always stay in its layer. So one whose ways in its own layer are all dead is discarded, though
// others may be live: with those alone it would wait in one layer for another, which no table has
// been checked for. For the same reason a packet must not wait for one of its ways only
// (switching.WaitForOne).
type LayeredAdaptive struct {
	Tables     *tables.Tables
	Assignment *tables.Assignment
}

const (
	ruleTableAny   = "table: any way in its layers"
	ruleTableStays = "table: any way in its layer"
	ruleTablesDead = "table: every link in its layer is dead"
)

// Firmware is the firmware.
func (f LayeredAdaptive) Firmware() Firmware {
	fw := byTables(f.Tables, f.Assignment)
	fw.Name, fw.About = "layered-adaptive", "any topology: by tables with several ways, in any of a packet's layers"
	fw.Route = f.route
	fw.Programmed = func(p *tables.Program) Firmware {
		return LayeredAdaptive{Tables: p.Tables, Assignment: p.Assignment}.Firmware()
	}
	return fw
}

func (f LayeredAdaptive) route(pkt *weft.Header, at Arrival, sw View) (d Decision) {
	list, entry := waysBy(f.Tables, sw.Scratch(), pkt, sw, at.Port, at.VC, 0)
	others := pkt.Layers &^ (1 << at.VC)
	// nobody waits for a packet that comes from its NIC, so any layer will do
	if len(list) > 0 || at.From == weft.RoleNIC {
		for w := others; w != 0; w &= w - 1 {
			layer := weft.VC(bits.TrailingZeros16(w))
			var more bool
			list, more = waysBy(f.Tables, list, pkt, sw, enteringBy(f.Tables, at, layer), layer, 0)
			entry = entry || more
		}
	}
	switch {
	case !entry:
		return switching.Discard(ruleNoEntry)
	case len(list) == 0:
		return switching.Discard(ruleTablesDead)
	case at.From == weft.RoleNIC && leavesBy(f.Assignment, sw.Place(), at.Port, pkt.Dst, list[0].Port):
		return switching.Discard(ruleUnassigned)
	}
	d.Candidates, d.Rule = list, ruleTableAny
	if others == 0 {
		d.Rule = ruleTableStays
	}
	return d
}
