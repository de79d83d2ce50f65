package verify

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// symmetry is a group of renumberings of a tree that take links to links. A firmware that does not mind how ports are numbered does
// the same, renumbered, with a set of faults and with its image, so one set of each orbit is enough.
//
// In a switch <w,l> the digits below l say which subtree it is in, those from l on which copy of the subtree's root. Every digit
// may be renumbered in each of the two meanings alone: a permutation each, the same for all switches.
type symmetry struct {
	images [][]int32 // per renumbering: where each element goes
	about  string
}

// maxRenumberings bounds the group: every set is compared with all its images.
const maxRenumberings = 5000

// newSymmetry finds the group of g, or nil when there is none worth having.
func newSymmetry(g *topology.Graph, s *Sets) *symmetry {
	if len(g.Switches) == 0 || g.Place(0).Tree == nil || s.List != nil || s.Samples > 0 {
		return nil
	}
	places := len(g.Switches[0].Digits)
	subtree, copies := make([]int, places), make([]int, places)
	for _, sw := range g.Switches {
		for i, d := range sw.Digits {
			if i < int(sw.Tier) {
				subtree[i] = max(subtree[i], d+1)
			} else {
				copies[i] = max(copies[i], d+1)
			}
		}
	}
	both := slices.Concat(subtree, copies)
	switch {
	case order(both) <= maxRenumberings:
		return renumber(g, s, both, func(i int, copied bool) int {
			if copied {
				return places + i
			}
			return i
		}, "every digit of the switches renumbered, as subtree and as copy")
	case slices.Equal(subtree, copies) && order(subtree) <= maxRenumberings:
		return renumber(g, s, subtree, func(i int, _ bool) int { return i }, "every digit of the switches renumbered")
	}
	return nil
}

// order is the size of the group that permutes so many values each.
func order(sizes []int) int {
	n := 1
	for _, s := range sizes {
		for i := 2; i <= s; i++ {
			n *= i
			if n > maxRenumberings {
				return n
			}
		}
	}
	return n
}

func renumber(g *topology.Graph, s *Sets, sizes []int, which func(digit int, copied bool) int, about string) *symmetry {
	y := &symmetry{}
	perms := make([][]int, len(sizes))
	var choose func(i int) bool
	choose = func(i int) bool {
		if i == len(sizes) {
			image, ok := imageOf(g, s, perms, which)
			y.images = append(y.images, image)
			return ok
		}
		return permutations(sizes[i], func(p []int) bool {
			perms[i] = p
			return choose(i + 1)
		})
	}
	if !choose(0) || len(y.images) < 2 {
		return nil
	}
	y.about = fmt.Sprintf("%s: %d renumberings, one set of each orbit explored", about, len(y.images))
	return y
}

// imageOf is where each element goes, and whether the renumbering takes links to links.
func imageOf(g *topology.Graph, s *Sets, perms [][]int, which func(int, bool) int) ([]int32, bool) {
	to := func(id uint32) (weft.SwitchID, bool) {
		sw := g.Switches[id]
		digits := slices.Clone(sw.Digits)
		for i, d := range digits {
			digits[i] = perms[which(i, i >= int(sw.Tier))][d]
		}
		i := slices.IndexFunc(g.Switches, func(o topology.Switch) bool { return o.Tier == sw.Tier && slices.Equal(o.Digits, digits) })
		return weft.SwitchID(max(i, 0)), i >= 0
	}
	image := make([]int32, len(s.elements))
	for i, e := range s.elements {
		if e.Switch {
			sw, ok := to(e.ID)
			if !ok {
				return nil, false
			}
			image[i] = int32(s.index(Element{Switch: true, ID: uint32(sw)}))
			continue
		}
		l := g.Links[e.ID]
		a, okA := to(l.A.Node.Index)
		b, okB := to(l.B.Node.Index)
		if !okA || !okB {
			return nil, false
		}
		found := false
		for p := range g.Place(a).Ports() {
			if end, id, ok := g.Peer(weft.End{Node: a.Node(), Port: weft.PortID(p)}); ok && end.Node == b.Node() {
				image[i], found = int32(s.index(Element{ID: uint32(id)})), true
				break
			}
		}
		if !found {
			return nil, false
		}
	}
	return image, true
}

// permutations calls f with every permutation of n values until it returns false.
func permutations(n int, f func([]int) bool) bool {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	var swap func(i int) bool
	swap = func(i int) bool {
		if i == n {
			return f(slices.Clone(p))
		}
		for j := i; j < n; j++ {
			p[i], p[j] = p[j], p[i]
			if !swap(i + 1) {
				return false
			}
			p[i], p[j] = p[j], p[i]
		}
		return true
	}
	return swap(0)
}

// orbit is how many sets a set stands for: the size of its orbit if it is the first of it, otherwise 0.
func (y *symmetry) orbit(set []int32, image []int32) (size int) {
	same := 0
	for _, to := range y.images {
		image = image[:0]
		for _, e := range set {
			image = append(image, to[e])
		}
		slices.Sort(image)
		switch slices.Compare(image, set) {
		case -1:
			return 0
		case 0:
			same++
		}
	}
	return len(y.images) / same
}
