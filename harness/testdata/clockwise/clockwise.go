// Package clockwise is a firmware in a module of its own.
package clockwise

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// The ports of a switch in the topology ring:n.
const (
	next  weft.PortID = 1 // to the next switch; port 0 leads back
	toNIC weft.PortID = 2
)

// New is a firmware that routes rings: a packet goes to the next switch until it is where its NIC is.
// It enters in virtual channel 0 and goes on in channel 1 from switch 0, so that packets never wait
// for each other in a circle. When the link to the next switch is dead the packet is discarded.
func New() switching.Firmware {
	return switching.Firmware{Name: "clockwise", About: "rings: always to the next switch", On: switching.Grids, VCs: 2, Route: route}
}

func route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	here, vc := uint32(sw.Place().Switch), at.VC
	if here == uint32(pkt.Dst) { // NIC i is at switch i
		return switching.To(sw, toNIC, 0, pkt.Fields, "deliver")
	}
	if !sw.PortUp(next) {
		return switching.Discard("the link is dead")
	}
	if here == 0 {
		vc = 1
	}
	return switching.To(sw, next, vc, pkt.Fields, "clockwise")
}
