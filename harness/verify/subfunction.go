package verify

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Subfunction makes the routing subfunction R1 for one set of faults: which of the candidates of R
// it keeps. It reports false when there is none for this set. By Duato's theorem (Theorem 4 of
// Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees) R has no deadlock when
// R1 connects every packet, wherever R can have brought it, and its extended dependency graph has
// no cycle.
type Subfunction func(g *topology.Graph, dead []Element) (keep Keep, ok bool)

// Keep reports whether R1 keeps a candidate: the port of a switch, and the VC there.
type Keep func(sw weft.SwitchID, out weft.PortID, vc weft.VC) bool

// FaultFreeSubtrees is the subfunction of the paper's Theorem 5: packets go up within a subtree
// that is fault-free above the tier of the U-turn switch (Definition 21), and down by any way.
//
// A subtree is chosen for each tier l and each value of the digits l and up, which all switches of
// that tier share that can be below one top switch. A switch that lies in several chosen subtrees
// follows that of the lowest tier, as the proof asks; outside of them a packet goes up by any way.
func FaultFreeSubtrees(g *topology.Graph, dead []Element) (Keep, bool) {
	return subtrees(g, dead, false)
}

// FaultFreeGroups is the same for functions that re-route down two tiers, for which the paper's
// choice is not enough: a packet may come down to the U-turn switch from a fault outside the chosen
// subtree through a switch inside it, and then the way up within the subtree is the one it came by,
// which R does not offer. So the subtree must not have a switch below a fault in its two-hop group
// either. There still is one with up to k-1 faults: each spoils one value of a digit.
func FaultFreeGroups(g *topology.Graph, dead []Element) (Keep, bool) { return subtrees(g, dead, true) }

func subtrees(g *topology.Graph, dead []Element, twoHop bool) (Keep, bool) {
	if len(g.Switches) == 0 || g.Place(0).Tree == nil {
		return nil, false
	}
	n := g.Place(0).Tree.N
	var tops []int
	for s := range g.Switches {
		if g.Switches[s].Tier == 0 {
			tops = append(tops, s)
		}
	}
	// clean[i][l]: the subtree of top i will do for U-turn switches of tier l.
	clean := make([][]bool, len(tops))
	for i, top := range tops {
		clean[i] = slices.Repeat([]bool{true}, n)
		// spoil rules out tiers from l on if the top has the digits of sw from digit from on.
		spoil := func(sw topology.Switch, from, l int) {
			if slices.Equal(g.Switches[top].Digits[min(from, n-1):], sw.Digits[min(from, n-1):]) {
				for ; l < n; l++ {
					clean[i][l] = false
				}
			}
		}
		for _, e := range dead {
			if e.Switch {
				sw := g.Switches[e.ID]
				t := int(sw.Tier)
				spoil(sw, t, t) // the links down to it are dead
				if twoHop {
					spoil(sw, t, t+1)
				}
				continue
			}
			if l := g.Links[e.ID]; l.BetweenSwitches() {
				up := g.Switches[l.A.Node.Index]
				t := int(up.Tier)
				spoil(up, t, t+1)
				if twoHop {
					spoil(up, t+1, t+2)
				}
			}
		}
	}
	chosen := make([]weft.PortID, len(g.Switches))
	for s, sw := range g.Switches {
		t := int(sw.Tier)
		chosen[s] = weft.NoPort
		if t == 0 {
			continue
		}
		for l := n - 1; l >= t && chosen[s] == weft.NoPort; l-- {
			for i, top := range tops {
				if !clean[i][l] || !slices.Equal(g.Switches[top].Digits[l:], sw.Digits[l:]) {
					continue
				}
				if slices.Equal(g.Switches[top].Digits[t:], sw.Digits[t:]) {
					chosen[s] = g.Place(sw.ID).Tree.Up(g.Switches[top].Digits[t-1])
				}
				break // the first is the one chosen
			}
		}
	}
	return func(sw weft.SwitchID, out weft.PortID, _ weft.VC) bool {
		return g.Place(sw).Roles[out] != weft.RoleUp || chosen[sw] == out || chosen[sw] == weft.NoPort
	}, true
}
