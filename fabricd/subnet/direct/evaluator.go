package direct

import (
	mathbits "math/bits"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Evaluator answers for one fault set after another whether mechanisms tolerate it, and by which each pair goes. Among up to 64 switches it
// keeps what each link is on as sets of switches in one word, and what each pair may do as sets of links; then it takes about a
// microsecond, and no memory but what it keeps of pairs when they first need misroutes. In larger nets every answer is a Solve. One goroutine
// owns it.
type Evaluator struct {
	net  *Net
	m    Mechanisms
	edge []int32 // per link id, -1 for others than those between switches
	dead []int   // edges
	mask edges   // the same
	cut  func(*topology.Link) bool

	small *small
	last  *Solution // of a large net, for the fault set
}

// edges is a set of edges of a small net.
type edges [4]uint64

func (s *edges) set(e int32) { s[e>>6] |= 1 << (e & 63) }

func (s *edges) meets(o *edges) bool {
	return s[0]&o[0]|s[1]&o[1]|s[2]&o[2]|s[3]&o[3] != 0
}

func (s *edges) within(o *edges) bool {
	return s[0]&^o[0]|s[1]&^o[1]|s[2]&^o[2]|s[3]&^o[3] == 0
}

// small is what is known of up to 64 switches, as bits of words.
type small struct {
	r    reach
	best [][]cost

	full    uint64
	bases   []cost   // per pair, without faults
	minimal []uint64 // per pair: T^0, the nodes on its shortest paths
	hit     []uint64 // per edge and node u: the nodes v such that an adaptive packet from u to v may take the edge
	sent    []uint64 // per edge and node u: the nodes v such that a deterministic packet from u to v takes it, whatever the source says
	told    []uint64 // per edge and node v: the nodes u of the same

	options [][]masked // per pair: restricted sub-paths, the best first; nil until asked for

	// Under the fault set:
	affected [64]uint64 // per node u: the nodes to which it is not adaptive
	from, to [64]uint64 // per node: what it reaches by one sub-path, and by what it is reached
	detours  bool       // from and to have misroutes
}

// masked is one option.
type masked struct {
	cost  cost
	links edges
}

// NewEvaluator is for a fault set that is empty at first. Mechanisms are as in [Net.Solve].
func (n *Net) NewEvaluator(m Mechanisms) *Evaluator {
	m.Intermediate = min(max(m.Intermediate, 0), MaxIntermediate)
	v := &Evaluator{net: n, m: m, edge: make([]int32, len(n.g.Links))}
	for i := range v.edge {
		v.edge[i] = -1
	}
	for e, id := range n.links {
		if id != noLink {
			v.edge[id] = int32(e)
		}
	}
	v.cut = func(l *topology.Link) bool { return v.edge[l.ID] >= 0 && slices.Contains(v.dead, int(v.edge[l.ID])) }
	if n.nodes <= 64 && len(n.links) <= 256 {
		v.small = newSmall(n, m)
	}
	v.Set(nil)
	return v
}

func newSmall(n *Net, m Mechanisms) *small {
	s := &small{
		r: reach{
			net: n, m: m, component: make([]int32, n.nodes), affected: make([]bits, n.nodes), sub: make([]cost, n.nodes*n.nodes),
		},
		best:  make([][]cost, m.Intermediate+1),
		full:  ^uint64(0) >> (64 - n.nodes),
		bases: make([]cost, n.nodes*n.nodes), minimal: make([]uint64, n.nodes*n.nodes),
		hit: make([]uint64, len(n.links)*n.nodes), sent: make([]uint64, len(n.links)*n.nodes), told: make([]uint64, len(n.links)*n.nodes),
		options: make([][]masked, n.nodes*n.nodes),
	}
	for z := range s.best {
		s.best[z] = make([]cost, n.nodes)
	}
	var others [16]uint8
	for u := range n.nodes {
		s.r.affected[u] = newBits(n.nodes)
		for e := range n.links {
			row := newBits(n.nodes)
			if n.edge[e/len(n.dims)*n.directions()+e%len(n.dims)] >= 0 {
				n.affected(u, e, row)
			}
			s.hit[e*n.nodes+u] = row[0]
		}
		for v := range n.nodes {
			s.bases[u*n.nodes+v] = cost(n.distance(u, v)) * costHop
			for i := range n.nodes {
				if n.distance(u, i)+n.distance(i, v) == n.distance(u, v) {
					s.minimal[u*n.nodes+v] |= 1 << i
				}
			}
			if len(n.others(u, v, m.Either, others[:0])) > 1 {
				continue // the faults must be asked of each choice
			}
			n.fixed(u, v, m.InDirectionOrder(), 0, func(e int) bool {
				s.sent[e*n.nodes+u] |= 1 << v
				s.told[e*n.nodes+v] |= 1 << u
				return true
			})
		}
	}
	return s
}

// Set replaces the fault set. Links of NICs do not count.
func (v *Evaluator) Set(dead []weft.LinkID) {
	v.dead, v.mask, v.last = v.dead[:0], edges{}, nil
	for _, id := range dead {
		if int(id) < len(v.edge) && v.edge[id] >= 0 {
			v.dead = append(v.dead, int(v.edge[id]))
		}
	}
	if v.small == nil {
		return
	}
	k := len(v.net.dims)
	for e, id := range v.net.links {
		if id == noLink && v.net.edge[e/k*2*k+e%k] >= 0 {
			v.dead = append(v.dead, e)
		}
	}
	for _, e := range v.dead {
		v.mask.set(int32(e))
	}
	v.small.set(v)
}

// set computes what is reached by one sub-path without misroutes.
func (s *small) set(v *Evaluator) {
	n, m := v.net.nodes, v.m
	affected, from, to := s.affected[:n], s.from[:n], s.to[:n]
	clear(affected)
	for _, e := range v.dead {
		hit := s.hit[e*n:][:n]
		for u, w := range hit {
			affected[u] |= w
		}
	}
	s.detours = false
	if !m.Deterministic {
		for u, w := range affected {
			from[u] = s.full &^ w
		}
		copy(to, from) // links die in both directions
		return
	}
	clear(from)
	clear(to)
	for _, e := range v.dead {
		sent, told := s.sent[e*n:][:n], s.told[e*n:][:n]
		for u, w := range sent {
			from[u] |= w
		}
		for u, w := range told {
			to[u] |= w
		}
	}
	for u := range from {
		from[u], to[u] = s.full&^from[u], s.full&^to[u]
	}
	if m.Either {
		s.chosen(v)
	}
}

// chosen takes out what is reached by none of the choices that the source has half way round.
func (s *small) chosen(v *Evaluator) {
	n := v.net.nodes
	var others [16]uint8
	for u := range n {
		for w := s.affected[u]; w != 0; w &= w - 1 {
			d := mathbits.TrailingZeros64(w)
			if len(v.net.others(u, d, true, others[:0])) > 1 && s.restricted(v, u, d).misroutes() > 0 {
				s.from[u] &^= 1 << d
				s.to[d] &^= 1 << u
			}
		}
	}
}

// restricted is the least cost of a sub-path from u to v that is not adaptive.
func (s *small) restricted(v *Evaluator, u, d int) cost {
	list := s.options[u*v.net.nodes+d]
	if list == nil {
		list = s.list(v, u, d)
		s.options[u*v.net.nodes+d] = list
	}
	for i := range list {
		if !list[i].links.meets(&v.mask) {
			return list[i].cost
		}
	}
	return costNever
}

// list are the restricted options from u to d, the best first, without those that have all links of a better one and so are never needed. It
// ends with one that never works.
func (s *small) list(v *Evaluator, u, d int) (list []masked) {
	v.net.options(v.m, u, d, func(o *option) bool {
		if o.way.n > 0 || o.way.fixed {
			x := masked{cost: o.cost}
			for _, e := range o.edges {
				x.links.set(e)
			}
			list = append(list, x)
		}
		return true
	})
	slices.SortStableFunc(list, func(a, b masked) int { return int(a.cost) - int(b.cost) })
	kept := list[:0]
	for i := range list {
		if !slices.ContainsFunc(kept, func(better masked) bool { return better.links.within(&list[i].links) }) {
			kept = append(kept, list[i])
		}
	}
	return slices.Clip(append(kept, masked{cost: costNever}))
}

// Tolerated reports whether every pair that live links join has a way.
func (v *Evaluator) Tolerated() bool {
	if v.small == nil {
		return v.solve().Tolerated()
	}
	s := v.small
	left := s.left(v)
	if left && v.m.Misroute && !s.detours {
		s.addDetours(v)
		left = s.left(v)
	}
	return !left
}

func (v *Evaluator) solve() *Solution {
	if v.last == nil {
		v.last = v.net.Solve(v.m, v.cut, nil)
	}
	return v.last
}

// left reports whether some pair that live links join is not reached by the sub-paths that there may be.
func (s *small) left(v *Evaluator) bool {
	n := v.net.nodes
	from := s.from
	for range v.m.Intermediate - 1 {
		before := from
		for u, w := range s.from[:n] {
			for ; w != 0; w &= w - 1 {
				from[u] |= before[mathbits.TrailingZeros64(w)]
			}
		}
	}
	joined := uint64(0) // with node 0, when asked for
	for u, w := range s.affected[:n] {
		w &^= from[u]
		for ; w != 0; w &= w - 1 {
			d := mathbits.TrailingZeros64(w)
			if v.m.Intermediate > 0 && from[u]&s.to[d] != 0 {
				continue
			}
			if joined == 0 {
				joined = s.joined(v, 0)
			}
			if joined == s.full || s.joined(v, u)>>d&1 == 1 {
				return true
			}
		}
	}
	return false
}

// addDetours adds to what is reached by one sub-path what misroutes reach.
func (s *small) addDetours(v *Evaluator) {
	s.detours = true
	for u := range v.net.nodes {
		for w := s.affected[u] &^ s.from[u]; w != 0; w &= w - 1 {
			d := mathbits.TrailingZeros64(w)
			if s.restricted(v, u, d) < costNever {
				s.from[u] |= 1 << d
				s.to[d] |= 1 << u
			}
		}
	}
}

// joined are the nodes that live links join with u.
func (s *small) joined(v *Evaluator, u int) uint64 {
	n := v.net
	seen, next := uint64(1)<<u, uint64(1)<<u
	for next != 0 {
		at := mathbits.TrailingZeros64(next)
		next &= next - 1
		for r := range n.directions() {
			to, e := n.next[at*n.directions()+r], n.edge[at*n.directions()+r]
			if to >= 0 && seen>>to&1 == 0 && v.mask[e>>6]>>(e&63)&1 == 0 {
				seen |= 1 << to
				next |= 1 << to
			}
		}
	}
	return seen
}

// Count counts what the fault set does to all pairs.
func (v *Evaluator) Count(c *Counts) {
	if v.small == nil {
		*c = v.solve().Counts
		return
	}
	*c = Counts{}
	v.small.count(v, c)
}

// count is [Net.Solve] on what the words know.
func (s *small) count(v *Evaluator, c *Counts) {
	n := v.net.nodes
	s.components(v)
	r := &s.r
	copy(r.sub, s.bases)
	for u := range n {
		r.affected[u][0] = s.affected[u]
		for w := s.affected[u]; w != 0; w &= w - 1 {
			d := mathbits.TrailingZeros64(w)
			at := &r.sub[u*n+d]
			switch {
			case v.m.Deterministic && s.from[u]>>d&1 == 1 && !s.detours:
				*at += costFixed
			case (v.m.Misroute || v.m.Deterministic) && r.component[u] == r.component[d]:
				*at = s.restricted(v, u, d)
			default:
				*at = costNever
			}
		}
	}
	wanted := bits{0}
	for d := range n {
		wanted[0] = s.plain(v, d, c)
		if wanted[0] == 0 {
			continue
		}
		r.costs(d, wanted, s.best)
		best := s.best[len(s.best)-1]
		for w := wanted[0]; w != 0; w &= w - 1 {
			u := mathbits.TrailingZeros64(w)
			switch cost := best[u]; {
			case r.component[u] != r.component[d]:
				c.Excused++
			case cost == costNever:
				c.Affected++
				c.NoWay++
			default:
				c.Affected++
				c.By[cost.use()]++
			}
		}
	}
}

// plain counts the affected pairs to d, most of them as a rule, that have a shortest path by way of an intermediate node, all adaptively, which
// nothing is preferred to. It returns the others.
func (s *small) plain(v *Evaluator, d int, c *Counts) (others uint64) {
	others = s.affected[d]
	if v.m.Intermediate == 0 {
		return others
	}
	reached := s.full &^ s.affected[d]
	for w := others; w != 0; w &= w - 1 {
		u := mathbits.TrailingZeros64(w)
		if s.minimal[u*v.net.nodes+d]&reached&^s.affected[u] != 0 {
			others &^= 1 << u
			c.Affected++
			c.By[NewUse(1, false, false)]++
		}
	}
	return others
}

func (s *small) components(v *Evaluator) {
	for u := range s.r.component {
		s.r.component[u] = -1
	}
	for u := range s.r.component {
		if s.r.component[u] >= 0 {
			continue
		}
		for w := s.joined(v, u); w != 0; w &= w - 1 {
			s.r.component[mathbits.TrailingZeros64(w)] = int32(u)
		}
	}
}
