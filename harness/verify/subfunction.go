package verify

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Subfunction makes the routing subfunction R1 for one set of faults: which of the candidates of R it keeps. It reports false when there
// is none for this set. By Duato's theorem (Theorem 4 of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees) R has
// no deadlock when R1 connects every packet, wherever R can have brought it, and its extended dependency graph has no cycle.
type Subfunction func(g *topology.Graph, dead Dead) (keep Keep, ok bool)

// Keep reports whether R1 keeps a candidate: the port of a switch.
type Keep func(sw weft.SwitchID, out weft.PortID) bool

// FaultFreeSubtrees is the subfunction of the paper's Theorem 5: packets go up within a subtree that is fault-free above the tier of
// the U-turn switch (Definition 21), and down by any way.
//
// A subtree is chosen for each tier l and each value of the digits l and up, which all switches of that tier share that can be below
// one top switch. A switch that lies in several chosen subtrees follows that of the lowest tier, as the proof asks.
func FaultFreeSubtrees(g *topology.Graph, dead Dead) (Keep, bool) {
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
	// clean[i][l]: the subtree of top i is fault-free above tier l.
	clean := make([][]bool, len(tops))
	for i, top := range tops {
		clean[i] = slices.Repeat([]bool{true}, n)
		spoil := func(tier int) { // what is dead is above all tiers from here on
			for l := tier; l < n; l++ {
				clean[i][l] = false
			}
		}
		for _, id := range dead.Links {
			if l := g.Links[id]; l.BetweenSwitches() {
				if up := g.Switches[l.A.Node.Index]; below(g, top, up) {
					spoil(int(up.Tier) + 1)
				}
			}
		}
		for _, id := range dead.Switches {
			if sw := g.Switches[id]; below(g, top, sw) {
				spoil(int(sw.Tier)) // the links down to it are dead too
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
				if below(g, top, sw) {
					chosen[s] = g.Place(sw.ID).Tree.Up(g.Switches[top].Digits[t-1])
				}
				break // the first is the one chosen
			}
		}
		if chosen[s] == weft.NoPort {
			return nil, false
		}
	}
	return func(sw weft.SwitchID, out weft.PortID) bool {
		return g.Place(sw).Roles[out] != weft.RoleUp || chosen[sw] == out
	}, true
}

// below reports whether sw is in the subtree of a top switch: they agree in all digits from the tier of sw on.
func below(g *topology.Graph, top int, sw topology.Switch) bool {
	return slices.Equal(g.Switches[top].Digits[sw.Tier:], sw.Digits[sw.Tier:])
}
