package verify

import "slices"

// Who puts packets into a channel where one free place is enough.
const (
	nobody  int32 = -1
	several int32 = -2 // channels, or a NIC
)

// rings are the bubble rings of a scene (Puente, Izu, Beivide, Gregorio, Vallejo, Prellezo: The
// Adaptive Bubble Router, 2001; Carrion, Beivide, Gregorio, Vallejo: A Flow Control Mechanism to
// Avoid Message Deadlock in k-ary n-cube Networks, 1997): circles of channels, each of which is
// entered with one free place from the channel before it only, and with two from anywhere else.
//
// They are found by what the firmware asks for, wherever a packet can be. A ring never fills up:
// who enters it leaves a place free in the output queue, who moves along it takes one place and
// gives one back, and all else gives places back. Where its last free place is, a packet that waits
// for no more than that place goes on.
type rings struct {
	n    int     // how many
	of   []int32 // per channel: its ring, or nobody
	next []int32 // per channel of a ring: the next one, otherwise nobody
}

// rings finds the rings: circles of channels with one channel before them.
func (g *waitGraph) rings() *rings {
	r := &rings{of: make([]int32, len(g.before)), next: make([]int32, len(g.before))}
	seen := make([]int32, len(g.before)) // by which search
	for c := range g.before {
		r.of[c], r.next[c] = nobody, nobody
	}
	for c := range g.before {
		at := int32(c)
		for at >= 0 && seen[at] == 0 {
			seen[at] = int32(c) + 1
			at = g.before[at]
		}
		if at < 0 || seen[at] != int32(c)+1 {
			continue
		}
		for ; r.of[at] == nobody; at = g.before[at] { // round once more
			r.of[at] = int32(r.n)
			r.next[g.before[at]] = at
		}
		r.n++
	}
	return r
}

// along reports whether a channel is followed by another in a ring.
func (r *rings) along(from, to int32) bool { return r.next[from] == to }

// kept reports for each ring whether the channels that are left of a search for what is stuck may
// be: not when they are the whole ring, and every packet in it wants the next channel with no more
// than one free place, which one of them has.
func (r *rings) kept(in func(channel int32) bool, waits []wait, ids []int32, dead []bool) []bool {
	kept := make([]bool, r.n)
	for c, ring := range r.of {
		if ring >= 0 && !in(int32(c)) {
			kept[ring] = true
		}
	}
	for i, id := range ids {
		w := &waits[id]
		if ring := r.of[w.channel]; ring >= 0 && !dead[i] && !slices.Contains(w.one, r.next[w.channel]) {
			kept[ring] = true
		}
	}
	return kept
}

// extended reports whether the extended channel dependency graph has a cycle: each ring of g is one
// channel of it. What goes on along a ring depends on nothing; what would go on in the ring in any
// other way, on itself.
func (g *waitGraph) extended(r *rings) (cyclic bool) {
	first := make([]int32, r.n) // the channel that stands for a ring
	for c := len(r.of) - 1; c >= 0; c-- {
		if r.of[c] >= 0 {
			first[r.of[c]] = int32(c)
		}
	}
	node := func(c int32) int32 {
		if r.of[c] >= 0 {
			return first[r.of[c]]
		}
		return c
	}
	var edges [][2]int32
	for _, e := range g.edges {
		if !r.along(e[0], e[1]) {
			edges = append(edges, [2]int32{node(e[0]), node(e[1])})
		}
	}
	for _, e := range g.two {
		if r.along(e[0], e[1]) {
			edges = append(edges, [2]int32{node(e[0]), node(e[1])})
		}
	}
	return len(g.peel(edges)) < g.used()
}
