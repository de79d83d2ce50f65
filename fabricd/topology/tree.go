package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
)

// tree is the arithmetic of a k-ary n-tree, an m-port n-tree (k = m/2) or a leaf-spine fabric.
// Switch <w,l> has the n-1 digits w_0 .. w_(n-2); switches are numbered tier by tier from the top
// and within a tier by the number their digits make; NIC d has the n digits of d. The conventions
// are those of Petrini and Vanneschi, k-ary n-trees, with tier 0 at the top as in Sem-Jacobsen,
// Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees.
type tree struct {
	n, k   int   // tiers; up ports of a switch below the top
	radix  []int // down ports of a switch of each tier: the values of each digit of a NIC
	tops   int   // switches of tier 0
	others int   // switches of each other tier
	size   []int // size[l] is how many NICs are below a switch of tier l; size[n] is 1
}

// newKaryNTree makes n*k^(n-1) switches and k^n NICs.
func newKaryNTree(k, n int) (*Graph, error) {
	if k < 2 || n < 1 {
		return nil, fmt.Errorf("k = %d and n = %d, expected k of at least 2 and n of at least 1", k, n)
	}
	return newFatTree(KaryNTree, k, n, k)
}

// newMPortTree makes (2n-1)*k^(n-1) switches of m ports and 2*k^n NICs, k = m/2: two k-ary n-trees
// that share their top tier (Lin, Chung, Huang: A Multiple LID Routing Scheme for Fat-Tree-Based
// InfiniBand Networks).
func newMPortTree(m, n int) (*Graph, error) {
	if m < 4 || m%2 != 0 || n < 1 {
		return nil, fmt.Errorf("m = %d and n = %d, expected an even m of at least 4 and n of at least 1", m, n)
	}
	return newFatTree(MPortTree, m/2, n, m)
}

// newFatTree makes a tree whose switches have k down ports, or top at the top, and k up ports.
func newFatTree(kind Kind, k, n, top int) (*Graph, error) {
	// Bounds first, on products that stop growing at the bound.
	perTier, nics := 1, top
	for i := 1; i < n && perTier < limit; i++ { // k >= 2: at most 30 rounds, whatever n is
		perTier = capped(perTier, k)
		nics = capped(nics, k)
	}
	below := capped(perTier, top/k) // switches of a tier under the top
	ports := 2 * k
	if n == 1 {
		ports = top
	}
	if err := bounds(add(perTier, capped(below, n-1)), nics, capped(nics, n), ports); err != nil {
		return nil, err
	}
	radix := slices.Repeat([]int{k}, n)
	radix[0] = top
	return newTree(kind, &tree{n: n, k: k, radix: radix, tops: perTier, others: below}), nil
}

// newLeafSpine makes spines at the top, each linked once to every leaf, and leaves with so many
// NICs each. Leaves have more NICs than links up when the fabric is oversubscribed.
func newLeafSpine(spines, leaves, nics int) (*Graph, error) {
	if spines < 1 || leaves < 2 || nics < 1 {
		return nil, fmt.Errorf("spines, leaves and NICs of each leaf are %d, %d and %d, expected at least 1, 2 and 1",
			spines, leaves, nics)
	}
	all := capped(leaves, nics)
	if err := bounds(add(spines, leaves), all, add(capped(spines, leaves), all),
		max(leaves, add(nics, spines))); err != nil {
		return nil, err
	}
	return newTree(LeafSpine, &tree{n: 2, k: spines, radix: []int{leaves, nics}, tops: spines, others: leaves}), nil
}

// newTree makes the graph of a tree that is within bounds.
func newTree(kind Kind, t *tree) *Graph {
	t.size = make([]int, t.n+1)
	t.size[t.n] = 1
	for l := t.n - 1; l >= 0; l-- {
		t.size[l] = t.size[l+1] * t.radix[l]
	}
	g := &Graph{
		Kind: kind, Tiers: t.n, tree: t,
		Switches: make([]Switch, 0, t.base(t.n)),
		NICs:     make([]NIC, 0, t.size[0]),
		Links:    make([]Link, 0, t.others*t.k*(t.n-1)+t.size[0]),
	}
	t.nodes(g)
	t.links(g)
	return g
}

func (t *tree) nodes(g *Graph) {
	for l := range t.n {
		for i := range t.inTier(l) {
			w := t.digits(i, t.n-1)
			ports := t.radix[l]
			if l > 0 {
				ports += t.k
			}
			name := "s" + strconv.Itoa(l)
			if len(w) > 0 {
				name += "." + t.join(w)
			}
			g.Switches = append(g.Switches, Switch{
				ID: weft.SwitchID(len(g.Switches)), Name: name, Tier: weft.Tier(l), Digits: w, Ports: ports,
			})
		}
	}
	for d := range t.size[0] {
		g.NICs = append(g.NICs, NIC{ID: weft.NICID(d), Name: "n" + t.join(t.digits(d, t.n))})
	}
}

// links joins down port j of every switch, in order, tier by tier.
func (t *tree) links(g *Graph) {
	for _, s := range g.Switches {
		l := int(s.Tier)
		for j := range t.radix[l] {
			a := weft.End{Node: s.ID.Node(), Port: weft.PortID(j)}
			b := t.below(s, j)
			g.Links = append(g.Links, Link{ID: weft.LinkID(len(g.Links)), Name: g.linkName(a, b, false), A: a, B: b})
		}
	}
}

// below is where down port j of a switch leads: to <w[l:=j], l+1>, or at the bottom to the NIC with
// last digit j.
func (t *tree) below(s Switch, j int) weft.End {
	l := int(s.Tier)
	if l == t.n-1 {
		return weft.End{Node: weft.NICID(t.number(s.Digits)*t.radix[l] + j).Node()}
	}
	w := slices.Clone(s.Digits)
	w[l] = j
	return weft.End{
		Node: weft.SwitchID(t.base(l+1) + t.number(w)).Node(),
		Port: weft.PortID(t.radix[l+1] + s.Digits[l]), // up port w_l, the digit of the switch above
	}
}

// inTier is the number of switches in tier l.
func (t *tree) inTier(l int) int {
	if l == 0 {
		return t.tops
	}
	return t.others
}

// base is the number of the first switch of tier l.
func (t *tree) base(l int) int {
	if l == 0 {
		return 0
	}
	return t.tops + (l-1)*t.others
}

// digits are the count first digits of a switch or NIC whose number among its like is v. The first
// is what the others leave, so nothing here asks how far it goes.
func (t *tree) digits(v, count int) []int {
	w := make([]int, count)
	for i := count - 1; i > 0; i-- {
		w[i], v = v%t.radix[i], v/t.radix[i]
	}
	if count > 0 {
		w[0] = v
	}
	return w
}

func (t *tree) number(w []int) int {
	v := 0
	for i, d := range w {
		v = v*t.radix[i] + d
	}
	return v
}

// join writes digits as names do: 03, or 0.3 when a digit of this tree may have two figures.
func (t *tree) join(w []int) string {
	sep := ""
	if t.k > 10 || slices.Max(t.radix) > 10 {
		sep = "."
	}
	var b strings.Builder
	for i, d := range w {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(strconv.Itoa(d))
	}
	return b.String()
}

// place is where a switch stands, for its firmware.
func (t *tree) place(s Switch) *weft.Tree {
	l := int(s.Tier)
	return &weft.Tree{
		Radix: t.radix, K: t.k, N: t.n, Tier: s.Tier, Down: t.radix[l], W: s.Digits,
		Above: uint32(t.size[l]), Below: uint32(t.size[l+1]), Prefix: uint32(t.number(s.Digits[:l])),
	}
}

// distance is the number of links on a shortest path. Digit i changes on the links between tiers i
// and i+1 and nowhere else, so a path must cross those of all digits that differ: from one of the
// two switches to the far side of them, all the way over, and back to the other, whichever way
// round is shorter.
func (t *tree) distance(a, b Switch) int {
	from, to := int(a.Tier), int(b.Tier)
	top, bottom := min(from, to), max(from, to)
	for i := range a.Digits {
		if a.Digits[i] != b.Digits[i] {
			top, bottom = min(top, i), max(bottom, i+1)
		}
	}
	over := bottom - top
	return over + min((from-top)+(bottom-to), (bottom-from)+(to-top))
}
