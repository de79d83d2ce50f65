package firmware

import (
	"fmt"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Vector says where an adaptive firmware keeps the re-route vector: one bit per up port of a U-turn
// switch, set when packets have come back by it.
type Vector uint8

// The places of the re-route vector.
const (
	// VectorPerSwitch is one vector in each switch, as the fat-tree paper has it. All packets that
	// make a U-turn share it, whatever faults they go around: several faults can exhaust it
	// together though each has ways left, and a bit that a repair made stale costs packets until
	// the timer has cleared it.
	VectorPerSwitch Vector = iota
	// VectorPerDigit is one vector in each switch for each value of the destination's digit that
	// the U-turn mends: the one that chooses the down port which was dead. Faults of different down
	// ports then do not mix. The timer is the same.
	VectorPerDigit
	// VectorInHeader is one vector in each packet, cleared when it has come one tier closer, as R_m
	// has it. No switch keeps anything, and nothing is ever stale.
	VectorInHeader
)

// DefaultVectorTimeout is chosen by us: far above a packet's life in a live fabric, below what a
// person waits for. The paper asks for a timer and gives no figure.
const DefaultVectorTimeout = 500 * weft.Millisecond

// RerouteVector is the name of the register of the adaptive firmwares. With one per digit, the
// digit and its value follow: "reroute-vector d1=0".
const RerouteVector = "reroute-vector"

// maxVector is how many up ports a vector has bits for.
const maxVector = 64

// checkVector is checkUniform for firmwares that keep a vector of up ports.
func checkVector(place *weft.Place, vcs int) error {
	if err := checkUniform(place, vcs); err != nil {
		return err
	}
	if place.Tree.K > maxVector {
		return fmt.Errorf("keeps one bit per up port in %d: %d up ports are too many", maxVector, place.Tree.K)
	}
	return nil
}

// digit is one digit of the destinations that U-turns at a switch mend, and how many values it has.
type digit struct{ index, values int }

// digitAbove is the digit that chooses the down port of the switches so many tiers above.
func digitAbove(t *weft.Tree, tiers int) digit {
	d := digit{index: int(t.Tier) - tiers, values: t.K}
	if d.index == 0 {
		// An m-port tree's top switches have 2k down ports; those of a k-ary n-tree use k of these
		// values, and the spines of a leaf-spine fabric have any number.
		d.values = max(2*t.K, t.Radix[0])
	}
	return d
}

// value is the digit of d. It is asked only at a switch so many tiers below the one whose down port
// it chooses.
func (g digit) value(t *weft.Tree, d weft.NICID) int {
	v := int(t.Number(d) / t.Above)
	for range int(t.Tier) - 1 - g.index {
		v /= t.K
	}
	return v % g.values
}

// registers declares the vectors of a switch at which U-turns mend the digits given.
func (v Vector) registers(place *weft.Place, timeout weft.Time, digits ...digit) (r []Register) {
	if timeout == 0 {
		timeout = DefaultVectorTimeout
	}
	width := max(1, place.Tree.K)
	switch v {
	case VectorInHeader:
		return nil
	case VectorPerSwitch:
		return []Register{{Name: RerouteVector, Width: width, Expire: timeout}}
	}
	for _, d := range digits {
		for value := range d.values {
			r = append(r, Register{Name: fmt.Sprintf("%s d%d=%d", RerouteVector, d.index, value), Width: width, Expire: timeout})
		}
	}
	return r
}

// uturn is the U-turn of a packet that came back by at.Port: the port's bit is set in the vector,
// which is the header's or the slot-th register, then any live up port whose bit is clear will do.
func (v Vector) uturn(pkt *weft.Header, at Arrival, sw View, slot int, rule, none string) Decision {
	t, f := sw.Place().Tree, pkt.Fields
	tried := bit(t, at.Port)
	if v == VectorInHeader {
		f.Misroute |= tried
		return many(ups(sw, t, f.Misroute, at.VC, f), rule, switching.UTurn, none)
	}
	tried |= sw.Register(slot)
	d := many(ups(sw, t, tried, at.VC, f), rule, switching.UTurn, none)
	d.Write = switching.RegisterWrite{Do: true, Index: slot, Value: tried}
	return d
}
