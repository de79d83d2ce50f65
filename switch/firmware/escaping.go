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

// Check implements [Checker].
func (f Escaping) Check(place *weft.Place, vcs int) error {
	if err := checkLayered("escaping", f.Tables, f.Assignment, place, vcs); err != nil {
		return err
	}
	if !f.Tables.PerLayer() || int(f.Escape) >= f.Tables.VCs() {
		return fmt.Errorf("firmware escaping has tables without an escape layer %d: make them per layer, for more virtual channels than %d", f.Escape, f.Escape)
	}
	return nil
}

// CheckRequeue implements [Requeuer], as for [LayeredAdaptive].
func (Escaping) CheckRequeue(*weft.Place) error { return nil }

// DestinationBased implements [switching.DestinationBased].
func (Escaping) DestinationBased() {}

// Addresses implements [Assigner].
func (f Escaping) Addresses(leaf *weft.Place, at weft.PortID, dst weft.NICID) []weft.Address {
	return f.Assignment.From(leaf.Switch, at, dst)
}

// MostHops implements [Bounded]: three times the number of switches, the adaptive ways and then
// those of the escape layer, see [Layered].
func (f Escaping) MostHops() int { return f.Tables.MostHops() * 3 / 2 }

// Route implements [Firmware].
func (f Escaping) Route(pkt *weft.Header, at Arrival, sw View) (d Decision) {
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
