package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// None forwards nothing: every packet is discarded. For looking at a topology that has no routing
// function, and cutting its links.
func None() Firmware {
	return Firmware{
		Name: "none", About: "forwards nothing: every packet is discarded",
		Route: func(*weft.Header, Arrival, View) Decision { return switching.Discard("none: no routing function") },
	}
}
