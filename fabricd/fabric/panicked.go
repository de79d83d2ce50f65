package fabric

import (
	"cmp"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	switching "github.com/weft-fabric/weft/switch"
)

// EventFailed is the kind of the event that a switch's firmware has failed on a packet, which was
// discarded: it panicked, or its guest trapped.
const EventFailed = "firmware-failed"

// panicked tells of a firmware that has failed. A switch calls it while it decides.
func (f *Fabric) panicked(p switching.RoutePanic) {
	s := f.switches[p.Switch]
	e := Event{Kind: EventFailed, Switch: s.name, Detail: host.Panicked(f.graph, f.routingOf(s), &p)}
	f.limits.publish(f.Now(), eventSource{kind: EventFailed, end: weft.End{Node: p.Switch.Node()}}, faultLimit, e)
}

// routingOf is the name of what a switch runs.
func (si *site) routingOf(s *liveSwitch) string { return cmp.Or(s.Now().Routing, si.routing()) }

// routing is the name of the fabric's firmware.
func (si *site) routing() string {
	if p := si.opts.Processes; p != nil {
		return p.Routing
	}
	return si.opts.Firmware.Name
}
