package switching

import "github.com/weft-fabric/weft"

// RulePanicked is the rule by which a switch discards a packet for which its firmware panicked, if
// [Config].Panicked is set.
const RulePanicked = "the firmware panicked"

// RoutePanic says where the Route of a firmware panicked.
type RoutePanic struct {
	Switch weft.SwitchID
	At     Arrival
	Packet weft.Header // as Route left it
	Value  any         // what it panicked with
}

// caught asks the firmware about a packet. When it panics, Panicked hears of that and the packet is
// discarded.
func (s *Switch) caught(h *weft.Header, at Arrival) (d Decision) {
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Panicked(RoutePanic{Switch: s.place.Switch, At: at, Packet: *h, Value: v})
			d = Discard(RulePanicked)
		}
	}()
	return s.route(h, at, (*view)(s))
}
