package firmware

import (
	"fmt"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// SourcePaths is plain source routing: the NIC writes the whole way into the packet, from routes
// that are computed elsewhere and may be replaced, and a switch takes its port off and sends the
// packet there, or discards it when that is dead. With up/down routes without what is dead it is
// DDRC for source routing (Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees,
// section VIII).
//
// Packets stay in the virtual channel that they are in. Whether they can deadlock is up to the
// routes; in trees one that has come down goes up no more, whatever its route says, so there they
// cannot, in no mixture of old routes and new ones.
type SourcePaths struct{ Routes *tables.SourceRoutes }

const (
	ruleRoute     = "source route"
	ruleRouteDead = "source route: the link is dead"
)

// Firmware is the firmware.
func (f SourcePaths) Firmware() Firmware {
	return Firmware{
		Name: "source-paths", About: "any topology: by the way that the NIC has written into the packet",
		Route: sourcePath, Check: f.check,
		CheckRequeue:     mayRequeue, // a packet is sent to the same port, and discarded if that is dead
		DestinationBased: true,       // it looks at the route and the destination only
		MostHops:         weft.MaxRoute + 1,
		Source: func(leaf *weft.Place, _ weft.PortID, h *weft.Header) {
			h.Route = f.Routes.Route(leaf.Switch, h.Dst)
		},
		Program:    &tables.Program{Routes: f.Routes},
		Programmed: func(p *tables.Program) Firmware { return SourcePaths{Routes: p.Routes}.Firmware() },
	}
}

func (f SourcePaths) check(place *weft.Place, _ int) error {
	if f.Routes == nil {
		return fmt.Errorf("has no routes for NICs at %s: give it those of this topology, as fabricd/subnet makes them",
			place.Name)
	}
	return nil
}

func sourcePath(pkt *weft.Header, at Arrival, sw View) Decision {
	place, next := sw.Place(), pkt.Route.Next()
	role := weft.RoleNone
	if int(next) < place.Ports() {
		role = place.Roles[next]
	}
	switch {
	case pkt.Route.Len() == 0:
		return switching.Discard(ruleRouteEnded)
	case role == weft.RoleNone:
		return switching.Discard(ruleRoutePort)
	case role == weft.RoleUp && at.From == weft.RoleUp:
		return switching.Discard(ruleRouteUp)
	case role == weft.RoleNIC && pkt.Route.Len() > 1:
		return switching.Discard(ruleRouteEarly)
	case !sw.PortUp(next):
		return switching.Discard(ruleRouteDead)
	}
	return to(sw, next, at.VC, pkt, pkt.Route.Pop(), ruleRoute)
}
