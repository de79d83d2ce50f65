package direct

import mathbits "math/bits"

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
			case v.m.Deterministic && s.from[u]>>d&1 == 1:
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

// plain counts the affected pairs to d, most of them as a rule, that have a shortest path by way of
// an intermediate node, all adaptively, which nothing is preferred to. It returns the others.
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
			c.By[newUse(1, false, false)]++
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
			s.r.component[mathbits.TrailingZeros64(w)] = u
		}
	}
}
