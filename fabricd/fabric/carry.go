package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/nicd"
)

// LocalNIC is a NIC that runs in this process, to send and take payloads by; nil: another host runs
// it.
func (f *Fabric) LocalNIC(id weft.NICID) *nicd.NIC { return f.local.local.NIC(id) }
