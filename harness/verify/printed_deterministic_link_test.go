package verify_test

import (
	"slices"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestDeterministicLinkAsPrintedOrBrokenIsCaught(t *testing.T) {
	t.Parallel()
	caught(t, firmware.DeterministicLink(), []broken{
		{
			name: "2b also for the first bounce: back in the re-routing layer", rule: firstBounceInML,
			on: "kary-ntree:2,2", faults: 1,
			what: verify.Unconnected, at: 1, ends: "4: every up port of D has been tried", length: 3,
		},
		{
			name: "Algorithm 1: dead link in the re-routing layer means the incoming port, from above too",
			rule: incomingPortFromAbove,
			on:   "kary-ntree:3,3", faults: 2, dead: "s0.00-s1.00 s1.00-s2.00",
			what: verify.Livelock, at: 2, ends: "comes back to where it was: livelock", length: 7, deadlocks: 2,
		},
		{
			name: "the next port of D although it is dead", rule: nextOfDThoughDead,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Unconnected, at: 2, ends: "3: the next of D, whatever it is: waits for dead ports only", length: 3,
		},
		{
			name: "the first port of D read from the entry of the port numbered 0", rule: firstIsNextOfPort0,
			on: "kary-ntree:2,2", faults: 1,
			what: verify.Unconnected, at: 1, ends: "4: every up port of D has been tried", length: 5,
		},
		{
			name: "the next port of the port numbered 0 read from the entry of the first of D", rule: nextOfPort0IsFirst,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Livelock, at: 2, ends: "comes back to where it was: livelock", length: 5, deadlocks: 2,
		},
		{
			name: "D differs within a switch group", rule: differentD,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Numbering, at: 2, ends: "a packet goes from a channel numbered 5 to one numbered 2", length: 2,
		},
		{
			name: "D differs within a switch group, and links die meanwhile", rule: differentD,
			on: "kary-ntree:4,2", faults: 3, when: verify.Arriving, dead: "s0.0-s1.0 s0.1-s1.0 s0.2-s1.0",
			what: verify.Numbering, at: 2, ends: "a packet goes from a channel numbered 5 to one numbered 2", length: 2,
		},
		{
			name: "port after the next of D", rule: skipsOneOfD,
			on: "kary-ntree:4,2", faults: 3,
			what: verify.Unconnected, at: 2, ends: "3b: the one after the next of D: none left", length: 7,
		},
		{
			name: "transition left out: U-turns stay in the normal layer", rule: uturnStaysInNL,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Numbering, at: 1, ends: "a packet goes from a channel numbered 1 to one numbered 0", length: 2,
			deadlocks: 2,
		},
		{
			name: "transition left out: re-routed packets stay in the re-routing layer below the fault", rule: staysInML,
			on: "kary-ntree:3,3", faults: 2, dead: "s0.02-s1.02 s1.02-s2.00",
			what: verify.Unconnected, at: 2, ends: "4: every up port of D has been tried", length: 7,
		},
		{
			name: "transition too early: back to the normal layer at the switch past the fault", rule: backInNLTooEarly,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Numbering, at: 1, ends: "a packet goes from a channel numbered 4 to one numbered 1", length: 2,
			deadlocks: 2,
		},
		{
			name: "discards at the second U-turn", rule: discardsAtSecondUTurn,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Unconnected, at: 2, ends: "second U-turn", length: 5,
		},
		{
			name: "up again instead of down to another switch", rule: upInsteadOfDown,
			on: "kary-ntree:2,3", faults: 1,
			what: verify.Livelock, at: 1, ends: "comes back to where it was: livelock", length: 4, deadlocks: 1,
		},
		{
			name: "names the dead port", rule: namesTheDeadPort,
			on: "kary-ntree:2,2", faults: 1,
			what: verify.Unconnected, at: 1, ends: "down though it is dead: waits for dead ports only", length: 2,
		},
		{
			name: "names a port that is not there", rule: namesNoPort,
			on: "kary-ntree:2,2", faults: 1,
			what: verify.Unconnected, at: 1, ends: "one port too far: names a port or VC that is not there", length: 2,
		},
		{
			name: "names a layer that is not there", rule: namesNoLayer,
			on: "kary-ntree:2,2", faults: 1,
			what: verify.Unconnected, at: 1, ends: "3a: U-turn, first up port of D: names a port or VC that is not there",
			length: 3,
		},
		{
			name: "delivers to a neighbour", rule: deliversToNeighbour,
			on: "kary-ntree:2,2", faults: 1,
			what: verify.Unconnected, at: 1, ends: "to whoever is there: delivered to another NIC", length: 3,
		},
		{
			name: "bounces to the arrival port from above, not to another switch below", rule: bouncesFromAbove,
			on: "kary-ntree:2,3", faults: 1,
			what: verify.Livelock, at: 1, ends: "comes back to where it was: livelock", length: 5, deadlocks: 1,
		},
	})
}

func firstBounceInML(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if fired(d, "2: first bounce") {
		return inLayer(d, ml1)
	}
	return d
}

func incomingPortFromAbove(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if at.VC == ml1 && meets(pkt, sw) && sw.PortUp(at.Port) {
		return switching.To(sw, at.Port, ml1, pkt.Fields, "incoming port")
	}
	return real(pkt, at, sw)
}

func nextOfDThoughDead(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if !turns(pkt, at, sw) {
		return real(pkt, at, sw)
	}
	t := sw.Place().Tree
	next := 0
	if at.VC == ml1 {
		next = t.UpIndex(at.Port) + 1
	} else if t.Up(0) == at.Port {
		next = 1
	}
	if next == t.Ups() {
		return switching.Discard("4")
	}
	return up(sw, t.Up(next), ml1, pkt.Fields, "3: the next of D, whatever it is")
}

func firstIsNextOfPort0(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if turns(pkt, at, sw) && at.VC == nl {
		return up(sw, after(sw, []int{0, 1, 2, 3, 4}[:sw.Place().Tree.Ups()], 0), ml1, pkt.Fields, "3a: sequence[0]")
	}
	return real(pkt, at, sw)
}

func nextOfPort0IsFirst(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if t := sw.Place().Tree; turns(pkt, at, sw) && at.VC == ml1 && t.UpIndex(at.Port) == 0 {
		return up(sw, at.Port, ml1, pkt.Fields, "3b: sequence[0]")
	}
	return real(pkt, at, sw)
}

// uturnBy is the U-turn along a sequence that may differ from switch to switch.
func uturnBy(sw switching.View, at switching.Arrival, f weft.Fields, order []int, again bool,
	out weft.VC,
) switching.Decision {
	i := slices.Index(order, sw.Place().Tree.UpIndex(at.Port))
	if again {
		return up(sw, after(sw, order, i), out, f, "next of D")
	}
	others := slices.Delete(slices.Clone(order), i, i+1)
	return up(sw, after(sw, others, -1), out, f, "first of D")
}

// orderOf is D, with its first two ports swapped in every second switch of a switch group.
func orderOf(t *weft.Tree) (order []int) {
	for j := range t.Ups() {
		order = append(order, j)
	}
	if t.W[t.Tier-1]%2 == 1 {
		order[0], order[1] = order[1], order[0]
	}
	return order
}

func differentD(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if !turns(pkt, at, sw) {
		return real(pkt, at, sw)
	}
	return uturnBy(sw, at, pkt.Fields, orderOf(sw.Place().Tree), at.VC == ml1, ml1)
}

func skipsOneOfD(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if t := sw.Place().Tree; turns(pkt, at, sw) && at.VC == ml1 {
		i := t.UpIndex(at.Port) + 1
		return up(sw, after(sw, []int{0, 1, 2, 3, 4}[:t.Ups()], min(i, t.Ups()-1)), ml1, pkt.Fields,
			"3b: the one after the next of D")
	}
	return real(pkt, at, sw)
}

func uturnStaysInNL(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if d.Turn == switching.UTurn {
		return inLayer(d, nl)
	}
	return d
}

func staysInML(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if at.VC == ml1 && at.From == weft.RoleUp {
		return inLayer(d, ml1)
	}
	return d
}

func backInNLTooEarly(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if at.VC == ml1 && at.From == weft.RoleDown {
		return inLayer(d, nl)
	}
	return d
}

func discardsAtSecondUTurn(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if d := real(pkt, at, sw); !fired(d, "3b") {
		return d
	}
	return switching.Discard("second U-turn")
}

func upInsteadOfDown(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if t := sw.Place().Tree; meets(pkt, sw) && t.Ups() > 0 {
		return up(sw, after(sw, []int{0, 1, 2, 3, 4}[:t.Ups()], -1), at.VC, pkt.Fields, "up again")
	}
	return real(pkt, at, sw)
}

func namesTheDeadPort(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if meets(pkt, sw) {
		return switching.To(sw, sw.Place().Tree.DownPort(pkt.Dst), at.VC, pkt.Fields, "down though it is dead")
	}
	return real(pkt, at, sw)
}

func namesNoPort(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if meets(pkt, sw) {
		return switching.To(sw, weft.PortID(sw.Place().Ports()), at.VC, pkt.Fields, "one port too far")
	}
	return real(pkt, at, sw)
}

func namesNoLayer(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if d.Turn == switching.UTurn {
		return inLayer(d, ml2)
	}
	return d
}

func deliversToNeighbour(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if turns(pkt, at, sw) && sw.Place().Tree.Leaf() {
		return switching.To(sw, 0, at.VC, pkt.Fields, "to whoever is there")
	}
	return real(pkt, at, sw)
}

func bouncesFromAbove(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if meets(pkt, sw) && at.From == weft.RoleUp {
		return switching.To(sw, at.Port, at.VC, pkt.Fields, "back up where it came from")
	}
	return real(pkt, at, sw)
}
