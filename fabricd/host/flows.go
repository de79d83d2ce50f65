package host

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// SwitchRead is a reading of one switch.
type SwitchRead struct {
	Switch  weft.SwitchID
	Reading switching.Reading
}

// VCRead is the sum over the virtual channels of one switch.
type VCRead struct {
	Switch weft.SwitchID
	VCs    []switching.VCSum
}

// NICRead is a reading of one NIC.
type NICRead struct {
	NIC     weft.NICID
	Reading nic.Reading
}
