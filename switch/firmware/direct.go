package firmware

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// Direct routes meshes, tori and rings as Gomez, Flich, Lopez, Robles, Duato: A Routing Methodology
// for Achieving Fault Tolerance in Direct Networks has it (sections 3, 4 and 5.3.2): fully
// adaptively over every shortest way by Duato's protocol, with an escape channel in a fixed order
// of the dimensions or directions, by way of intermediate nodes, with adaptive routing off and with
// misroutes, as the sub-headers of a packet say that its NIC has written. Without adaptive routing
// it is that fixed order alone.
//
// Virtual channels: the escape channels come first. A packet that has r intermediate nodes still to
// pass uses escape channel r, so that the sub-paths do not wait for each other: VC r, with Dateline
// VCs 2r and 2r+1 where a dimension goes around. All VCs after those of SubPaths sub-paths are
// adaptive, for the packets of every sub-path alike.
//
// The fault model is static: the ways are computed knowing what is dead, so that packets meet no
// dead link. One that does all the same, since the link has died meanwhile, takes another adaptive
// way if it has one, and is discarded if the link of its escape is dead: it could not escape, and
// would wait with no end for what need not come.
type Direct struct {
	Order    Order
	Ring     Ring
	Adaptive bool
	SubPaths int          // the most intermediate nodes of a packet, and one; 0 is 1
	Ways     *tables.Ways // what NICs write; nil: nothing
	// Deterministic and Misroutes say for which mechanisms beside intermediate nodes packets have
	// room in their headers.
	Deterministic, Misroutes bool
	// the most hops of a shortest way between two switches, which bounds those of a packet; 0: unknown
	Diameter int
}

// Order is the order in which packets go by the directions of a grid, in escape channels and where
// adaptive routing is off.
type Order uint8

// The orders.
const (
	// DimensionFirst is dimension order: x, then y, then z, in either direction.
	DimensionFirst Order = iota
	// DirectionFirst is direction order: x up, y up, z up, then x down, y down, z down. A misroute
	// up before a way down, or in a dimension after another, is in order then.
	DirectionFirst
)

// String is its name in options.
func (o Order) String() string {
	if o == DirectionFirst {
		return "direction"
	}
	return "dimension"
}

// Ring is what keeps the escape channels of a ring of links from waiting for each other.
type Ring uint8

// The ways.
const (
	// Bubble is bubble flow control (Puente, Izu, Beivide, Gregorio, Vallejo, Prellezo: The
	// Adaptive Bubble Router): a packet enters a ring only where that leaves a free place in the
	// queue, and moves along it into any, so that no ring fills up.
	Bubble Ring = iota
	// Dateline has two channels (Dally, Seitz: Deadlock-Free Message Routing in Multiprocessor
	// Interconnection Networks): one as long as the link around the end is still ahead, another
	// after it or without it. Which, the coordinates say, whatever channel a packet came by.
	Dateline
	// Free is neither: packets can wait for each other all around a ring. It is there to show that.
	Free
)

// String is its name in options.
func (r Ring) String() string { return [...]string{"bubble", "dateline", "free"}[r%3] }

// subPaths is how many sub-paths a packet has at most.
func (f *Direct) subPaths() int { return max(1, f.SubPaths) }

// escapes is how many virtual channels are escape channels.
func (f *Direct) escapes(g *weft.Grid) int {
	if f.Ring == Dateline && goesAround(g) {
		return 2 * f.subPaths()
	}
	return f.subPaths()
}

func goesAround(g *weft.Grid) bool {
	for i := range g.Dims {
		if g.Around(i) {
			return true
		}
	}
	return false
}

// Firmware is the firmware.
func (f Direct) Firmware() Firmware {
	ways := f.Ways
	if ways == nil {
		ways = &tables.Ways{}
	}
	fw := Firmware{
		Name: "dimension-order", On: Grids, VCs: 1,
		About: "meshes and tori: in a fixed order, the shorter way; discards at a dead link",
		Route: f.route, Check: f.check, CheckRequeue: f.checkRequeue, LeastRoom: f.leastRoom,
		Source: f.source, HeaderBytes: f.headerBytes, MostHops: f.mostHops(),
		DestinationBased: true, // it looks at the sub-headers and the destination only
		Program:          &tables.Program{Ways: ways},
		Programmed: func(p *tables.Program) Firmware {
			next := f
			next.Ways = p.Ways
			return next.Firmware()
		},
	}
	switch {
	case f.Adaptive:
		fw.Name, fw.VCs = "duato", 2
		fw.About = "meshes and tori: any shortest way, adaptive, with dimension order to escape to; " +
			"by intermediate nodes around dead links"
	case f.Order == DirectionFirst:
		fw.Name = "direction-order"
		fw.About = "meshes and tori: x up, y up, z up, then x down, y down, z down, the shorter way; " +
			"discards at a dead link"
	}
	return fw
}

// DirectionOrder is direction order without adaptive routing.
func DirectionOrder() Firmware { return Direct{Order: DirectionFirst, Ring: Dateline}.Firmware() }

// Duato is Duato's protocol with bubble flow control.
func Duato() Firmware { return Direct{Adaptive: true}.Firmware() }

func (f Direct) check(place *weft.Place, vcs int) error {
	switch {
	case f.SubPaths > weft.MaxSubPaths:
		return fmt.Errorf("has packets with room for %d sub-paths, not for %d: use fewer intermediate nodes",
			weft.MaxSubPaths, f.SubPaths)
	case f.Misroutes && f.Order != DirectionFirst:
		return errors.New("makes misroutes in direction order, and this one is dimension order: choose order=direction")
	}
	need, what := f.escapes(place.Grid), "to escape to"
	if f.Adaptive {
		need, what = need+1, "all but one to escape to"
	}
	if vcs < need {
		return fmt.Errorf("needs %d virtual channels, %s, there are %d: raise the number", need, what, vcs)
	}
	for _, w := range f.Ways.From(place.Switch) {
		if err := f.carries(w); err != nil {
			return fmt.Errorf("cannot go the way from %s to switch %d: %w", place.Name, w.Dst, err)
		}
	}
	return nil
}

// carries says what a way asks for that is not in use.
func (f *Direct) carries(w tables.Way) error {
	if n := w.Sub.Len(); n > f.subPaths() {
		return fmt.Errorf("%d sub-paths, and there are escape channels for %d: use more virtual channels or fewer "+
			"intermediate nodes", n, f.subPaths())
	}
	for _, h := range w.Sub {
		_, hops := h.Misroute(0)
		switch {
		case h.Deterministic() && !f.Deterministic:
			return fmt.Errorf("adaptive routing is off, for which packets have no bit: add mechanism D")
		case hops > 0 && !f.Misroutes:
			return fmt.Errorf("it has misroutes, for which packets have no room: add mechanism M")
		}
	}
	return nil
}

func (f Direct) leastRoom(place *weft.Place) int {
	if f.Ring == Bubble && place.Grid != nil && goesAround(place.Grid) {
		return 2
	}
	return 1
}

// checkRequeue refuses with bubble flow control: a stranded packet has given back its place in the
// ring, and would take the last free one.
func (f Direct) checkRequeue(place *weft.Place) error {
	if f.Ring == Bubble && goesAround(place.Grid) {
		return errors.New("with bubble flow control a packet that is routed a second time could fill up the ring " +
			"that it came by: choose ring=dateline, or run without requeue")
	}
	return nil
}

func (f Direct) mostHops() int {
	if f.Diameter == 0 {
		return weft.MaxHops
	}
	misrouted := 0
	if f.Misroutes {
		misrouted = weft.MaxMisroutes * weft.MaxMisrouteHops
	}
	return min(weft.MaxHops, f.subPaths()*(f.Diameter+misrouted)+1)
}

func (f Direct) source(leaf *weft.Place, _ weft.PortID, h *weft.Header) {
	h.Sub, _ = f.Ways.To(leaf.Switch, weft.SwitchID(uint32(h.Dst)/leaf.Grid.NICs))
}

// headerBytes is how many bytes the sub-headers x take on the wire beside the destination's
// address, which every packet has: for each the address of its intermediate node (two bytes,
// section 5.2), the I bit, the D bit, and three misroutes of three bits of direction and three of
// hops (figure 8), as far as the mechanisms in use need them. A packet without sub-headers carries
// an empty one.
func (f Direct) headerBytes(x *weft.Fields) int {
	const address, misroutes = 16, weft.MaxMisroutes * (3 + 3)
	bits := 0
	if f.subPaths() > 1 {
		bits++
	}
	if f.Deterministic {
		bits++
	}
	if f.Misroutes {
		bits += misroutes
	}
	n := max(1, x.Sub.Len())
	return (n*bits + (n-1)*address + 7) / 8
}
