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

// newIrregular makes a connected random graph without parallel links, as used for irregular networks by Lysne, Skeie,
// Reinemo, Theiss: Layered Routing in Irregular Networks. links counts those between switches.
//
// The method, which must never change because a seed names a graph: draws come from a PCG (math/rand/v2) with state
// (seed, 0), and a draw below n is the high word of draw*n, drawn again while the low word is less than 2^64 mod n
// (Lemire, Fast Random Integer Generation in an Interval), so that it is uniform. First a spanning tree, uniform among
// all trees on these switches, by the walk of Aldous and Broder: start at a drawn switch, step to a switch drawn among
// the others, and keep the step as a link whenever it enters a switch for the first time. Then pairs are drawn, a first
// and another, and kept unless already linked, until there are enough. Links are then sorted by their ends, and each
// switch gives its ports in that order.
func newIrregular(switches, links int, seed uint64, nics int) (*Graph, error) {
	if switches < 2 {
		return nil, fmt.Errorf("%d switches, expected at least 2", switches)
	}
	all := capped(switches, nics)
	if err := bounds(switches, all, add(links, all), 1+nics); err != nil {
		return nil, err
	}
	least, most := switches-1, switches*(switches-1)/2
	if ports := switches * (weft.MaxPorts - nics) / 2; ports < most {
		most = ports
	}
	if links < least || links > most {
		return nil, fmt.Errorf("%d links between %d switches, expected %d, to be connected, to %d, the pairs and ports there are",
			links, switches, least, most)
	}
	pairs := randomPairs(switches, links, seed)

	g := &Graph{
		Kind:     Irregular,
		Switches: make([]Switch, switches),
		NICs:     make([]NIC, all),
		Links:    make([]Link, 0, links+all),
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
		a, b := end(p[0]), end(p[1])
		g.Links = append(g.Links, Link{ID: weft.LinkID(len(g.Links)), Name: g.linkName(a, b, false), A: a, B: b})
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

// randomPairs draws the links; see newIrregular. In each pair the lower switch is first, and the pairs are sorted.
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
	slices.SortFunc(pairs, func(p, q [2]int) int { return cmp.Or(p[0]-q[0], p[1]-q[1]) })
	return pairs
}

// below draws uniformly from 0 .. n-1. Our own, because the draws of rand.IntN may change between releases of Go.
func below(src *rand.PCG, n int) int {
	m := uint64(n)
	for {
		hi, lo := bits.Mul64(src.Uint64(), m)
		if lo >= -m%m { // 2^64 mod n
			return int(hi)
		}
	}
}
