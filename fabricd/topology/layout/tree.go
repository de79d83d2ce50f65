package layout

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// steepest is how far apart two tiers are for each unit that a link between them leads aside:
// flatter links would cross the boxes of the switches beside their own.
const steepest = 0.36

// tiers lays out a tree, tier 0 on top. Tiers are never closer than one unit, nor than half of the
// two that are furthest apart.
func tiers(g *topology.Graph) Layout {
	l := blank(Tree, g)
	inTier := make([][]int, g.Tiers)
	widest, most := 0, 0.0
	for i, s := range g.Switches {
		inTier[s.Tier] = append(inTier[s.Tier], i)
		widest = max(widest, len(inTier[s.Tier]))
	}
	for tier, list := range inTier {
		slices.SortFunc(list, func(a, b int) int { return across(g.Switches[a].Digits, g.Switches[b].Digits, tier) })
		for i, s := range list {
			l.Switches[s].X = (float64(i) + 0.5) * float64(widest) / float64(len(list))
		}
	}
	gaps := make([]float64, g.Tiers) // above each tier
	for _, k := range g.Links {
		if k.BetweenSwitches() {
			a, b := k.A.Node.Index, k.B.Node.Index
			low := max(g.Switches[a].Tier, g.Switches[b].Tier)
			gaps[low] = max(gaps[low], 1, steepest*math.Abs(l.Switches[a].X-l.Switches[b].X))
			most = max(most, gaps[low])
		}
	}
	y := 0.0
	for tier, list := range inTier {
		if tier > 0 {
			y += max(1, gaps[tier], most/2)
		}
		for _, s := range list {
			l.Switches[s].Y = y
		}
	}
	below := max(0.5, 0.2*most)
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
