package topology

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/weft-fabric/weft"
)

// irregular is a connected random graph, as used for irregular networks by Lysne, Skeie, Reinemo,
// Theiss: Layered Routing in Irregular Networks, who do not say how they draw theirs. links counts
// the pairs of switches that are linked, each parallel times.
//
// The methods, which must never change because a seed names a graph: draws come from a PCG
// (math/rand/v2) with state (seed, 0), and a draw below n is the high word of draw*n, drawn again
// while the low word is less than 2^64 mod n (Lemire, Fast Random Integer Generation in an
// Interval), so that it is uniform. Links are then sorted by their ends, and each switch gives its
// ports in that order.
//
// tree: first a spanning tree, uniform among all trees on these switches, by the walk of Aldous and
// Broder: start at a drawn switch, step to a switch drawn among the others, and keep the step as a
// link whenever it enters a switch for the first time. Then pairs are drawn, a first and another,
// and kept unless already linked, until there are enough. So a graph is as likely as it has
// spanning trees: regular ones are more likely than among all graphs, trees and the full mesh as
// likely.
//
// uniform: pairs are drawn until there are enough different ones, and all of them again until the
// graph is connected: all connected graphs of so many switches and links are as likely. That is
// refused where it would take too long. Of a tree it is the walk above.
type irregular struct {
	switches, links int
	seed            uint64
	nics, parallel  int
	method          string
}

// The methods; the first is taken unless another is given.
const (
	methodTree    = "tree"
	methodUniform = "uniform"
)

func (r irregular) build() (*Graph, error) {
	switches, links, nics := r.switches, r.links, r.nics
	if switches < 2 {
		return nil, fmt.Errorf("%d switches, expected at least 2", switches)
	}
	all := capped(switches, nics)
	if err := bounds(switches, all, add(capped(links, r.parallel), all), r.parallel+nics); err != nil {
		return nil, err
	}
	least, most := switches-1, switches*(switches-1)/2
	if ports := switches * (weft.MaxPorts - nics) / 2 / r.parallel; ports < most {
		most = ports
	}
	if links < least || links > most {
		return nil,
			fmt.Errorf("%d links between %d switches, expected %d, to be connected, to %d, the pairs and ports there are",
				links, switches, least, most)
	}
	pairs, err := r.pairs()
	if err != nil {
		return nil, err
	}

	g := &Graph{
		Kind:     Irregular,
		Switches: make([]Switch, switches),
		NICs:     make([]NIC, all),
		Links:    make([]Link, 0, links*r.parallel+all),
	}
	for s := range g.Switches {
		g.Switches[s] = Switch{ID: weft.SwitchID(s), Name: "s" + strconv.Itoa(s)}
	}
	for i := range g.NICs {
		g.NICs[i] = NIC{ID: weft.NICID(i), Name: "n" + strconv.Itoa(i)}
	}
	end := func(s int) weft.End {
		sw := &g.Switches[s]
		sw.Ports++
		return weft.End{Node: sw.ID.Node(), Port: weft.PortID(sw.Ports - 1)}
	}
	for _, p := range pairs {
		for range r.parallel {
			a, b := end(p[0]), end(p[1])
			g.Links = append(g.Links, Link{ID: weft.LinkID(len(g.Links)), Name: g.linkName(a, b, r.parallel > 1), A: a, B: b})
		}
	}
	g.linkNICs(nics, func(s Switch) int { return s.Ports })
	for i := range g.Switches {
		s := &g.Switches[i]
		if s.Ports += nics; s.Ports > weft.MaxPorts {
			return nil, fmt.Errorf("%s would have %d ports, expected at most %d: take fewer links or another seed",
				s.Name, s.Ports, weft.MaxPorts)
		}
	}
	return g, nil
}

// pairs draws the links by the method.
func (r irregular) pairs() ([][2]int, error) {
	if r.method == methodUniform && r.links >= r.switches {
		return uniformPairs(r.switches, r.links, r.seed)
	}
	return randomPairs(r.switches, r.links, r.seed), nil
}

// randomPairs draws the links by method tree; see irregular. In each pair the lower switch is
// first, and the pairs are sorted.
func randomPairs(switches, links int, seed uint64) [][2]int {
	src := rand.NewPCG(seed, 0)
	pairs := make([][2]int, 0, links)
	linked := make(map[[2]int]bool, links)
	link := func(a, b int) {
		p := [2]int{min(a, b), max(a, b)}
		if !linked[p] {
			linked[p] = true
			pairs = append(pairs, p)
		}
	}
	other := func(than int) int {
		v := below(src, switches-1)
		if v >= than {
			v++
		}
		return v
	}
	entered := make([]bool, switches)
	at := below(src, switches)
	entered[at] = true
	for len(pairs) < switches-1 {
		next := other(at)
		if !entered[next] {
			entered[next] = true
			link(at, next)
		}
		at = next
	}
	for len(pairs) < links {
		a := below(src, switches)
		link(a, other(a))
	}
	sortPairs(pairs)
	return pairs
}

func sortPairs(pairs [][2]int) {
	slices.SortFunc(pairs, func(p, q [2]int) int { return cmp.Or(p[0]-q[0], p[1]-q[1]) })
}

// Bounds of method uniform, chosen by us: the draws take a quarter of a second, and note which
// pairs were drawn in 32 MiB. With twice as many links as switches one graph in four is connected
// of 64 switches, one in ten of 128, one in a hundred of 256.
const (
	maxUniformDraws    = 1 << 25
	maxUniformSwitches = 2048
)

// uniformPairs draws the links by method uniform; see irregular.
func uniformPairs(switches, links int, seed uint64) ([][2]int, error) {
	if switches > maxUniformSwitches {
		return nil, fmt.Errorf("%d switches by method=%s, expected at most %d: leave the method out", switches, methodUniform,
			maxUniformSwitches)
	}
	src := rand.NewPCG(seed, 0)
	drawn := make([]uint32, switches*switches) // per pair, the graph that it was last in
	parent := make([]int, switches)
	pairs := make([][2]int, 0, links)
	for draws, graph := 0, uint32(1); draws < maxUniformDraws; graph++ {
		pairs = pairs[:0]
		for len(pairs) < links {
			draws++
			a, b := below(src, switches), below(src, switches-1)
			if b >= a {
				b++
			}
			if a > b {
				a, b = b, a
			}
			if at := &drawn[a*switches+b]; *at != graph {
				*at = graph
				pairs = append(pairs, [2]int{a, b})
			}
		}
		if joined(parent, pairs) {
			sortPairs(pairs)
			return pairs, nil
		}
	}
	return nil,
		fmt.Errorf("no graph of %d links that was drawn joins %d switches: give more links, or leave method=%s out", links,
			switches, methodUniform)
}

// joined reports whether links join all switches, by a forest of those joined so far, which it is
// lent.
func joined(parent []int, pairs [][2]int) bool {
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	left := len(parent)
	for _, p := range pairs {
		if a, b := root(p[0]), root(p[1]); a != b {
			parent[a] = b
			left--
		}
	}
	return left == 1
}

// below draws uniformly from 0 .. n-1. Our own, because the draws of rand.IntN may change between
// releases of Go.
func below(src *rand.PCG, n int) int {
	m := uint64(n)
	for {
		hi, lo := bits.Mul64(src.Uint64(), m)
		if lo >= -m%m { // 2^64 mod n
			return int(hi)
		}
	}
}
