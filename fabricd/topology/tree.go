package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
)

// tree is the arithmetic of a k-ary n-tree or an m-port n-tree (k = m/2). Switch <w,l> has the n-1
// digits w_0 .. w_(n-2); switches are numbered tier by tier from the top and within a tier by the
// number their digits make; NIC d has the n digits of d. The conventions are those of Petrini and
// Vanneschi, k-ary n-trees, with tier 0 at the top as in Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic
// Fault Tolerance in Fat Trees.
type tree struct {
	k, n int
	top  int   // down ports of a top switch, the count of digit 0 below the top: k, or 2k in an m-port tree
	pow  []int // pow[i] is k to the i, 0 <= i <= n

	radix []int // down ports of a switch of each tier
}

// newKaryNTree makes n*k^(n-1) switches and k^n NICs.
func newKaryNTree(k, n int) (*Graph, error) {
	if k < 2 || n < 1 {
		return nil, fmt.Errorf("k = %d and n = %d, expected k of at least 2 and n of at least 1", k, n)
	}
	return newTree(KaryNTree, k, n, k)
}

// newMPortTree makes (2n-1)*k^(n-1) switches of m ports and 2*k^n NICs, k = m/2: two k-ary n-trees
// that share their top tier (Lin, Chung, Huang: A Multiple LID Routing Scheme for Fat-Tree-Based
// InfiniBand Networks).
func newMPortTree(m, n int) (*Graph, error) {
	if m < 4 || m%2 != 0 || n < 1 {
		return nil, fmt.Errorf("m = %d and n = %d, expected an even m of at least 4 and n of at least 1", m, n)
	}
	return newTree(MPortTree, m/2, n, m)
}

func newTree(kind Kind, k, n, top int) (*Graph, error) {
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
	switches := add(perTier, capped(below, n-1))
	if err := bounds(switches, nics, capped(nics, n), ports); err != nil {
		return nil, err
	}
	t := &tree{k: k, n: n, top: top, pow: make([]int, n+1)}
	t.pow[0] = 1
	for i := range n {
		t.pow[i+1] = t.pow[i] * k
		t.radix = append(t.radix, t.down(i))
	}
	g := &Graph{
		Kind: kind, Tiers: n, tree: t,
		Switches: make([]Switch, 0, switches),
		NICs:     make([]NIC, 0, nics),
		Links:    make([]Link, 0, nics*n),
	}
	t.nodes(g, nics)
	t.links(g)
	return g, nil
}

func (t *tree) nodes(g *Graph, nics int) {
	for l := range t.n {
		for i := range t.inTier(l) {
			w := t.digits(i, t.n-1)
			ports := t.down(l)
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
	for d := range nics {
		g.NICs = append(g.NICs, NIC{ID: weft.NICID(d), Name: "n" + t.join(t.digits(d, t.n))})
	}
}

// links joins down port j of every switch, in order, tier by tier.
func (t *tree) links(g *Graph) {
	for _, s := range g.Switches {
		l := int(s.Tier)
		for j := range t.down(l) {
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
		return weft.End{Node: weft.NICID(t.number(s.Digits)*t.k + j).Node()}
	}
	w := slices.Clone(s.Digits)
	w[l] = j
	return weft.End{
		Node: weft.SwitchID(t.base(l+1) + t.number(w)).Node(),
		Port: weft.PortID(t.k + s.Digits[l]), // up port w_l, the digit of the switch above
	}
}

// down is the number of down ports in tier l.
func (t *tree) down(l int) int {
	if l == 0 {
		return t.top
	}
	return t.k
}

// inTier is the number of switches in tier l.
func (t *tree) inTier(l int) int {
	if l == 0 {
		return t.pow[t.n-1]
	}
	return t.pow[t.n-1] / t.k * t.top
}

// base is the number of the first switch of tier l.
func (t *tree) base(l int) int {
	if l == 0 {
		return 0
	}
	return t.inTier(0) + (l-1)*t.inTier(1)
}

// digits are the count last digits of v in base k; the first of them is not reduced and may go to
// 2k.
func (t *tree) digits(v, count int) []int {
	w := make([]int, count)
	for i := count - 1; i > 0; i-- {
		w[i], v = v%t.k, v/t.k
	}
	if count > 0 {
		w[0] = v
	}
	return w
}

func (t *tree) number(w []int) int {
	v := 0
	for _, d := range w {
		v = v*t.k + d
	}
	return v
}

// join writes digits as names do: 03, or 0.3 when a digit of this tree may have two figures.
func (t *tree) join(w []int) string {
	sep := ""
	if t.top > 10 {
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
	above := t.pow[t.n-l]
	if l == 0 {
		above = t.pow[t.n-1] * t.top // all NICs: digit 0 may go to 2k
	}
	return &weft.Tree{
		Radix: t.radix, K: t.k, N: t.n, Tier: s.Tier, Down: t.down(l), W: s.Digits,
		Above: uint32(above), Below: uint32(t.pow[t.n-1-l]), Prefix: uint32(t.number(s.Digits) / t.pow[t.n-1-l]),
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
