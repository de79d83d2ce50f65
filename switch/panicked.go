package switching

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// RulePanicked is the rule by which a switch discards a packet for which its firmware panicked, if
// [Config].Panicked is set.
const RulePanicked = "the firmware panicked"

// RoutePanic says where the Route of a firmware panicked, or where its Batch gave no answer.
type RoutePanic struct {
	Switch weft.SwitchID
	At     Arrival
	Packet weft.Header // as Route left it
	Value  any         // what it panicked with, or why there is no answer

	Dead      PortSet            // ports whose links were down
	Registers []RegisterSnapshot // as they were
}

// caught asks the firmware about a packet. When it panics, Panicked hears of that and the packet is
// discarded.
func (s *Switch) caught(h *weft.Header, at Arrival) (d Decision) {
	decided := false // to look for a panic takes longer
	defer func() {
		if decided {
			return
		}
		if v := recover(); v != nil {
			s.failed(h, at, v)
			d = Discard(RulePanicked)
		}
	}()
	d = s.route(h, at, (*view)(s))
	decided = true
	return d
}

// failed tells that the firmware has failed on a packet, as v says.
func (s *Switch) failed(h *weft.Header, at Arrival, v any) {
	if s.cfg.Panicked == nil {
		return
	}
	p := RoutePanic{Switch: s.place.Switch, At: at, Packet: *h, Value: v}
	for i := range s.ports {
		if !s.portUp(weft.PortID(i)) {
			p.Dead.Add(weft.PortID(i))
		}
	}
	for _, r := range s.registers {
		p.Registers = append(p.Registers, RegisterSnapshot{
			Name: r.Name, Width: r.Width, Value: r.value, Expire: r.Expire, Expires: r.expires,
		})
	}
	s.cfg.Panicked(p)
}

// PanicReason says why a firmware panicked with v. A value that has a method Why says it by that.
func PanicReason(v any) string {
	if f, ok := v.(interface{ Why() string }); ok {
		return f.Why()
	}
	return fmt.Sprint(v)
}
