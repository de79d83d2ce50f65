package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// None forwards nothing: every packet is discarded. For looking at a topology that has no routing
// function, and cutting its links.
type None struct{}

// Route implements [Firmware].
func (None) Route(*weft.Header, Arrival, View) Decision {
	return switching.Discard("none: no routing function")
}
