package tolerate

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
)

// Judge says of one set of dead links after another what it does to all pairs, as a
// [direct.Evaluator] does. It belongs to one goroutine.
type Judge interface {
	Set(dead []weft.LinkID)
	Count(c *direct.Counts)
}

// Counts are what came of many sets.
type Counts struct {
	Sets         uint64
	NotTolerated uint64
	Excusing     uint64        // sets that leave pairs that no live links join
	Judged       uint64        // sets that were judged: each stands for all of its orbit
	Pairs        direct.Counts // summed over the tolerated sets (table 3 of the paper); NoWay over the others

	Example *Example // the first set that was not tolerated, in the order of the sets
}

// Example is a set that is not tolerated.
type Example struct {
	Dead  []weft.LinkID
	NoWay int    // pairs without a way
	Order uint64 // among samples
}

// Tolerated is how many sets are.
func (c *Counts) Tolerated() uint64 { return c.Sets - c.NotTolerated }

// add counts so many sets like one that was judged.
func (c *Counts) add(v *direct.Counts, sets, order uint64, dead []weft.LinkID) {
	c.Sets += sets
	c.Judged++
	if v.Excused > 0 {
		c.Excusing += sets
	}
	n := int(sets)
	if v.NoWay > 0 {
		c.NotTolerated += sets
		c.Pairs.NoWay += n * v.NoWay
		e := Example{Dead: dead, NoWay: v.NoWay, Order: order}
		if c.Example == nil || e.before(c.Example) {
			e.Dead = slices.Clone(dead)
			c.Example = &e
		}
		return
	}
	c.Pairs.Affected += n * v.Affected
	c.Pairs.Excused += n * v.Excused
	for i, pairs := range v.By {
		c.Pairs.By[i] += n * pairs
	}
}

// Add counts what another has counted. The result does not depend on the order of additions.
func (c *Counts) Add(more *Counts) {
	c.Sets += more.Sets
	c.NotTolerated += more.NotTolerated
	c.Excusing += more.Excusing
	c.Judged += more.Judged
	c.Pairs.Affected += more.Pairs.Affected
	c.Pairs.Excused += more.Pairs.Excused
	c.Pairs.NoWay += more.Pairs.NoWay
	for i, pairs := range more.Pairs.By {
		c.Pairs.By[i] += pairs
	}
	if more.Example != nil && (c.Example == nil || more.Example.before(c.Example)) {
		c.Example = more.Example
	}
}

// before orders examples: by when samples were drawn, else as sets of links are compared.
func (e *Example) before(other *Example) bool {
	if e.Order != other.Order {
		return e.Order < other.Order
	}
	return slices.Compare(e.Dead, other.Dead) < 0
}
