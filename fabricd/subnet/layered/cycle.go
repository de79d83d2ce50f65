package layered

import "slices"

// Cycle is a cycle of dependencies, each of its channels followed by the next and the last by the
// first; nil when there is none. It is a shortest one, for people read it, and of these the one
// with the lowest channel, first. Of a routing with an escape layer only that layer counts: what
// waits in the others may always enter it, and it is not left again, so no channel of it depends on
// one of another layer (Duato: A Necessary and Sufficient Condition for Deadlock-Free Adaptive
// Routing in Wormhole Networks: the extended dependency graph has the direct dependencies between
// escape channels only).
func (d *Dependencies) Cycle() []Channel {
	s := shortest{
		next: d.next, before: make([]int32, len(d.next)), depth: make([]int32, len(d.next)),
		walk: make([]int32, len(d.next)),
	}
	s.onlyCycles()
	for c := range d.next {
		if s.left(int32(c)) {
			s.through(int32(c))
		}
	}
	if s.best == nil {
		return nil
	}
	list := make([]Channel, len(s.best))
	for i, n := range s.best {
		list[i] = d.Channels.Channel(int(n))
	}
	return list
}

// shortest looks for a shortest cycle, breadth first from one channel after the other.
type shortest struct {
	next  [][]int32
	ahead []bool // of channels from which no cycle is reached: true

	before []int32 // on the way from the root of the search
	depth  []int32 // channels on that way
	walk   []int32 // the search that was there last
	walks  int32
	todo   []int32
	best   []int32
}

// left reports whether a channel can be on a cycle.
func (s *shortest) left(c int32) bool { return !s.ahead[c] && len(s.next[c]) > 0 }

// onlyCycles takes away, one after the other, channels after which nothing is left.
func (s *shortest) onlyCycles() {
	s.ahead = make([]bool, len(s.next))
	back := make([][]int32, len(s.next))
	open := make([]int32, len(s.next)) // how many of its successors are left
	for c, list := range s.next {
		open[c] = int32(len(list))
		for _, n := range list {
			back[n] = append(back[n], int32(c))
		}
	}
	for c := range s.next {
		if open[c] == 0 {
			s.ahead[c] = true
			s.todo = append(s.todo, int32(c))
		}
	}
	for len(s.todo) > 0 {
		c := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		for _, b := range back[c] {
			if open[b]--; open[b] == 0 {
				s.ahead[b] = true
				s.todo = append(s.todo, b)
			}
		}
	}
}

// through keeps a shortest cycle through root, if it is shorter than the best so far.
func (s *shortest) through(root int32) {
	s.walks++
	s.todo = append(s.todo[:0], root)
	s.walk[root], s.depth[root] = s.walks, 1
	for i := 0; i < len(s.todo); i++ {
		c := s.todo[i]
		if s.best != nil && int(s.depth[c]) >= len(s.best) {
			return
		}
		for _, n := range s.next[c] {
			switch {
			case n == root:
				s.keep(root, c)
				return
			case s.ahead[n] || s.walk[n] == s.walks:
			default:
				s.walk[n], s.depth[n], s.before[n] = s.walks, s.depth[c]+1, c
				s.todo = append(s.todo, n)
			}
		}
	}
}

func (s *shortest) keep(root, last int32) {
	s.best = s.best[:0]
	for c := last; c != root; c = s.before[c] {
		s.best = append(s.best, c)
	}
	s.best = append(s.best, root)
	slices.Reverse(s.best)
}
