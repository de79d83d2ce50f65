package tolerate

import (
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
)

// links is a set of links, one bit each.
type links []uint64

func newLinks(n int) links { return make(links, (n+63)/64) }

func (s links) add(l weft.LinkID)      { s[l/64] |= 1 << (l % 64) }
func (s links) remove(l weft.LinkID)   { s[l/64] &^= 1 << (l % 64) }
func (s links) has(l weft.LinkID) bool { return s[l/64]>>(l%64)&1 == 1 }

func (s links) meets(other links) bool {
	for i, w := range s {
		if w&other[i] != 0 {
			return true
		}
	}
	return false
}

// in reports whether all of s are in other.
func (s links) in(other links) bool {
	for i, w := range s {
		if w&^other[i] != 0 {
			return false
		}
	}
	return true
}

// beyond is how many of s are not in other.
func (s links) beyond(other links) (n int) {
	for i, w := range s {
		n += bits.OnesCount64(w &^ other[i])
	}
	return n
}

func (s links) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// or adds all of other but those in not.
func (s links) or(other, not links) {
	for i, w := range other {
		s[i] |= w &^ not[i]
	}
}

// each visits the links of s, ascending.
func (s links) each(visit func(l weft.LinkID) bool) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			if !visit(weft.LinkID(64*i + bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// list are the links of s, ascending.
func (s links) list() []weft.LinkID { return slices.Collect(s.each) }

// least are the sets that hold no other of them, small ones first.
func least(sets []links) (kept []links) {
	slices.SortStableFunc(sets, func(a, b links) int { return a.count() - b.count() })
next:
	for _, s := range sets {
		for _, k := range kept {
			if k.in(s) {
				continue next
			}
		}
		kept = append(kept, s)
	}
	return kept
}
