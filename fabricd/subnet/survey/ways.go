package survey

import (
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// Way is how packets by one address go from a switch to a NIC: one way, or all that they may take.
type Way struct {
	Path    uint16
	Layers  []int  // packets may be in
	Enters  []int  // of these, where they enter; one is taken for each packet
	Stops   []Stop // the first is at the source; each after those that lead to it, unless packets can go in circles
	Sure    bool   // packets arrive whatever way they take
	Circles bool   // they can go in circles
	MaxHops int    // links between switches on the longest way; without meaning if Circles
	// MeanHops is the mean of the ways, if each choice is taken as often.
	MeanHops float64
}

// Stop is a switch on the way, with the port and the layer that packets come in by.
type Stop struct {
	Switch weft.SwitchID
	In     weft.PortID // NoPort: the layer is entered here
	Layer  weft.VC
	Hops   []layered.Channel // where they may go, in the VC that they then are in; the last is the NIC's link
	Escape bool              // they may enter the escape layer here
}

// Ways are those from a NIC to another, by each of its addresses.
func Ways(r *layered.Routing, src, dst weft.NICID) (ways []Way) {
	from, port := r.Graph.SwitchOf(src)
	w := newWalker(r)
	all := r.Assignment.From(from, port, dst)
	each := layered.TrafficTo(nil, all)
	for _, t := range each {
		w.follow(from, dst, t, all)
		way := Way{Path: t.Path, Layers: layersOf(t.Layers), Sure: w.sure(), Circles: len(w.order) < len(w.nodes)}
		for _, a := range all {
			if a.Path == t.Path && !slices.Contains(way.Enters, int(a.VC)) {
				way.Enters = append(way.Enters, int(a.VC))
			}
		}
		for _, at := range w.listed() {
			n := w.nodes[at]
			stop := Stop{Switch: n.at, In: n.in, Layer: n.layer, Escape: n.last-n.first > n.forward}
			if n.by < 0 && n.in != weft.NoPort {
				stop.In = port // NICs of a switch are alike, and the walk came from the first
			}
			for _, h := range n.hops {
				if h.Port != weft.NoPort {
					stop.Hops = append(stop.Hops,
						layered.Channel{From: weft.End{Node: n.at.Node(), Port: h.Port}, Layer: h.In(n.layer)})
				}
			}
			way.Stops = append(way.Stops, stop)
			way.MaxHops = max(way.MaxHops, int(n.longest))
			if n.by >= 0 {
				way.MeanHops += n.flow
			}
		}
		ways = append(ways, way)
	}
	return ways
}

// listed are the nodes in order, and at the end those that are on circles or after them.
func (w *walker) listed() []int32 {
	list := slices.Clone(w.order)
	for i := range w.nodes {
		if w.open[i] > 0 {
			list = append(list, int32(i))
		}
	}
	return list
}

// layersOf lists the layers of a mask.
func layersOf(mask uint16) (list []int) {
	for ; mask != 0; mask &= mask - 1 {
		list = append(list, bits.TrailingZeros16(mask))
	}
	return list
}
