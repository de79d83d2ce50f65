package tolerate

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
)

// Judge says of sets of dead links whether all is well, as a [direct.Evaluator] does. It belongs to one goroutine.
type Judge interface {
	Evaluate(dead []weft.LinkID, v *direct.Verdict)
}

// Counts are what came of many sets.
type Counts struct {
	Sets         uint64
	NotTolerated uint64
	Excusing     uint64 // sets with pairs that live links do not join
	Judged       uint64 // sets that were judged; each stood for others like it

	// Of the tolerated sets (table 3 of the paper), the sums of what verdicts say of their pairs.
	Affected, Excused, ExtraHops uint64
	Used                         [direct.MaxUses]uint64

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
func (c *Counts) add(v *direct.Verdict, sets, order uint64, dead []weft.LinkID) {
	c.Sets += sets
	c.Judged++
	if v.Excused > 0 {
		c.Excusing += sets
	}
	if !v.Tolerated() {
		c.NotTolerated += sets
		e := Example{Src: v.First.Src, Dst: v.First.Dst, Unroutable: v.Unroutable, Dead: dead, order: order}
		if c.Example == nil || e.before(c.Example) {
			e.Dead = slices.Clone(dead)
			c.Example = &e
		}
		return
	}
	c.Affected += sets * uint64(v.Affected)
	c.Excused += sets * uint64(v.Excused)
	c.ExtraHops += sets * uint64(v.ExtraHops)
	for i, n := range v.Used {
		c.Used[i] += sets * uint64(n)
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
	for i, n := range more.Used {
		c.Used[i] += n
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
