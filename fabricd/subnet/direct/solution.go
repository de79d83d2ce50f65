package direct

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// Solution is how packets go around one set of faults. It is read-only.
type Solution struct {
	Mechanisms Mechanisms
	Pairs      int // ordered pairs of different switches
	Counts
	Unroutable []Pair // affected pairs without a way

	net       *Net
	component []int
	to        []column // per destination
}

// Pair is an ordered pair of switches.
type Pair struct{ Src, Dst weft.SwitchID }

// Counts are what one set of faults does to the ordered pairs of different switches.
type Counts struct {
	Affected int       // pairs that live links join, some of whose shortest paths have a fault
	Excused  int       // pairs that no live links join
	NoWay    int       // affected pairs without a way
	By       [Uses]int // the other affected pairs, by the mechanisms that their way uses
}

// Each is what By has, by number of mechanisms: I, Ix2, D, M, I+D, and so on.
func (c *Counts) Each() iter.Seq2[Use, int] {
	return func(yield func(Use, int) bool) {
		for kinds := range 4 {
			for _, u := range [...]Use{0, useFixed, useMisroute, useFixed | useMisroute} {
				for via := range Use(maxIntermediate + 1) {
					use := u | via
					if use.kinds() == kinds && c.By[use] > 0 && !yield(use, c.By[use]) {
						return
					}
				}
			}
		}
	}
}

// kinds is how many different mechanisms it is.
func (u Use) kinds() (n int) {
	for _, used := range [...]bool{u.Intermediate() > 0, u.Deterministic(), u.Misroute()} {
		if used {
			n++
		}
	}
	return n
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
	Use      Use
	Subs     []weft.SubHeader // one per sub-path, as in a packet; may be more than a packet has room for
}

// Tolerated reports whether every pair that live links join has a way (section 5.1).
func (s *Solution) Tolerated() bool { return len(s.Unroutable) == 0 }

// Graph is the topology.
func (s *Solution) Graph() *topology.Graph { return s.net.g }

// count fills what is counted.
func (s *Solution) count() {
	for d := range s.to {
		for u := range s.component {
			if s.component[u] != s.component[d] {
				s.Excused++
			}
		}
		for _, e := range s.to[d].entries {
			s.Affected++
			if e.cost == costNever {
				s.NoWay++
				s.Unroutable = append(s.Unroutable, Pair{e.src, weft.SwitchID(d)})
				continue
			}
			s.By[e.cost.use()]++
		}
	}
	slices.SortFunc(s.Unroutable,
		func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst)) })
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
	return Way{e.src, weft.SwitchID(d), e.cost.hops(), e.cost.use(), slices.Clip(subs)}
}

// Way is how packets go from one switch to another. It has no sub-headers when all shortest paths
// are alive. It reports false for a pair without a way, and for one that no live links join.
func (s *Solution) Way(src, dst weft.SwitchID) (Way, bool) {
	if int(src) >= s.net.nodes || int(dst) >= s.net.nodes || !s.Joined(src, dst) {
		return Way{}, false
	}
	i, ok := slices.BinarySearchFunc(s.to[dst].entries, src,
		func(e entry, src weft.SwitchID) int { return cmp.Compare(e.src, src) })
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

// Headers are the sub-headers as a packet carries them. The error says that a packet has no room
// for them.
func (w Way) Headers() (h weft.SubHeaders, err error) {
	if len(w.Subs) > len(h) {
		return h,
			fmt.Errorf("the way from switch %d to switch %d has %d intermediate nodes, a packet has room for %d: allow fewer "+
				"with IxN",
				w.Src, w.Dst, len(w.Subs)-1, len(h)-1)
	}
	copy(h[:], w.Subs)
	return h, nil
}

// Ways are what the NICs of every switch write into their packets. Packets of pairs without a way
// lead nowhere: the first switch discards them. The error is that of [Way.Headers], of the first
// such way.
func (s *Solution) Ways() (*tables.Ways, error) {
	from := make([][]tables.Way, len(s.component))
	for p := range s.Isolated() {
		from[p.Src] = append(from[p.Src], nowhere(p.Dst))
	}
	for _, p := range s.Unroutable {
		from[p.Src] = append(from[p.Src], nowhere(p.Dst))
	}
	for w := range s.All() {
		h, err := w.Headers()
		if err != nil {
			return nil, err
		}
		from[w.Src] = append(from[w.Src], tables.Way{Dst: w.Dst, Sub: h})
	}
	return tables.NewWays(len(from), func(src weft.SwitchID) []tables.Way { return from[src] })
}

func nowhere(dst weft.SwitchID) tables.Way {
	return tables.Way{Dst: dst, Sub: weft.SubHeaders{weft.Nowhere}}
}
