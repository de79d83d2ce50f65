package firmware

import (
	"fmt"
	"math/bits"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// Escaping forwards by tables with one escape layer: a packet takes any way in its adaptive layers,
// moving freely between them, and when none has room, the way of the escape layer, which it does
// not leave again (Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular Networks, section 8,
// which compares with Silla and Duato: High-Performance Routing in Networks of Workstations with
// Irregular Topology). The tables are per layer; a packet enters the escape layer as if it came
// from a NIC.
//
// It is free of deadlock if the escape layer is by itself and leads everywhere, however the
// adaptive layers are, since every packet in them may always escape (Duato). So one that cannot,
// because the links of its escape are dead, is discarded; and a packet must not wait for one of its
// ways only (switching.WaitForOne).
type Escaping struct {
	Tables     *tables.Tables
	Assignment *tables.Assignment
	Escape     weft.VC // the escape layer
}

const (
	ruleEscape     = "escape: any way in the adaptive layers, or the escape layer"
	ruleEscaped    = "escape: in the escape layer"
	ruleEscapeDead = "escape: every link of the escape layer is dead"
)

// Firmware is the firmware.
func (f Escaping) Firmware() Firmware {
	fw := byTables(f.Tables, f.Assignment)
	fw.Name, fw.About = "escaping", "any topology: by tables with several ways, and one escape layer"
	fw.Route = f.route
	fw.MostHops = fw.MostHops * 3 / 2 // the adaptive ways and then those of the escape layer
	fw.Programmed = func(p *tables.Program) Firmware {
		return Escaping{Tables: p.Tables, Assignment: p.Assignment, Escape: f.Escape}.Firmware()
	}
	check := fw.Check
	fw.Check = func(place *weft.Place, vcs int) error {
		if err := check(place, vcs); err != nil {
			return err
		}
		if !f.Tables.PerLayer() || int(f.Escape) >= f.Tables.VCs() {
			return fmt.Errorf("has tables without an escape layer %d: "+
				"make them per layer, for more virtual channels than %[1]d", f.Escape)
		}
		return nil
	}
	return fw
}

func (f Escaping) route(pkt *weft.Header, at Arrival, sw View) (d Decision) {
	d.Rule = ruleEscaped
	in, class := at.Port, uint8(0)
	adaptive := (pkt.Layers | 1<<at.VC) &^ (1 << f.Escape)
	switch {
	case at.VC == f.Escape && at.From != weft.RoleNIC:
		adaptive = 0
	case adaptive != 0:
		d.Rule, class = ruleEscape, 1
	}
	if at.VC != f.Escape {
		in = weft.NoPort
	}
	list, entry := waysBy(f.Tables, sw.Scratch(), pkt, sw, in, f.Escape, class)
	switch {
	case !entry:
		return switching.Discard(ruleNoEntry)
	case len(list) == 0:
		return switching.Discard(ruleEscapeDead)
	case at.From == weft.RoleNIC && leavesBy(f.Assignment, sw.Place(), at.Port, pkt.Dst, list[0].Port):
		return switching.Discard(ruleUnassigned)
	}
	for w := adaptive; w != 0; w &= w - 1 {
		layer := weft.VC(bits.TrailingZeros16(w))
		list, _ = waysBy(f.Tables, list, pkt, sw, enteringBy(f.Tables, at, layer), layer, 0)
	}
	d.Candidates = list
	return d
}
