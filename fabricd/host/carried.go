package host

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// reader says of traced packets that leave a NIC what they carry.
type reader struct {
	to       switchd.Observer
	payloads *wire.Payloads
}

// Observe implements [switchd.Observer].
func (r reader) Observe(now weft.Time, a *weft.Actions) {
	for i := range a.Egress {
		e := &a.Egress[i]
		if e.Header.Payload != 0 {
			packet := r.payloads.Bytes(e.Header.Payload)
			e.Carries = weft.Carried{Bytes: len(packet), Text: ip.Text(packet)}
		}
	}
	r.to.Observe(now, a)
}
