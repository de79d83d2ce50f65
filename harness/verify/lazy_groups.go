package verify

import (
	"math/big"
	"slices"
)

// grouped reports whether the sets are all those with up to Max dead links in each switch group.
func (s *Sets) grouped() bool { return s.PerGroup && s.Samples == 0 && s.List == nil }

// sizes is how many sets there are of each size: of each group any up to Max.
func (s *Sets) sizes() (list []*big.Int) {
	list = []*big.Int{big.NewInt(1)}
	for _, group := range s.groups {
		more := make([]*big.Int, len(list)+s.Max)
		for i := range more {
			more[i] = new(big.Int)
		}
		var ways big.Int
		for size, n := range list {
			for k := range s.Max + 1 {
				more[size+k].Add(more[size+k], ways.Mul(n, new(big.Int).Binomial(int64(len(group)), int64(k))))
			}
		}
		list = more
	}
	return list
}

// counts is how many sets there are of each size, up to the largest.
func (s *Sets) counts() (list []*big.Int) {
	if s.grouped() {
		return s.sizes()
	}
	for size := range s.Max + 1 {
		list = append(list, new(big.Int).Binomial(int64(len(s.elements)), int64(size)))
	}
	return list
}

// groupedAt is the set with number i, which is one number for each group.
func (s *Sets) groupedAt(i uint64) (set []Element) {
	for _, group := range s.groups {
		of := Sets{Max: s.Max, elements: group}
		n := of.total()
		set = append(set, of.at(i%n)...)
		i /= n
	}
	slices.SortFunc(set, func(a, b Element) int { return int(a.ID) - int(b.ID) })
	return set
}

// groups is how many links of each switch group a packet has found dead, as facts that come after
// all others. They are forgotten when no link of the group can be asked about any more.
type groups struct {
	most int32   // dead links of a group
	of   []int32 // per link; -1: none
	base int32   // the item that says that one link of the first group is dead
}

func newGroups(s *Sets, o *mortals) *groups {
	if !s.grouped() {
		return nil
	}
	g := &groups{
		most: int32(s.Max), of: slices.Repeat([]int32{-1}, int(o.links)),
		base: int32(o.bits()>>1) + o.links, // behind the bits of registers, one a link
	}
	for i, group := range s.groups {
		for _, e := range group {
			g.of[e.ID] = int32(i)
		}
	}
	return g
}

// items are those that say how many links of a group are dead.
func (g *groups) items(group int32) (from, to int32) {
	return g.base + group*g.most, g.base + (group+1)*g.most
}

// charge notes the links that are newly known to be dead by some facts. ok is false where a group
// has too many.
func (g *groups) charge(merged, known, facts []fact) (_ []fact, ok bool) {
	for _, is := range facts {
		if !is.dead() || slices.Contains(known, is) {
			continue
		}
		from, to := g.items(g.of[is>>1])
		at := slices.IndexFunc(merged, func(is fact) bool { return int32(is>>1) >= from && int32(is>>1) < to })
		switch {
		case at < 0 && g.most == 0, at >= 0 && int32(merged[at]>>1) == to-1:
			return merged, false
		case at < 0:
			merged = append(merged, fact(from)<<1|1)
		default:
			merged[at] += 2
		}
	}
	slices.Sort(merged)
	return merged, true
}

// count limits a walk to so many dead links of each group.
func (w *lazyWalk) count(s *Sets) {
	if w.groups = newGroups(s, w.faults); w.groups == nil {
		return
	}
	// A switch has links of two groups. Starts that are alike but for names may differ by groups.
	w.asker.most, w.apart = min(w.asker.most, 2*s.Max), true
	_, to := w.groups.items(int32(len(s.groups)) - 1)
	w.items = int(to)
}
