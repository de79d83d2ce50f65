package direct

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Solution is how packets go around one set of faults. It is read-only.
type Solution struct {
	Mechanisms Mechanisms
	Pairs      int     // ordered pairs of different switches
	Affected   int     // of them, pairs that live links join, some of whose shortest paths have a fault
	Excused    int     // pairs that no live links join
	Tally      []Count // of the affected pairs that have a way, by the mechanisms used; those of fewer first
	Unroutable []Pair  // affected pairs without a way

	net       *Net
	component []int32
	to        []column // per destination
}

// Pair is an ordered pair of switches.
type Pair struct{ Src, Dst weft.SwitchID }

// Count is how many pairs use just these mechanisms.
type Count struct {
	Used  Used
	Pairs int
}

// column are the affected pairs of one destination.
type column struct {
	entries []entry // by source
	subs    []weft.SubHeader
}

type entry struct {
	src   weft.SwitchID
	cost  cost   // costNever: no way
	first uint32 // of subs
}

// Way is how packets of an affected pair go.
type Way struct {
	Src, Dst weft.SwitchID
	Length   int // hops
	Used     Used
	Subs     []weft.SubHeader // one per sub-path, as in a packet; may be more than a packet has room for
}

// Tolerated reports whether every pair that live links join has a way (section 5.1).
func (s *Solution) Tolerated() bool { return len(s.Unroutable) == 0 }

// Graph is the topology.
func (s *Solution) Graph() *topology.Graph { return s.net.g }

// count fills what is counted.
func (s *Solution) count() {
	n := s.net.nodes
	s.Pairs = n * (n - 1)
	tally := map[Used]int{}
	for d := range s.to {
		for u := range n {
			if s.component[u] != s.component[d] {
				s.Excused++
			}
		}
		for _, e := range s.to[d].entries {
			s.Affected++
			if e.cost == costNever {
				s.Unroutable = append(s.Unroutable, Pair{e.src, weft.SwitchID(d)})
				continue
			}
			tally[e.cost.used()]++
		}
	}
	slices.SortFunc(s.Unroutable, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst)) })
	for used, pairs := range tally {
		s.Tally = append(s.Tally, Count{used, pairs})
	}
	slices.SortFunc(s.Tally, func(a, b Count) int { return a.Used.compare(b.Used) })
}

func (u Used) compare(other Used) int {
	return cmp.Or(
		cmp.Compare(u.number(), other.number()), cmp.Compare(u.Intermediate, other.Intermediate),
		-cmp.Compare(truth(u.Deterministic), truth(other.Deterministic)),
	)
}

// number is how many different mechanisms it is.
func (u Used) number() int {
	return truth(u.Intermediate > 0) + truth(u.Deterministic) + truth(u.Misroute)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// All are the ways of the affected pairs, by destination and then by source.
func (s *Solution) All() iter.Seq[Way] {
	return func(yield func(Way) bool) {
		for d := range s.to {
			for i, e := range s.to[d].entries {
				if e.cost < costNever && !yield(s.way(d, i)) {
					return
				}
			}
		}
	}
}

func (s *Solution) way(d, i int) Way {
	c := &s.to[d]
	e := c.entries[i]
	subs := c.subs[e.first:][:e.cost.via()+1]
	return Way{e.src, weft.SwitchID(d), e.cost.hops(), e.cost.used(), slices.Clip(subs)}
}

// Way is how packets go from one switch to another. It has no sub-headers when all shortest paths are alive. It reports false for a pair
// without a way, and for one that no live links join.
func (s *Solution) Way(src, dst weft.SwitchID) (Way, bool) {
	if int(src) >= s.net.nodes || int(dst) >= s.net.nodes || !s.Joined(src, dst) {
		return Way{}, false
	}
	i, ok := slices.BinarySearchFunc(s.to[dst].entries, src, func(e entry, src weft.SwitchID) int { return cmp.Compare(e.src, src) })
	switch {
	case !ok:
		return Way{Src: src, Dst: dst, Length: s.net.distance(int(src), int(dst))}, true
	case s.to[dst].entries[i].cost == costNever:
		return Way{}, false
	}
	return s.way(int(dst), i), true
}

// Joined reports whether live links join two switches.
func (s *Solution) Joined(a, b weft.SwitchID) bool { return s.component[a] == s.component[b] }

// Isolated are the pairs that no live links join.
func (s *Solution) Isolated() iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		for a := range s.component {
			for b := range s.component {
				if s.component[a] != s.component[b] && !yield(Pair{weft.SwitchID(a), weft.SwitchID(b)}) {
					return
				}
			}
		}
	}
}

// Headers are the sub-headers as a packet carries them. The error says that a packet has no room for them.
func (w Way) Headers() (h weft.SubHeaders, err error) {
	if len(w.Subs) > len(h) {
		return h, fmt.Errorf("the way from switch %d to switch %d has %d intermediate nodes, a packet has room for %d: allow fewer with IxN",
			w.Src, w.Dst, len(w.Subs)-1, len(h)-1)
	}
	copy(h[:], w.Subs)
	return h, nil
}
