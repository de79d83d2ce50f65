package tolerate

import "math/bits"

// walk calls judge for the canonical sets of k positions that begin with a canonical prefix, in
// ascending order, with how many sets each stands for, until judge returns false; walk reports
// whether it never did.
//
// A set that is the least of its orbit begins with one that is the least of its own: so sets grow
// by one position at a time, and one that is not the least is not grown (Read: Every One a Winner,
// Annals of Discrete Mathematics 2, 1978: orderly generation).
func (g *group) walk(prefix []uint16, k int, judge func(set []uint16, size int) bool) bool {
	set := make([]uint16, len(prefix), k)
	copy(set, prefix)
	return g.grow(set, make([]uint16, k), k, judge)
}

func (g *group) grow(set, room []uint16, k int, judge func(set []uint16, size int) bool) bool {
	size, ok := g.canonical(set, room[:len(set)])
	if !ok {
		return true
	}
	if len(set) == k {
		return judge(set, size)
	}
	next := 0
	if len(set) > 0 {
		next = int(set[len(set)-1]) + 1
	}
	for ; next+k-len(set) <= len(g.links); next++ {
		if !g.grow(append(set, uint16(next)), room, k, judge) {
			return false
		}
	}
	return true
}

// prefixes divide the sets of k positions into at least so many parts, unless there are fewer sets.
func (g *group) prefixes(k, atLeast int) (list [][]uint16) {
	list = [][]uint16{{}}
	for depth := 1; depth <= k && len(list) < atLeast; depth++ {
		var longer [][]uint16
		for _, p := range list {
			g.walk(p, depth, func(set []uint16, _ int) bool {
				longer = append(longer, append([]uint16(nil), set...))
				return true
			})
		}
		list = longer
	}
	return list
}

// Choose is how many sets of k there are among n; false when that is 2^63 or more.
func Choose(n, k int) (uint64, bool) {
	if k < 0 || k > n {
		return 0, true
	}
	k = min(k, n-k)
	c := uint64(1)
	for i := 1; i <= k; i++ {
		high, low := bits.Mul64(c, uint64(n-k+i))
		if high >= uint64(i) {
			return 0, false
		}
		if c, _ = bits.Div64(high, low, uint64(i)); c >= 1<<63 {
			return 0, false
		}
	}
	return c, true
}
