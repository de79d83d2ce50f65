// Package around is a firmware in a module of its own.
package around

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// The ports of a switch in the topology ring:n.
const (
	back weft.PortID = iota // to the switch before
	on                      // to the next switch
	nic                     // to the NIC
)

type around struct{ discards int }

// New is a firmware that sends packets on around a ring. At a dead link they turn back, or are
// discarded. Packets change to virtual channel 1 at switch 0, so that they never wait for each
// other all round the ring.
func New() switching.Firmware {
	a := &around{}
	return switching.Firmware{
		Name: "around", About: "rings: on, and back where the link on is dead",
		On: switching.Grids, VCs: 2, Route: a.route,
		Options: []switching.Option{
			switching.Word("dead", "what packets do at a dead link", &a.discards, "back", "discard"),
		},
	}
}

func (a *around) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	here, vc := uint32(sw.Place().Switch), at.VC
	if here == uint32(pkt.Dst) { // NIC i is at switch i
		return switching.To(sw, nic, 0, pkt.Fields, "deliver")
	}
	if here == 0 {
		vc = 1
	}
	switch {
	case at.Port == on && sw.PortUp(back):
		return switching.To(sw, back, vc, pkt.Fields, "on its way back")
	case sw.PortUp(on):
		return switching.To(sw, on, vc, pkt.Fields, "on")
	case a.discards == 0 && sw.PortUp(back):
		return switching.To(sw, back, vc, pkt.Fields, "back, the link on is dead")
	}
	return switching.Discard("the link is dead")
}
