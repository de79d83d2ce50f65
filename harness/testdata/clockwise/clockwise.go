// Package clockwise is a firmware in a module of its own.
package clockwise

import (
	"errors"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// The ports of a switch in the topology ring:n.
const (
	next  weft.PortID = 1 // to the next switch; port 0 leads back
	toNIC weft.PortID = 2
)

// Firmware routes rings: a packet goes to the next switch until it is where its NIC is. It enters in
// virtual channel 0 and goes on in channel 1 from switch 0, so that packets never wait for each
// other in a circle. When the link to the next switch is dead the packet is discarded.
type Firmware struct{}

// Check implements [switching.Checker].
func (Firmware) Check(_ *weft.Place, vcs int) error {
	if vcs < 2 {
		return errors.New("clockwise needs 2 virtual channels")
	}
	return nil
}

// Route implements [switching.Firmware].
func (Firmware) Route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
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
