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
	f.observers.failed(p.Switch, f.Now(), host.Panicked(f.graph, f.routingOf(f.switches[p.Switch]), &p))
}

// failed tells of a firmware that has failed, here or at another host.
func (ob *observers) failed(id weft.SwitchID, at weft.Time, what string) {
	e := Event{Kind: EventFailed, Switch: ob.switches[id].name, Detail: what}
	ob.limits.publish(at, eventSource{kind: EventFailed, end: weft.End{Node: id.Node()}}, faultLimit, e)
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
