package firmware

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// placeOf is the place of switch <w,l> in a k-ary n-tree, by the convention of PAPERS: down ports first, then up ports.
func placeOf(k, n, tier int, w []int) *weft.Place {
	pow := func(e int) uint32 {
		v := uint32(1)
		for range e {
			v *= uint32(k)
		}
		return v
	}
	t := &weft.Tree{K: k, N: n, Tier: weft.Tier(tier), Down: k, W: w, Above: pow(n - tier), Below: pow(n - 1 - tier)}
	for _, d := range w[:tier] {
		t.Prefix = t.Prefix*uint32(k) + uint32(d)
	}
	p := &weft.Place{Name: "s" + strconv.Itoa(tier) + "." + digits(w), Tree: t}
	for range k {
		if t.Leaf() {
			p.Roles = append(p.Roles, weft.RoleNIC)
		} else {
			p.Roles = append(p.Roles, weft.RoleDown)
		}
	}
	for range t.Ups() {
		p.Roles = append(p.Roles, weft.RoleUp)
	}
	return p
}

func digits(w []int) string {
	var b strings.Builder
	for _, d := range w {
		b.WriteString(strconv.Itoa(d))
	}
	return b.String()
}

// fakeView is a switch as a firmware sees it, set up by a test.
type fakeView struct {
	place     *weft.Place
	dead      uint64 // bit p: port p is down
	registers [1]uint64
	scratch   [64]Candidate
	rand      *rand.PCG
}

func newView(place *weft.Place) *fakeView { return &fakeView{place: place, rand: rand.NewPCG(1, 2)} }

func (v *fakeView) Place() *weft.Place                 { return v.place }
func (v *fakeView) PortUp(p weft.PortID) bool          { return int(p) < v.place.Ports() && v.dead>>p&1 == 0 }
func (v *fakeView) Room(weft.PortID, weft.VC) int      { return 2 }
func (v *fakeView) Occupancy(weft.PortID, weft.VC) int { return 0 }
func (v *fakeView) Credits(weft.PortID, weft.VC) int   { return 2 }
func (v *fakeView) Register(i int) uint64              { return v.registers[i] }
func (v *fakeView) Draw() uint64                       { return v.rand.Uint64() }
func (v *fakeView) Now() weft.Time                     { return 0 }
func (v *fakeView) Scratch() []Candidate               { return v.scratch[:0] }

// tree is all switches of a k-ary n-tree, tier by tier, in the order of their digits.
type tree struct {
	k, n, perTier int
	views         []*fakeView
}

func newTree(k, n int) *tree {
	t := &tree{k: k, n: n, perTier: 1}
	for range n - 1 {
		t.perTier *= k
	}
	for tier := range n {
		for i := range t.perTier {
			w := make([]int, n-1)
			for j, rest := n-2, i; j >= 0; j, rest = j-1, rest/k {
				w[j] = rest % k
			}
			t.views = append(t.views, newView(placeOf(k, n, tier, w)))
		}
	}
	return t
}

func (t *tree) nics() int { return t.perTier * t.k }

// leaf is the switch of a NIC and the port the NIC is at.
func (t *tree) leaf(nic weft.NICID) (sw int, p weft.PortID) {
	return (t.n-1)*t.perTier + int(nic)/t.k, weft.PortID(int(nic) % t.k)
}

// next is the switch and port at the other end of the link at port p of switch sw. At the leaves, down ports lead to NICs.
func (t *tree) next(sw int, p weft.PortID) (int, weft.PortID) {
	place := t.views[sw].place
	tier, w := int(place.Tree.Tier), place.Tree.W
	to := func(tier, digit, value int) int {
		i := 0
		for j, d := range w {
			if j == digit {
				d = value
			}
			i = i*t.k + d
		}
		return tier*t.perTier + i
	}
	if int(p) < t.k { // down port j of <w,l> leads to <w[l:=j],l+1>, and arrives at its up port w_l
		return to(tier+1, tier, int(p)), weft.PortID(t.k + w[tier])
	}
	j := int(p) - t.k // up port j of <w,l> leads to <w[l-1:=j],l-1>, and arrives at its down port w_(l-1)
	return to(tier-1, tier-1, j), weft.PortID(w[tier-1])
}

// links lists the links between switches by their upper ends.
func (t *tree) links() (ends []weft.End) {
	for sw := range (t.n - 1) * t.perTier {
		for p := range t.k {
			ends = append(ends, weft.End{Node: weft.SwitchID(sw).Node(), Port: weft.PortID(p)})
		}
	}
	return ends
}

// kill takes a link down, or brings it up again.
func (t *tree) kill(upper weft.End, dead bool) {
	sw, p := int(upper.Node.Index), upper.Port
	low, q := t.next(sw, p)
	for v, p := range map[*fakeView]weft.PortID{t.views[sw]: p, t.views[low]: q} {
		if dead {
			v.dead |= 1 << p
		} else {
			v.dead &^= 1 << p
		}
	}
}

// faultSets calls f with every set of at most most links dead.
func (t *tree) faultSets(most int, f func(set []weft.End)) {
	links := t.links()
	var pick func(from int, set []weft.End)
	pick = func(from int, set []weft.End) {
		f(set)
		if len(set) == most {
			return
		}
		for i := from; i < len(links); i++ {
			t.kill(links[i], true)
			pick(i+1, append(set[:len(set):len(set)], links[i]))
			t.kill(links[i], false)
		}
	}
	pick(0, nil)
}

// arrival is how a packet comes in at port p of sw.
func (t *tree) arrival(sw int, p weft.PortID, vc weft.VC) switching.Arrival {
	return switching.Arrival{Port: p, VC: vc, From: t.views[sw].place.Roles[p]}
}
