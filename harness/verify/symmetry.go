package verify

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

// symmetry is a group of renumberings of a tree that take links to links. A firmware that does not
// mind how ports are numbered does the same, renumbered, with a set of faults and with its image,
// so one set of each orbit is enough. That the firmware explored is one is not believed, see
// symmetryCheck.
//
// In a switch <w,l> the digits below l say which subtree it is in, those from l on which copy of
// the subtree's root. Every digit may be renumbered in each of the two meanings alone: a
// permutation each, the same for all switches.
type symmetry struct {
	images     [][]int32 // per renumbering: where each element goes
	generators []renumbering
	about      string
}

// renumbering is one element of the group.
type renumbering struct {
	name     string
	switches []int32         // per switch: its image
	ports    [][]weft.PortID // per switch and port: the port of the image
	nics     []int32         // per NIC: its image
}

// maxRenumberings bounds the group: every set is compared with all its images.
const maxRenumberings = 5000

// newSymmetry finds the group of g, or nil when there is none worth having.
func newSymmetry(g *topology.Graph, s *Sets) *symmetry {
	if len(g.Switches) == 0 || g.Place(0).Tree == nil || g.Place(0).Tree.Ports != nil || s.List != nil || s.Samples > 0 {
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
	n := newNumbering(g)
	switch both := slices.Concat(subtree, copies); {
	case order(both) <= maxRenumberings:
		n.sizes, n.which = both, func(i int, copied bool) int {
			if copied {
				return places + i
			}
			return i
		}
		return n.group(s, "every digit of the switches renumbered, as subtree and as copy", func(i int) string {
			return fmt.Sprintf("digit %d, as %s", i%places, [...]string{"subtree", "copy"}[i/places])
		})
	case slices.Equal(subtree, copies) && order(subtree) <= maxRenumberings:
		n.sizes, n.which = subtree, func(i int, _ bool) int { return i }
		return n.group(s, "every digit of the switches renumbered", func(i int) string { return fmt.Sprintf("digit %d", i) })
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

// numbering is how the switches of a tree are numbered by their digits.
type numbering struct {
	g     *topology.Graph
	at    map[string]int32                 // tier and digits -> switch
	sizes []int                            // of each permutation: how many values it permutes
	which func(digit int, copied bool) int // the permutation of a digit in one of its meanings
}

func newNumbering(g *topology.Graph) *numbering {
	n := &numbering{g: g, at: map[string]int32{}}
	for id, sw := range g.Switches {
		n.at[fmt.Sprint(sw.Tier, sw.Digits)] = int32(id)
	}
	return n
}

// group is all renumberings, or nil when one of them does not take links to links.
func (n *numbering) group(s *Sets, about string, name func(i int) string) *symmetry {
	y := &symmetry{}
	perms := make([][]int, len(n.sizes))
	var choose func(i int) bool
	choose = func(i int) bool {
		if i == len(n.sizes) {
			r, ok := n.renumber(perms)
			if ok {
				y.images = append(y.images, r.elements(n.g, s))
			}
			return ok
		}
		return permutations(n.sizes[i], func(p []int) bool {
			perms[i] = p
			return choose(i + 1)
		})
	}
	if !choose(0) || len(y.images) < 2 {
		return nil
	}
	for i, size := range n.sizes {
		for j := range perms {
			perms[j] = identity(n.sizes[j])
		}
		for _, by := range generators(size) {
			perms[i] = by
			r, _ := n.renumber(perms) // one of those above
			r.name = fmt.Sprintf("%s, renumbered %s", name(i), fmt.Sprint(by))
			y.generators = append(y.generators, r)
		}
	}
	y.about = fmt.Sprintf("%s: %d renumberings, one set of each orbit explored", about, len(y.images))
	return y
}

func identity(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// generators make all permutations of n values: the first two swapped, and all moved on by one.
func generators(n int) (list [][]int) {
	if n < 2 {
		return nil
	}
	swap, cycle := identity(n), identity(n)
	swap[0], swap[1] = 1, 0
	list = append(list, swap)
	if n > 2 {
		for i := range cycle {
			cycle[i] = (i + 1) % n
		}
		list = append(list, cycle)
	}
	return list
}

// renumber is what becomes of the switches, their ports and the NICs, and whether links are taken
// to links.
func (n *numbering) renumber(perms [][]int) (r renumbering, ok bool) {
	g := n.g
	r = renumbering{
		switches: make([]int32, len(g.Switches)), ports: make([][]weft.PortID, len(g.Switches)),
		nics: make([]int32, len(g.NICs)),
	}
	for id, sw := range g.Switches {
		digits := slices.Clone(sw.Digits)
		for i, d := range digits {
			digits[i] = perms[n.which(i, i >= int(sw.Tier))][d]
		}
		if r.switches[id], ok = n.at[fmt.Sprint(sw.Tier, digits)]; !ok {
			return r, false
		}
	}
	for id := range g.Switches {
		from, to := weft.SwitchID(id), weft.SwitchID(r.switches[id])
		r.ports[id] = make([]weft.PortID, g.Place(from).Ports())
		var taken switching.PortSet // of parallel links it is not known which becomes which
		for p := range r.ports[id] {
			r.ports[id][p] = weft.PortID(p)
			end, _, linked := g.Peer(weft.End{Node: from.Node(), Port: weft.PortID(p)})
			switch {
			case !linked:
			case end.Node.IsSwitch():
				to, ok := n.portTo(to, weft.SwitchID(r.switches[end.Node.Index]))
				if !ok || taken.Has(to) {
					return r, false
				}
				taken.Add(to)
				r.ports[id][p] = to
			default:
				image, _, linked := g.Peer(weft.End{Node: to.Node(), Port: weft.PortID(p)})
				if !linked || image.Node.IsSwitch() {
					return r, false
				}
				r.nics[end.Node.Index] = int32(image.Node.Index)
			}
		}
	}
	return r, true
}

// portTo is the port by which one switch leads to another.
func (n *numbering) portTo(from, to weft.SwitchID) (weft.PortID, bool) {
	for p := range n.g.Place(from).Ports() {
		if end, _, ok := n.g.Peer(weft.End{Node: from.Node(), Port: weft.PortID(p)}); ok && end.Node == to.Node() {
			return weft.PortID(p), true
		}
	}
	return 0, false
}

// elements is where each element goes.
func (r *renumbering) elements(g *topology.Graph, s *Sets) []int32 {
	image := make([]int32, len(s.elements))
	for i, e := range s.elements {
		to := Element{Switch: e.Switch}
		if e.Switch {
			to.ID = uint32(r.switches[e.ID])
		} else {
			a := g.Links[e.ID].A
			_, id, _ := g.Peer(weft.End{
				Node: weft.SwitchID(r.switches[a.Node.Index]).Node(),
				Port: r.ports[a.Node.Index][a.Port],
			})
			to.ID = uint32(id)
		}
		image[i] = int32(s.index(to))
	}
	return image
}

// permutations calls f with every permutation of n values until it returns false.
func permutations(n int, f func([]int) bool) bool {
	p := identity(n)
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

// orbit is how many sets a set stands for: the size of its orbit if it is the first of it,
// otherwise 0.
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
