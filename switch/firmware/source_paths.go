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

var _ tables.Programmed = SourcePaths{}

const (
	ruleRoute     = "source route"
	ruleRouteDead = "source route: the link is dead"
)

// Check implements [Checker].
func (f SourcePaths) Check(place *weft.Place, vcs int) error {
	switch {
	case vcs < 1:
		return fmt.Errorf("firmware source-paths needs 1 virtual channel, there are %d: raise the number", vcs)
	case f.Routes == nil:
		return fmt.Errorf("firmware source-paths has no routes for NICs at %s: give it those of this topology, as fabricd/subnet makes them", place.Name)
	}
	return nil
}

// CheckRequeue implements [Requeuer]: a packet that is routed a second time is sent to the same
// port, and discarded if that is dead.
func (SourcePaths) CheckRequeue(*weft.Place) error { return nil }

// DestinationBased implements [switching.DestinationBased]: Route looks at the route and the
// destination only.
func (SourcePaths) DestinationBased() {}

// MostHops implements [Bounded]: a route has no more ports.
func (SourcePaths) MostHops() int { return weft.MaxRoute + 1 }

// Source implements [Sourcer].
func (f SourcePaths) Source(leaf *weft.Place, _ weft.PortID, h *weft.Header) {
	h.Route = f.Routes.Route(leaf.Switch, h.Dst)
}

// Program implements [tables.Programmed].
func (f SourcePaths) Program() tables.Program { return tables.Program{Routes: f.Routes} }

// Patched implements [tables.Programmed].
func (f SourcePaths) Patched(place *weft.Place, p *tables.Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return SourcePaths{Routes: r.Routes}, nil
}

// Route implements [Firmware].
func (SourcePaths) Route(pkt *weft.Header, at Arrival, sw View) Decision {
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
