package verify

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// siblings are the subtrees below the highest switches of a tree. Packets from one of them stand
// for those from all others but the destination's own: where two subtrees change places, links stay
// links.
//
// That the firmware does the same there is not believed. When the packets to a destination have
// been explored that start in its own subtree and in one other, the firmware is asked in each of
// the others what it was asked in that one. What would be asked next follows from the answers, so
// that equal answers are an exploration. Where one differs, the packets of all sources are
// explored. Of a firmware that says [switching.Firmware.Cyclic], a sample of the states is compared
// in large trees.
type siblings struct {
	of    []int32           // per NIC: its subtree
	swaps [2][]*renumbering // [0 or 1][b]: that subtree and subtree b change places; nil: they are one
	every int               // of so many states one is compared, with one of the subtrees
}

// sampledImages is of how many explored states one is compared where a sample is; chosen by us:
// some thousandths of what exploring the others would take.
const sampledImages = 32

// newSiblings is nil where fewer than three subtrees are moved by turns, or change places
// otherwise.
func newSiblings(m *model, o *mortals, turns []*renumbering, sampled bool) *siblings {
	n := len(turns)
	if n < 3 || m.number == nil || o.when != Before {
		return nil
	}
	swap, ok := swapped(m)
	if !ok || !o.keeps(m, swap) {
		return nil
	}
	s := &siblings{every: 1}
	if sampled {
		s.every = sampledImages
	}
	for nic := range m.g.NICs {
		leaf, _ := m.g.SwitchOf(weft.NICID(nic))
		s.of = append(s.of, int32(m.g.Switches[leaf].Digits[0]))
	}
	s.swaps[0] = []*renumbering{nil, swap}
	next := swap // of two that are beside each other
	for b := 2; b < n; b++ {
		next = turns[1].after(next.after(turns[n-1]))
		s.swaps[0] = append(s.swaps[0], next.after(s.swaps[0][b-1].after(next)))
	}
	s.swaps[1] = []*renumbering{swap, nil}
	for b := 2; b < n; b++ {
		s.swaps[1] = append(s.swaps[1], swap.after(s.swaps[0][b].after(swap)))
	}
	return s
}

// String says what was done.
func (s *siblings) String() string {
	return fmt.Sprintf("sources in one of %d subtrees explored for those in all but the destination's", len(s.swaps[0]))
}

// swapped is the renumbering by which the first two subtrees change places.
func swapped(m *model) (*renumbering, bool) {
	n, perms, values := subtreeDigit(m.g)
	if values < 2 {
		return nil, false
	}
	first := perms[len(perms)-1]
	first[0], first[1] = 1, 0
	r, ok := n.renumber(perms)
	return &r, ok
}

// standsFor is the subtree that stands for the others where packets go to a NIC.
func (s *siblings) standsFor(dst weft.NICID) int {
	if s.of[dst] == 0 {
		return 1
	}
	return 0
}

// others calls do, for each subtree that is not explored where packets go to a NIC, with the swap
// that makes it the one that is, until do returns false.
func (s *siblings) others(dst weft.NICID, do func(b int, swap *renumbering) bool) bool {
	for b, swap := range s.swaps[s.standsFor(dst)] {
		if swap != nil && b != int(s.of[dst]) && !do(b, swap) {
			return false
		}
	}
	return true
}

// explores reports whether packets from one NIC to another are explored.
func (s *siblings) explores(src, dst weft.NICID) bool {
	return s.of[src] == s.of[dst] || int(s.of[src]) == s.standsFor(dst)
}

// startExplored drops the starts of packets whose subtree another stands for.
func (w *lazyWalk) startExplored(f int, fs *flowSpace) {
	fl := &w.m.flows[f]
	w.restrict(fs, func(i int) bool { return w.siblings.explores(fl.srcs[i], fl.dst) })
}

// startAll lets packets of all sources start in the states of the source that stands for theirs. ok is
// false where the firmware does not do the same there.
func (w *lazyWalk) startAll(f int, fs *flowSpace) (ok bool) {
	s, fl := w.siblings, &w.m.flows[f]
	if !w.sameInOthers(f, f, nil) {
		return false
	}
	at := make([]int, len(s.of)) // per NIC: its place among the sources
	for i, src := range fl.srcs {
		at[src] = i
	}
	for i, src := range fl.srcs {
		if !s.explores(src, fl.dst) {
			swap := s.swaps[s.standsFor(fl.dst)][s.of[src]]
			fs.starts[i] = fs.starts[at[swap.nics[src]]]
		}
	}
	return true
}

// sameInOthers reports whether the firmware does in the subtrees that are not explored what it has done
// in the one that stands for them: with packets to the destination f, or to another one, to, which f
// becomes by a turn.
func (w *lazyWalk) sameInOthers(f, to int, turn *renumbering) bool {
	s, fs := w.siblings, &w.flows[f]
	old, now := &w.m.flows[f], &w.m.flows[to]
	apart, n := s.every, 0
	if s.every > 1 {
		apart *= len(s.swaps[0])
	}
	explored := s.standsFor(old.dst)
	var stands []int // the sources of the subtree that was explored
	for i, src := range old.srcs {
		if int(s.of[src]) == explored {
			stands = append(stands, i)
		}
	}
	const top = -1
	at := make([]int, len(fs.states)) // in which subtree a state is
	for i := range fs.states {
		if sw := &w.m.g.Switches[fs.states[i].sw]; sw.Tier == 0 {
			at[i] = top
		} else {
			at[i] = sw.Digits[0]
		}
	}
	return s.others(old.dst, func(b int, swap *renumbering) bool {
		n++
		from := (n*s.every + to) % apart
		by := chain{swap, turn}
		for j := from; j < len(stands); j += apart {
			i := stands[j]
			if !w.startsAlike(by, fs, fs.starts[i], by.nic(old.srcs[i]), now.dst) {
				return false
			}
		}
		for i := from; i < len(fs.states); i += apart {
			moved := at[i] == top || at[i] == explored || at[i] == b
			if moved && (w.lookedAt[i] == nil || !w.mirrored(by, to, fs.states[i], w.lookedAt[i])) {
				return false
			}
		}
		return true
	})
}

// chain is one renumbering and then another, which may be nil.
type chain [2]*renumbering

// at is what becomes of a switch and of its ports, which are in room where both renumber.
func (c chain) at(sw int32, room []weft.PortID) (to int32, ports []weft.PortID) {
	to, ports = c[0].switches[sw], c[0].ports[sw]
	if c[1] == nil {
		return to, ports
	}
	room = room[:0]
	for _, p := range ports {
		room = append(room, c[1].ports[to][p])
	}
	return c[1].switches[to], room
}

// nic is what becomes of a NIC.
func (c chain) nic(src weft.NICID) weft.NICID {
	to := c[0].nics[src]
	if c[1] != nil {
		to = c[1].nics[to]
	}
	return weft.NICID(to)
}
