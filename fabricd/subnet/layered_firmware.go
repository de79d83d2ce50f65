package subnet

import (
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/switch/firmware"
)

// FirmwareOf is the firmware that forwards by a routing. It needs as many virtual channels as the
// routing has layers; one whose routing lacks tables or an assignment refuses every place.
func FirmwareOf(r *layered.Routing) firmware.Firmware {
	switch r.Kind {
	case layered.Adaptive:
		return firmware.LayeredAdaptive{Tables: r.Tables, Assignment: r.Assignment}.Firmware()
	case layered.Escape:
		return firmware.Escaping{Tables: r.Tables, Assignment: r.Assignment, Escape: r.Escape}.Firmware()
	default:
		return firmware.Layered{Tables: r.Tables, Assignment: r.Assignment}.Firmware()
	}
}
