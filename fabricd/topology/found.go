package topology

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-fabric/weft"
)

// findTree finds the tiers of a listed graph and the places of its switches from the links alone.
// It errs, and changes nothing, when the graph is no tree. Switches and links of the tree may be
// missing, and tiers may differ in their radix.
//
// A switch is as many tiers above the leaves as it is links away from the nearest NIC. Two switches
// of one tier have the same digits 0 .. l-1 when links below and at tier l join them, and the same
// digits l .. n-2 when links above and at tier l do. So parts of the graph that lie in each other,
// below each tier and above it, are the digits.
func (g *Graph) findTree() error {
	g.Tiers, g.found = 0, nil
	f := treeFinder{g: g}
	if err := f.tiers(); err != nil {
		return err
	}
	f.digits()
	if err := f.unique(); err != nil {
		return err
	}
	return f.place()
}

// maxTiers bounds the tiers of a tree that is looked for; chosen by us. Fabrics have 2 to 4.
const maxTiers = 16

// treeFinder finds the tree in a graph.
type treeFinder struct {
	g    *Graph
	n    int     // tiers
	tier []int   // per switch
	w    [][]int // per switch: its digits
}

func (f *treeFinder) tiers() error {
	g := f.g
	var leaves []int32
	for s := range g.Switches {
		if slices.ContainsFunc(g.ports(weft.SwitchID(s)), func(p peer) bool { return p.end.Node.Kind == weft.KindNIC }) {
			leaves = append(leaves, int32(s))
		}
	}
	all := g.Adjacency(nil)
	away := make([]int32, len(g.Switches)) // links to the nearest switch with a NIC
	all.Distances(away, nil, leaves...)
	for s, a := range away {
		if a < 0 {
			return fmt.Errorf("no links lead from switch %s to a NIC", g.Switches[s].Name)
		}
		f.n = max(f.n, int(a)+1)
	}
	if f.n > maxTiers {
		return fmt.Errorf("a switch is %d links away from the nearest NIC, expected at most %d", f.n-1, maxTiers-1)
	}
	joined := map[[2]weft.Node]string{}
	for _, l := range g.Links {
		if !l.BetweenSwitches() {
			continue
		}
		a, b := away[l.A.Node.Index], away[l.B.Node.Index]
		first, twice := joined[[2]weft.Node{l.A.Node, l.B.Node}]
		switch {
		case a == b && a == 0:
			return fmt.Errorf("link %s joins two switches that NICs hang on", l.Name)
		case a == b:
			return fmt.Errorf("link %s joins two switches of one tier: the way from both to the nearest NIC has %s between "+
				"switches", l.Name, linkCount(int(a)))
		case twice:
			return fmt.Errorf("links %s and %s join the same switches", first, l.Name)
		}
		joined[[2]weft.Node{l.A.Node, l.B.Node}] = l.Name
	}
	if f.n < 2 {
		return errors.New("all NICs hang on one switch")
	}
	f.tier = make([]int, len(away))
	for s, a := range away {
		f.tier[s] = f.n - 1 - int(a)
	}
	return nil
}

// linkCount is a number of links in words.
func linkCount(links int) string {
	if links == 1 {
		return "1 link"
	}
	return fmt.Sprintf("%d links", links)
}

// digits numbers the parts of the graph: those at and below each tier, which are digits of the
// switches under it, and those at and above each tier.
func (f *treeFinder) digits() {
	f.w = make([][]int, len(f.tier))
	for s := range f.w {
		f.w[s] = make([]int, f.n-1)
	}
	for below := range 2 {
		// parts[i] are those at i tiers and more from the leaves, or from the top.
		var inner []int
		for i := range f.n {
			from := func(s int) int { // how many tiers from there
				if below == 0 {
					return f.n - 1 - f.tier[s]
				}
				return f.tier[s]
			}
			outer := f.parts(func(s int) bool { return from(s) <= i })
			if inner != nil {
				at := i - 1 // the digit that links from the outermost tier change
				if below == 0 {
					at = f.n - 1 - i
				}
				f.number(inner, outer, at, func(s int) bool { return from(s) < i })
			}
			inner = outer
		}
	}
}

// parts numbers the connected parts of the switches that are in.
func (f *treeFinder) parts(in func(s int) bool) []int {
	among := f.g.Adjacency(func(l *Link) bool { return in(int(l.A.Node.Index)) && in(int(l.B.Node.Index)) })
	of, _ := among.Components(nil)
	return of
}

// number sets digit at of the switches that are in to the number of their inner part among those of
// their outer part.
func (f *treeFinder) number(inner, outer []int, at int, in func(s int) bool) {
	count, number := map[int]int{}, map[int]int{} // per outer part, and per inner part
	for s := range f.tier {
		if !in(s) {
			continue
		}
		v, ok := number[inner[s]]
		if !ok {
			v = count[outer[s]]
			count[outer[s]]++
			number[inner[s]] = v
		}
		f.w[s][at] = v
	}
}

// unique refuses graphs that have tiers and are no trees: two switches would have one place.
func (f *treeFinder) unique() error {
	order := make([]int, len(f.tier))
	for s := range order {
		order[s] = s
	}
	compare := func(a, b int) int { return cmp.Or(cmp.Compare(f.tier[a], f.tier[b]), slices.Compare(f.w[a], f.w[b])) }
	slices.SortStableFunc(order, compare)
	for i, s := range order[1:] {
		if before := order[i]; compare(before, s) == 0 {
			return fmt.Errorf("switches %s and %s of tier %d lead to the same switches above and below by different ways, "+
				"where a tree has one switch",
				f.g.Switches[before].Name, f.g.Switches[s].Name, f.tier[s])
		}
	}
	return nil
}

// place gives the switches their places.
func (f *treeFinder) place() error {
	g := f.g
	down, up := make([]int, f.n), make([]int, f.n) // ports, per tier
	for s, w := range f.w {
		l := f.tier[s]
		for i := range l {
			down[i] = max(down[i], w[i]+1)
		}
		for i := l; i < f.n-1; i++ {
			up[i+1] = max(up[i+1], w[i]+1)
		}
		nics := 0
		for _, p := range g.ports(weft.SwitchID(s)) {
			if p.end.Node.Kind == weft.KindNIC {
				nics++
			}
		}
		down[f.n-1] = max(down[f.n-1], nics)
	}
	k := oneK(down, up)
	above := make([]int, f.n+1) // NICs below a switch of each tier, and 1
	above[f.n] = 1
	for l := f.n - 1; l >= 0; l-- {
		if above[l] = above[l+1] * down[l]; above[l] > math.MaxUint32 {
			return fmt.Errorf("a tree with these tiers has places for more than %d NICs", math.MaxUint32)
		}
	}
	position := make([]uint32, len(g.NICs))
	trees := make([]weft.Tree, len(g.Switches))
	for s := range g.Switches {
		l, w := f.tier[s], f.w[s]
		t := &trees[s]
		*t = weft.Tree{
			K: k, N: f.n, Tier: weft.Tier(l), Down: down[l], W: w, Radix: down,
			Above: uint32(above[l]), Below: uint32(above[l+1]), Position: position,
			Ports: slices.Repeat([]weft.PortID{weft.NoPort}, down[l]+up[l]), Numbers: slices.Repeat([]int{-1},
				g.Switches[s].Ports),
		}
		for i := range l {
			t.Prefix = t.Prefix*uint32(down[i]) + uint32(w[i])
		}
		nics := 0
		for p, to := range g.ports(weft.SwitchID(s)) {
			j := -1
			switch n := to.end.Node; {
			case n.Kind == weft.KindNIC:
				j = nics
				nics++
				position[n.Index] = t.Prefix*uint32(down[l]) + uint32(j)
			case n.IsSwitch() && f.tier[n.Index] > l:
				j = f.w[n.Index][l]
			case n.IsSwitch():
				j = down[l] + f.w[n.Index][l-1]
			default:
				continue
			}
			t.Numbers[p], t.Ports[j] = j, weft.PortID(p)
		}
	}
	g.Tiers, g.found = f.n, trees
	for s := range g.Switches {
		g.Switches[s].Tier, g.Switches[s].Digits = weft.Tier(f.tier[s]), f.w[s]
	}
	return nil
}

// oneK is the k of a tree that is a k-ary n-tree or an m-port n-tree, of which switches, NICs and
// links may be missing; 0 for another. It makes the down ports those of the whole tree.
func oneK(down, up []int) int {
	k, n := up[len(up)-1], len(down)
	for l := 1; l < n; l++ {
		if up[l] != k || down[l] > k {
			return 0
		}
	}
	if k < 2 || down[0] > 2*k {
		return 0
	}
	for l := 1; l < n; l++ {
		down[l] = k
	}
	if down[0] > k {
		down[0] = 2 * k
	} else {
		down[0] = k
	}
	return k
}
