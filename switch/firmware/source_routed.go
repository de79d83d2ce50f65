package firmware

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// SourceRouted is R^link_deterministic of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault
// Tolerance in Fat Trees, for source routing, to which the paper says that its method applies
// (sections I and VI) without showing how. The NIC writes the whole way into the packet: up by the
// default up ports, down by the digits of the destination. A switch takes its port off and sends
// the packet there. When that port is dead:
//
//   - Going up, any other live up port does. The rest of the route still leads to the destination,
//     whatever top it goes by: up port j only sets one digit of the switch to j, which the way down
//     sets again, and the ports of that are the digits of the destination.
//   - Going down, a U-turn is spliced in before the rest: another down port, an up port of the
//     U-turn switch below it, and the dead port once more, to be taken at another switch of the
//     same group. Layers, bounces and the testing sequence D are those of [DeterministicLink], so
//     that its numbering of the channels holds, and it tolerates as much: up to k-1 dead links in
//     every switch group, and no deadlock whatever is dead.
//
// The up port in a spliced U-turn is the one of D whose turn it is, which the switch that splices
// knows: the packet will come to the U-turn switch from it. If it is dead the U-turn switch goes on
// along D.
func SourceRouted() Firmware {
	return Firmware{
		Name: "source-routed", On: Trees, VCs: 2, Tolerance: Tolerance{Links: true},
		About: "fat trees: the NIC writes the way into the packet, switches splice a U-turn into it around dead links",
		Route: sourceRouted, Check: checkSourceRouted, Source: writeTreeRoute, ChannelNumber: linkNumberInD,
		// As those of DeterministicLink may be. A stranded packet has the route with which it came, and
		// goes on from the channel by which it came to one of a higher number.
		CheckRequeue:     mayRequeue,
		DestinationBased: true, // it looks at the route and the destination only
		Notifies:         true, // when a packet is discarded for want of a live way; not when its route is wrong
	}
}

// What is wrong with a route.
const (
	ruleRouteEnded = "source route: it ends before a NIC"
	ruleRoutePort  = "source route: no such port"
	ruleRouteEarly = "source route: a NIC before its end"
	ruleRouteOther = "source route: another NIC than the destination"
	ruleRouteUp    = "source route: up again from above a U-turn"
	ruleRouteFull  = "source route: no room to splice a U-turn"
)

// checkSourceRouted refuses trees of which a switch does not know the ports of the others.
func checkSourceRouted(place *weft.Place, vcs int) error {
	if err := checkUniform(place, vcs); err != nil {
		return err
	}
	t := place.Tree
	if t.Ports != nil {
		return errors.New("computes the ports of other switches, which it knows of generated trees alone: " +
			"take deterministic-link or adaptive-link")
	}
	if ports := routeLen(t); ports > weft.MaxRoute {
		return fmt.Errorf("writes %d ports into a packet of a tree of %d tiers, and %d fit: "+
			"choose a tree of at most %d tiers", ports, t.N, weft.MaxRoute, (weft.MaxRoute+1)/2)
	}
	return nil
}

// routeLen is how long a route is at most: up to the top and down, or all the way down with a
// U-turn at the top spliced in.
func routeLen(t *weft.Tree) int { return max(2*t.N-1, t.N+1) }

func writeTreeRoute(leaf *weft.Place, _ weft.PortID, h *weft.Header) {
	h.Route = treeRoute(leaf.Tree, h.Dst)
}

// treeRoute is the route from a switch to a NIC without faults: that of [UpDown].
func treeRoute(t *weft.Tree, d weft.NICID) (r weft.SourceRoute) {
	turn, above, prefix := int(t.Tier), t.Above, t.Prefix // of the switch where it turns: the first that has d below it
	for turn > 0 && uint32(d)/above != prefix {
		turn--
		above, prefix = above*uint32(t.Radix[turn]), prefix/uint32(t.Radix[turn])
	}
	var ups [weft.MaxRoute]weft.PortID
	rest := uint32(d)
	for l := t.N - 1; l >= turn; l-- {
		radix := uint32(t.Radix[l])
		ups[l] = weft.PortID(radix + rest%uint32(t.K)) // the default up port, after the down ports
		r, _ = r.Push(weft.PortID(rest % radix))       // Check says that they fit
		rest /= radix
	}
	for l := turn + 1; l <= int(t.Tier); l++ {
		r, _ = r.Push(ups[l])
	}
	return r
}

func sourceRouted(pkt *weft.Header, at Arrival, sw View) Decision {
	place, next := sw.Place(), pkt.Route.Next()
	role := weft.RoleNone
	if int(next) < place.Ports() {
		role = place.Roles[next]
	}
	switch {
	case pkt.Route.Len() == 0:
		return switching.Discard(ruleRouteEnded)
	case role == weft.RoleUp && at.From != weft.RoleUp && at.VC == rerouteLayer:
		return switching.Discard(ruleRouteUp) // it would break the numbering of the channels
	case role == weft.RoleUp:
		return sourceUp(pkt, at, sw, next)
	case role == weft.RoleDown:
		return sourceDown(pkt, at, sw, next)
	case role == weft.RoleNIC:
		return sourceDeliver(pkt, at, sw, next)
	}
	return switching.Discard(ruleRoutePort)
}

// sourceUp sends the packet up, by next or in its place.
func sourceUp(pkt *weft.Header, at Arrival, sw View, next weft.PortID) Decision {
	t := sw.Place().Tree
	p, vc, rule, turn, none := next, normalLayer, ruleUp, switching.Straight, ruleNoUp
	switch {
	case at.From != weft.RoleUp:
		if !sw.PortUp(next) {
			rule, turn = ruleUpOther, switching.Reroute
			if p = firstLiveUp(sw, t, t.UpIndex(next)+1, next); p == weft.NoPort {
				p = firstLiveUp(sw, t, 0, next)
			}
		}
	case at.VC == normalLayer:
		vc, rule, turn, none = rerouteLayer, rule3a, switching.UTurn, rule4
		if !sw.PortUp(next) || next == at.Port {
			p = firstLiveUp(sw, t, 0, at.Port)
		}
	default: // D goes on after the arrival port, whatever the route says
		vc, rule, turn, none = rerouteLayer, rule3b, switching.UTurn, rule4
		if !sw.PortUp(next) || next <= at.Port {
			p = firstLiveUp(sw, t, t.UpIndex(at.Port)+1, weft.NoPort)
		}
	}
	if p == weft.NoPort {
		return notify(switching.Discard(none))
	}
	return to(sw, p, vc, pkt, pkt.Route.Pop(), rule).As(turn)
}

// sourceDown sends the packet down by dp, or by another port with a U-turn spliced in.
func sourceDown(pkt *weft.Header, at Arrival, sw View, dp weft.PortID) Decision {
	t := sw.Place().Tree
	above := at.From == weft.RoleUp
	rest := pkt.Route.Pop()
	if sw.PortUp(dp) {
		vc, rule := layerDown(at)
		return to(sw, dp, vc, pkt, rest, rule)
	}

	bounce := sw.PortUp(at.Port)
	p, vc, rule := at.Port, at.VC, rule2b
	switch {
	case above:
		p, vc, rule = otherDown(sw, t, dp), normalLayer, rule2a
	case at.VC == normalLayer && bounce:
		rule = rule2First
	case at.VC == normalLayer:
		p, rule = otherDown(sw, t, dp), rule2FirstOther
	case !bounce:
		p, rule = otherDown(sw, t, dp), rule2bDied
	}
	if p == weft.NoPort {
		return notify(switching.Discard(ruleNoOtherDown))
	}

	// Index in D, at the U-turn switch, of this switch: its last digit of those that the group
	// differs in.
	own := t.W[t.Tier]
	again := own + 1
	if vc == normalLayer {
		again = 0
		if own == 0 {
			again = 1
		}
	}
	if again >= t.K {
		return notify(switching.Discard(rule4))
	}
	detour, ok := rest.Push(dp)
	if ok {
		detour, ok = detour.Push(weft.PortID(t.Radix[t.Tier+1] + again)) // after its down ports
	}
	if !ok {
		return switching.Discard(ruleRouteFull)
	}
	return to(sw, p, vc, pkt, detour, rule).As(switching.Reroute)
}

// sourceDeliver sends the packet to the NIC at p, if its route ends there and it is for that NIC.
func sourceDeliver(pkt *weft.Header, at Arrival, sw View, p weft.PortID) Decision {
	t := sw.Place().Tree
	switch {
	case pkt.Route.Len() > 1:
		return switching.Discard(ruleRouteEarly)
	case !t.HasDown(pkt.Dst) || t.DownPort(pkt.Dst) != p:
		return switching.Discard(ruleRouteOther)
	case !sw.PortUp(p):
		return notify(switching.Discard(ruleNodeDead))
	}
	vc, rule := layerDown(at)
	return to(sw, p, vc, pkt, weft.SourceRoute{}, rule)
}

// layerDown is the layer in which a packet goes down the way it wants, and the rule.
func layerDown(at Arrival) (weft.VC, string) {
	if at.VC == rerouteLayer && at.From == weft.RoleUp {
		return normalLayer, ruleRerouted
	}
	return at.VC, ruleDown
}

// to is the decision for a single port, with r as what remains of the route.
func to(sw View, p weft.PortID, vc weft.VC, pkt *weft.Header, r weft.SourceRoute, rule string) Decision {
	f := pkt.Fields
	f.Route = r
	return switching.To(sw, p, vc, f, rule)
}
