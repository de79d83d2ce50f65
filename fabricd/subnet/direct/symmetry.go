package direct

import "slices"

// Translates is the least number of steps in dimension i by which all nodes may move so that ways
// of the mechanisms are mapped onto ways; 0: there is none, as in a mesh. It is 1, but for
// deterministic sub-paths half way round, whose direction depends on where they begin.
func (n *Net) Translates(m Mechanisms, i int) int {
	d := &n.dims[i]
	mask := wayUp | wayDown
	if m.Deterministic && !m.Either {
		mask |= fixedUp
	}
	if d.size == 2 || n.next[(d.size-1)*d.stride*n.directions()+i] < 0 {
		return 0
	}
next:
	for step := 1; step < d.size; step++ {
		for a := range d.size {
			for b := range d.size {
				if (d.ways[a*d.size+b]^d.ways[(a+step)%d.size*d.size+(b+step)%d.size])&mask != 0 {
					continue next
				}
			}
		}
		return step
	}
	return 0
}

// Reflects reports whether the reflection of dimension i maps ways of the mechanisms onto ways.
// Shortest paths are the same under it. A deterministic sub-path in dimension order is, unless it
// is half way round, where it prefers one direction; direction order, and so misroutes, prefer one
// always.
func (n *Net) Reflects(m Mechanisms, i int) bool {
	if m.Misroute || m.Deterministic && m.InDirectionOrder() {
		return false
	}
	if !m.Deterministic || m.Either {
		return true
	}
	d := &n.dims[i]
	for a := range d.size {
		for b := range d.size {
			if a != b && d.ways[a*d.size+b].up(false) == d.ways[(d.size-1-a)*d.size+d.size-1-b].up(false) {
				return false
			}
		}
	}
	return true
}

// Swaps reports whether dimensions i and k are alike, and to swap them maps ways of the mechanisms
// onto ways. Whatever has an order of dimensions does not.
func (n *Net) Swaps(m Mechanisms, i, k int) bool {
	return slices.Equal(n.dims[i].hops, n.dims[k].hops) && !m.Misroute && !m.Deterministic
}
