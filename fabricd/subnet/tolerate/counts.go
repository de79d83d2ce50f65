package tolerate

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// Judge says of sets of dead links whether all is well. It belongs to one goroutine.
type Judge interface {
	// Judge fills a verdict that is empty but for By, which has room for all of Uses and holds zeros.
	Judge(dead []weft.LinkID, v *Verdict)
	// Uses are what a pair may need, as "I" or "I+D", by their positions in Verdict.By.
	Uses() []string
}

// Verdict is what a judge says of one set of dead links. Pairs are ordered, of different switches.
type Verdict struct {
	Affected   int   // pairs that may not go adaptively on every shortest path: a dead link is on one of them; those without a way too
	Excused    int   // of these, pairs that live links do not join
	Unroutable int   // of these, pairs that they do, and that have no way
	By         []int // of the rest, by what they need; the sum of it and of the two above is Affected
	ExtraHops  int   // of the rest: links of their ways more than of the shortest paths, together

	Src, Dst weft.SwitchID // the first pair without a way, if there are any
}

// Tolerated reports whether every pair that live links join has a way.
func (v *Verdict) Tolerated() bool { return v.Unroutable == 0 }

func (v *Verdict) reset() {
	by := v.By
	clear(by)
	*v = Verdict{By: by}
}

// Counts are what came of many sets.
type Counts struct {
	Sets         uint64
	NotTolerated uint64
	Excusing     uint64 // sets with pairs that live links do not join
	Judged       uint64 // sets that were judged; each stood for others like it

	// Of the tolerated sets (table 3 of the paper), the sums of what verdicts say of their pairs.
	Affected, Excused, ExtraHops uint64
	By                           []uint64

	Example *Example // the first set that was not tolerated, in the order of the sets
}

// Example is a set that is not tolerated.
type Example struct {
	Dead       []weft.LinkID
	Src, Dst   weft.SwitchID // the first pair without a way
	Unroutable int           // how many such pairs there are

	order uint64 // among samples
}

// Tolerated is how many sets are.
func (c *Counts) Tolerated() uint64 { return c.Sets - c.NotTolerated }

// add counts a verdict for so many sets.
func (c *Counts) add(v *Verdict, sets, order uint64, dead []weft.LinkID) {
	c.Sets += sets
	c.Judged++
	if v.Excused > 0 {
		c.Excusing += sets
	}
	if !v.Tolerated() {
		c.NotTolerated += sets
		e := Example{Src: v.Src, Dst: v.Dst, Unroutable: v.Unroutable, Dead: dead, order: order}
		if c.Example == nil || e.before(c.Example) {
			e.Dead = slices.Clone(dead)
			c.Example = &e
		}
		return
	}
	c.Affected += sets * uint64(v.Affected)
	c.Excused += sets * uint64(v.Excused)
	c.ExtraHops += sets * uint64(v.ExtraHops)
	if c.By == nil {
		c.By = make([]uint64, len(v.By))
	}
	for i, n := range v.By {
		c.By[i] += sets * uint64(n)
	}
}

// Add counts what another has counted. The result does not depend on the order of additions.
func (c *Counts) Add(more *Counts) {
	c.Sets += more.Sets
	c.NotTolerated += more.NotTolerated
	c.Excusing += more.Excusing
	c.Judged += more.Judged
	c.Affected += more.Affected
	c.Excused += more.Excused
	c.ExtraHops += more.ExtraHops
	if c.By == nil {
		c.By = make([]uint64, len(more.By))
	}
	for i, n := range more.By {
		c.By[i] += n
	}
	if more.Example != nil && (c.Example == nil || more.Example.before(c.Example)) {
		c.Example = more.Example
	}
}

// before orders examples: by when samples were drawn, else as sets of links are compared.
func (e *Example) before(other *Example) bool {
	if e.order != other.order {
		return e.order < other.order
	}
	return slices.Compare(e.Dead, other.Dead) < 0
}
