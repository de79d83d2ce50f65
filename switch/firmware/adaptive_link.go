package firmware

import (
	"fmt"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// AdaptiveLink is R^link_adaptive of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees, section VII.A,
// with its ambiguities resolved (docs/routing.md): it connects every pair with up to k-1 dead links in every switch group
// while faults only come. One virtual channel. The way up is any live up port; a U-turn switch keeps in its re-route
// vector which up ports packets have come back by, and sends re-routed packets up the others.
//
// No deadlock with up to k-1 faults as long as a blocked packet goes on waiting for all its candidates, as the pipeline
// does; beyond, some fault sets can deadlock.
type AdaptiveLink struct {
	// VectorTimeout is the period of U-turn inactivity after which a switch zeroes its vector, so that links that have come
	// back are used again. 0 means DefaultVectorTimeout. It should exceed the time a packet spends in the fabric.
	VectorTimeout weft.Time
	// Notify makes the discard of a packet that no up port leads on (rule 5) inform the packet's source.
	Notify bool
}

// DefaultVectorTimeout is chosen by us: far above a packet's life in a live fabric, below what a person waits for. The
// paper asks for a timer and gives no figure.
const DefaultVectorTimeout = 500 * weft.Millisecond

// RerouteVector is the name of AdaptiveLink's register: bit j stands for up port j.
const RerouteVector = "reroute-vector"

const (
	rule1Adaptive = "1: any live up port"
	rule3Adaptive = "4: U-turn, an up port not in the re-route vector"
	rule5Adaptive = "5: every up port is dead or in the re-route vector"
)

// Check implements [Checker].
func (AdaptiveLink) Check(place *weft.Place, vcs int) error {
	if err := checkTree("adaptive-link", place, vcs, 1); err != nil {
		return err
	}
	if place.Tree.K > 64 {
		return fmt.Errorf("firmware adaptive-link keeps one bit per up port in 64: %d up ports are too many", place.Tree.K)
	}
	return nil
}

// CheckRequeue implements [Requeuer]: packets may be routed a second time. The decision depends on the arrival, on which links
// are dead and on the re-route vector, so a stranded packet waits for just what one that came by the same channel and is
// still in the input queue waits for. The paper's proof (appendix, section G) has the latter wait for any of its candidates, at any
// time: what it shows for up to k-1 dead links, no set of queues that wait for each other only, therefore holds with
// requeue, and the stranded packets' own queues are no part of such a set, as no candidate is dead.
func (AdaptiveLink) CheckRequeue(*weft.Place) error { return nil }

// Registers implements [Stateful].
func (a AdaptiveLink) Registers(place *weft.Place) []Register {
	expire := a.VectorTimeout
	if expire == 0 {
		expire = DefaultVectorTimeout
	}
	return []Register{{Name: RerouteVector, Width: max(1, place.Tree.K), Expire: expire}}
}

// Route implements [Firmware].
func (a AdaptiveLink) Route(pkt *weft.Header, at Arrival, sw View) Decision {
	t := sw.Place().Tree
	above := at.From == weft.RoleUp
	switch {
	case !t.HasDown(pkt.Dst) && !above:
		c := ups(sw, t, 0, at.VC, pkt.Fields)
		if len(c) == 0 {
			return switching.Discard(ruleNoUp)
		}
		return Decision{Candidates: c, Rule: rule1Adaptive}
	case !t.HasDown(pkt.Dst):
		vector := sw.Register(0) | 1<<uint(t.UpIndex(at.Port))
		d := Decision{Candidates: ups(sw, t, vector, at.VC, pkt.Fields), Rule: rule3Adaptive, Turn: switching.UTurn}
		if len(d.Candidates) == 0 {
			d = notify(switching.Discard(rule5Adaptive), a.Notify)
		}
		d.Write = switching.RegisterWrite{Do: true, Value: vector}
		return d
	}

	dp := t.DownPort(pkt.Dst)
	switch {
	case sw.PortUp(dp):
		return switching.To(sw, dp, at.VC, pkt.Fields, ruleDown)
	case t.Leaf():
		return switching.Discard(ruleNodeDead)
	case !above && sw.PortUp(at.Port):
		return switching.To(sw, at.Port, at.VC, pkt.Fields, rule2b).As(switching.Reroute)
	}
	rule := rule2a
	if !above {
		rule = rule2bDied
	}
	c := otherDowns(sw, t, dp, at.VC, pkt.Fields)
	if len(c) == 0 {
		return switching.Discard(ruleNoOtherDown)
	}
	return Decision{Candidates: c, Rule: rule, Turn: switching.Reroute}
}
