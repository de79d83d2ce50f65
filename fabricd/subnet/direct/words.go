package direct

import (
	mathbits "math/bits"
	"slices"
)

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
	// per edge and node u: the nodes v such that a deterministic packet from u to v takes it, whatever
	// the source says
	sent []uint64

	options [][]masked // per pair: restricted sub-paths, the best first; nil until asked for

	// Under the fault set:
	affected [64]uint64 // per node u: the nodes to which it is not adaptive
	from     [64]uint64 // per node: what it reaches by one sub-path without misroutes
}

// masked is one option.
type masked struct {
	cost  cost
	links edges
}

func newSmall(n *Net, m Mechanisms) *small {
	s := &small{
		r: reach{
			net: n, m: m, component: make([]int, n.nodes), affected: make([]bits, n.nodes), sub: make([]cost, n.nodes*n.nodes),
		},
		best:  make([][]cost, m.Intermediate+1),
		full:  ^uint64(0) >> (64 - n.nodes),
		bases: make([]cost, n.nodes*n.nodes), minimal: make([]uint64, n.nodes*n.nodes),
		hit: make([]uint64, len(n.links)*n.nodes), sent: make([]uint64, len(n.links)*n.nodes),
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
			if n.there(e) {
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
				return true
			})
		}
	}
	return s
}

// set computes what is reached by one sub-path without misroutes.
func (s *small) set(v *Evaluator) {
	n, m := v.net.nodes, v.m
	affected, from := s.affected[:n], s.from[:n]
	clear(affected)
	for _, e := range v.dead {
		hit := s.hit[e*n:][:n]
		for u, w := range hit {
			affected[u] |= w
		}
	}
	if !m.Deterministic {
		for u, w := range affected {
			from[u] = s.full &^ w
		}
		return
	}
	clear(from)
	for _, e := range v.dead {
		sent := s.sent[e*n:][:n]
		for u, w := range sent {
			from[u] |= w
		}
	}
	for u := range from {
		from[u] = s.full &^ from[u]
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

// list are the restricted options from u to d, the best first, without those that have all links of
// a better one and so are never needed. It ends with one that never works.
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
