package tolerate

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
)

// Sets are all sets of a number of links of a region, in parts that can be counted at the same
// time.
type Sets struct {
	group *group
	k     int
	total uint64
	parts [][]uint16
}

// manyParts is how many parts sets are divided into at least, chosen by us: so many that the last
// ones leave no processor idle for long.
const manyParts = 512

// maxLinks is how many links a region may have: positions are of 16 bits.
const maxLinks = 1 << 16

// NewSets are the sets of k links of a region; sets that symmetries map onto each other are judged
// once. The error names a k that the region does not hold, and sets that are more than 2^63.
func NewSets(region []weft.LinkID, k int, symmetries []Symmetry) (*Sets, error) {
	if len(region) > maxLinks {
		return nil, fmt.Errorf("%d links, expected at most %d: choose a region", len(region), maxLinks)
	}
	s := &Sets{group: newGroup(region, symmetries), k: k}
	if n := len(s.group.links); k < 0 || k > n {
		return nil, fmt.Errorf("%d faults: %d links may die, expected 0 to as many", k, n)
	}
	total, ok := Choose(len(s.group.links), k)
	if !ok {
		return nil, fmt.Errorf("%d faults of %d links: more than 2^63 sets: give samples, or a region", k, len(s.group.links))
	}
	s.total = total
	s.parts = s.group.prefixes(k, manyParts)
	return s, nil
}

// Total is how many sets there are, each counted by itself.
func (s *Sets) Total() uint64 { return s.total }

// Symmetries is how many symmetries map the region onto itself, the identity among them.
func (s *Sets) Symmetries() int { return len(s.group.perms) }

// Parts is how many parts there are.
func (s *Sets) Parts() int { return len(s.parts) }

// Count judges the sets of a part and adds them to the counts. It stops early, and reports false,
// when more is not nil and returns false; it is asked now and then, and told how many sets were
// counted since it was asked last.
func (s *Sets) Count(part int, j Judge, c *Counts, more func(sets uint64) bool) bool {
	var v direct.Counts
	dead := make([]weft.LinkID, s.k)
	var asked, judged uint64
	whole := s.group.walk(s.parts[part], s.k, func(set []uint16, size int) bool {
		for i, x := range set {
			dead[i] = s.group.links[x]
		}
		j.Set(dead)
		j.Count(&v)
		c.add(&v, uint64(size), 0, dead)
		asked += uint64(size)
		if judged++; judged%askEvery != 0 || more == nil {
			return true
		}
		n := asked
		asked = 0
		return more(n)
	})
	if more != nil && asked > 0 {
		return more(asked) && whole
	}
	return whole
}

// askEvery is after how many judgements a driver is asked whether to go on, chosen by us: some
// milliseconds of work.
const askEvery = 256

// Complete reports an error unless the counts hold every set: a check of the symmetries and of the
// orbits.
func (s *Sets) Complete(c *Counts) error {
	if c.Sets != s.total {
		return fmt.Errorf("the orbits of %d faults hold %d sets, and there are %d: a fault of ours", s.k, c.Sets, s.total)
	}
	return nil
}

// Sample judges samples from to, and not including, end: sets of k links of a region, drawn anew
// each. The draws are those of the sample: draw(i) gives the source of sample i, which returns a
// number below n. So the sets do not depend on how samples are divided.
func Sample(region []weft.LinkID, k int, from, end uint64, draw func(i uint64) func(n int) int, j Judge, c *Counts,
	more func(sets uint64) bool,
) (bool, error) {
	if k < 0 || k > len(region) {
		return false, fmt.Errorf("%d faults: %d links may die, expected 0 to as many", k, len(region))
	}
	var v direct.Counts
	links := make([]weft.LinkID, len(region))
	for i := from; i < end; i++ {
		copy(links, region)
		source := draw(i)
		for at := range k { // the first k places of a shuffle
			other := at + source(len(links)-at)
			links[at], links[other] = links[other], links[at]
		}
		j.Set(links[:k])
		j.Count(&v)
		c.add(&v, 1, i+1, links[:k])
		if done := i + 1 - from; more != nil && done%askEvery == 0 && !more(askEvery) {
			return false, nil
		}
	}
	if more != nil {
		return more((end - from) % askEvery), nil
	}
	return true, nil
}
