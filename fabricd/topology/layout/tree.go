package layout

import (
	"cmp"
	"slices"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// tiers lays out a tree, tier 0 on top. The drawing is about twice as wide as high, but tiers are
// never closer than one unit.
func tiers(g *topology.Graph) Layout {
	l := blank(Tree, g)
	inTier := make([][]int, g.Tiers)
	widest := 0
	for i, s := range g.Switches {
		inTier[s.Tier] = append(inTier[s.Tier], i)
		widest = max(widest, len(inTier[s.Tier]))
	}
	gap := max(1, float64(widest)/(2*float64(g.Tiers)))
	for tier, list := range inTier {
		slices.SortFunc(list, func(a, b int) int { return across(g.Switches[a].Digits, g.Switches[b].Digits, tier) })
		for i, s := range list {
			l.Switches[s] = Point{X: (float64(i) + 0.5) * float64(widest) / float64(len(list)), Y: float64(tier) * gap}
		}
	}
	below := max(0.5, 0.4*gap)
	for s, nics := range hangers(g) {
		at := l.Switches[s]
		for i, n := range nics {
			l.NICs[n] = Point{X: at.X + (float64(i)+0.5)/float64(len(nics)) - 0.5, Y: at.Y + below}
		}
	}
	return l
}

// across orders two switches of a tier from left to right. The digits above the tier say below
// which switches they all are, and come first: so every subtree stands over its NICs. The others,
// which tell apart the switches with the same NICs below them, count from the last: then those that
// share the neighbours below stand side by side, and fewer links cross.
func across(a, b []int, tier int) int {
	if c := slices.Compare(a[:tier], b[:tier]); c != 0 {
		return c
	}
	for i := len(a) - 1; i >= tier; i-- {
		if c := cmp.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}
