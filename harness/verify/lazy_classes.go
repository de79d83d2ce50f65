package verify

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync/atomic"
)

// PairClass are pairs of which the same was found while all sets were explored at once.
type PairClass struct {
	Pairs   int    `json:"pairs"`
	Verdict string `json:"verdict"` // Holds, Unconnected or Livelock
	From    string `json:"from"`    // one of the pairs
	To      string `json:"to"`
	// Faults are the fewest with which the pair is not connected, Livelock the fewest with which it
	// also has a livelock.
	Faults   int `json:"faults,omitempty"`
	Livelock int `json:"livelock_faults,omitempty"`
	MaxHops  int `json:"max_hops"`
	// Dead is a smallest set of faults with which the pair of From and To fails.
	Dead []string `json:"dead,omitempty"`
	// ByFaults has the sets of Faults faults and more. Fewer never disconnect the pair.
	ByFaults []PairShare `json:"by_faults,omitempty"`
}

// Holds is the verdict of pairs that no set disconnects.
const Holds = "holds"

// PairShare are the sets of one size. The numbers are exact, and may be beyond 64 bits.
type PairShare struct {
	Faults    int      `json:"faults"`
	Sets      *big.Int `json:"fault_sets"`
	Connected *big.Int `json:"connected,omitempty"` // sets in which every choice delivers packets of the pair
	// Sampled is what random sets say where the ways to fail were too many to count.
	Sampled *Sampled `json:"sampled,omitempty"`
}

// maxClasses bounds the classes that are told apart, chosen by us. In trees there are a few.
const maxClasses = 512

// key is what pairs of a class have in common.
func (c *PairClass) key() string {
	shares := ""
	for _, s := range c.ByFaults {
		shares += fmt.Sprint(s.Faults, " ", s.Connected, " ")
		if s.Sampled != nil {
			shares += fmt.Sprint(*s.Sampled)
		}
	}
	return fmt.Sprint(c.Verdict, " ", c.Faults, " ", c.Livelock, " ", c.MaxHops, " ", shares)
}

// join adds classes. The pairs of those beyond maxClasses are counted in more.
func join(list, others []PairClass) (all []PairClass, more int) {
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].key()] = i
	}
	for _, c := range others {
		key := c.key()
		i, ok := at[key]
		switch {
		case ok:
			list[i].Pairs += c.Pairs
		case len(list) == maxClasses:
			more += c.Pairs
		default:
			at[key] = len(list)
			list = append(list, c)
		}
	}
	return list, more
}

// sorted are classes with the pairs that fail first before those that hold.
func sorted(list []PairClass) []PairClass {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b PairClass) int {
		holds := func(c *PairClass) int {
			if c.Verdict == Holds {
				return 1
			}
			return 0
		}
		return cmp.Or(holds(&a)-holds(&b), a.Faults-b.Faults, a.MaxHops-b.MaxHops, b.Pairs-a.Pairs)
	})
	return list
}

// pairClasses are those of the pairs of a destination that was walked to.
func (w *lazyWalk) pairClasses(
	ctx context.Context, r *run, f int, pairs []lazyPair, choices bool,
) (list []PairClass, more int, err error) {
	type group struct {
		lazyPair
		roots string // where packets of those that fail start
	}
	at, fl := map[group]int{}, &w.m.flows[f]
	var found []PairClass
	var like map[int32]int32
	if slices.ContainsFunc(pairs, func(p lazyPair) bool { return p.fails < never }) {
		like = w.likes(f)
	}
	for i, p := range pairs {
		g := group{lazyPair: p}
		var roots []int32
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if len(w.flows[f].starts[i]) == 0 {
			continue // it is not explored now
		}
		if p.fails < never {
			roots = w.roots(f, i, like)
			g.roots = fmt.Sprint(roots)
		}
		if same, ok := at[g]; ok {
			found[same].Pairs++
			continue
		}
		at[g] = len(found)
		c := PairClass{
			Pairs: 1, Verdict: Holds, From: w.m.g.NICs[fl.srcs[i]].Name, To: w.m.g.NICs[fl.dst].Name, MaxHops: int(p.hops),
		}
		if p.fails < never {
			c.Verdict, c.Faults, c.ByFaults = Unconnected, int(p.fails), w.pairShares(r, roots, int(p.fails), choices)
			for _, e := range w.smallest(roots) {
				c.Dead = append(c.Dead, e.Name(w.m.g))
			}
		}
		if p.loops < never {
			c.Livelock = int(p.loops)
		}
		if c.Livelock > 0 && p.loops == p.fails {
			c.Verdict = Livelock
		}
		found = append(found, c)
	}
	list, more = join(nil, found)
	return list, more, nil
}

// likes are, for the classes that packets start in, those from which all is the same but for the
// names.
func (w *lazyWalk) likes(f int) map[int32]int32 {
	one := map[int32]int32{}
	var starts []int32
	for _, of := range w.flows[f].starts {
		for _, s := range of {
			c := w.same[w.class[s.state]]
			if _, ok := one[c]; !ok {
				one[c] = c
				starts = append(starts, c)
			}
		}
	}
	if slices.Sort(starts); w.m.number == nil && w.fold == nil && w.groups == nil { // else it is done
		w.renamed(starts, one)
	}
	return one
}

// roots are the nodes in which packets of a pair start, or that are like these.
func (w *lazyWalk) roots(f, source int, like map[int32]int32) (list []int32) {
	for _, s := range w.flows[f].starts[source] {
		list = append(list, w.plain[like[w.same[w.class[s.state]]]])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// smallest is a set of the fewest faults with which packets that start in one of some nodes are not
// delivered.
func (w *lazyWalk) smallest(roots []int32) []Element {
	at := slices.MinFunc(roots, func(a, b int32) int { return int(w.nodes[a].fails - w.nodes[b].fails) })
	var path []int32
	seen := map[int32]bool{}
	for at >= 0 && !seen[at] { // a node that comes again is on a cycle
		seen[at] = true
		n := &w.nodes[at]
		for i := n.first; i < n.last; i++ {
			e := &w.edges[i]
			if e.to == lost && e.cost == n.fails || e.to >= 0 && e.cost+w.nodes[e.to].fails == n.fails {
				path, at = append(path, i), e.to
				break
			}
		}
	}
	return w.deadAlong(path)
}

// pairShares counts the sets of each size that connect a pair whose packets start in some nodes,
// where so many faults or more disconnect it.
func (w *lazyWalk) pairShares(r *run, roots []int32, fewest int, choices bool) (list []PairShare) {
	elements := len(r.Sets.elements)
	if w.fold != nil || w.groups != nil {
		return nil
	}
	var bad []*big.Int // by size
	switch {
	case len(roots) == 1 && !choices && r.When == Before && !w.faults.open():
		bad = w.weights(roots[0], elements, r.Sets.Max)
	default:
		bad = w.overlapping(r, roots)
	}
	for size := fewest; size <= r.Sets.Max; size++ {
		s := PairShare{Faults: size, Sets: new(big.Int).Binomial(int64(elements), int64(size))}
		switch {
		case bad != nil:
			s.Connected = new(big.Int).Sub(s.Sets, bad[size])
		case r.When == Before:
			s.Sampled = w.sampled(r, roots, size)
		}
		list = append(list, s)
	}
	return list
}

// Bounds of what is looked at for one pair, chosen by us: less than a second.
const (
	maxPairTrod     = 1 << 15
	maxPairPatterns = 1 << 12
)

// overlapping counts the sets in which packets that start in some nodes can fail, where several
// ways to fail are open to one set. nil: there are too many ways.
func (w *lazyWalk) overlapping(r *run, roots []int32) []*big.Int {
	p := &patterns{
		r: r, w: w, seen: map[string]bool{}, trod: map[string]bool{}, path: map[int32]bool{},
		mostTrod: maxPairTrod, mostPatterns: maxPairPatterns, all: new(atomic.Int64),
	}
	for _, root := range roots {
		p.follow(root, nil, 0)
	}
	if p.full {
		return nil
	}
	return union(p.list, len(r.Sets.elements), r.Sets.Max)
}
