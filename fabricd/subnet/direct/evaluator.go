package direct

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Evaluator answers for one fault set after another by which mechanisms each pair goes, and how
// many pairs have no way. Among up to 64 switches it keeps what each link is on as sets of switches
// in one word, and what each pair may do as sets of links; then it takes about a microsecond, and
// no memory but what it keeps of pairs when they first need misroutes. In larger nets every answer
// is a Solve. One goroutine owns it.
type Evaluator struct {
	net  *Net
	m    Mechanisms
	edge []int32 // per link id, -1 for others than those between switches
	dead []int   // edges
	mask edges   // the same
	cut  func(*topology.Link) bool

	small *small
	last  *Solution // of a large net, for the fault set
}

// NewEvaluator is for a fault set that is empty at first. Mechanisms are as in [Net.Solve].
func (n *Net) NewEvaluator(m Mechanisms) *Evaluator {
	m.Intermediate = min(max(m.Intermediate, 0), maxIntermediate)
	v := &Evaluator{net: n, m: m, edge: make([]int32, len(n.g.Links))}
	for i := range v.edge {
		v.edge[i] = -1
	}
	for e, id := range n.links {
		if id != noLink {
			v.edge[id] = int32(e)
		}
	}
	v.cut = func(l *topology.Link) bool { return v.edge[l.ID] >= 0 && slices.Contains(v.dead, int(v.edge[l.ID])) }
	if n.nodes <= 64 && len(n.links) <= 256 {
		v.small = newSmall(n, m)
	}
	v.Set(nil)
	return v
}

// Set replaces the fault set. Links of NICs do not count.
func (v *Evaluator) Set(dead []weft.LinkID) {
	v.dead, v.mask, v.last = v.dead[:0], edges{}, nil
	for _, id := range dead {
		if int(id) < len(v.edge) && v.edge[id] >= 0 {
			v.dead = append(v.dead, int(v.edge[id]))
		}
	}
	if v.small == nil {
		return
	}
	for e, id := range v.net.links {
		if id == noLink && v.net.there(e) {
			v.dead = append(v.dead, e)
		}
	}
	for _, e := range v.dead {
		v.mask.set(int32(e))
	}
	v.small.set(v)
}

func (v *Evaluator) solve() *Solution {
	if v.last == nil {
		v.last = v.net.Solve(v.m, v.cut, nil)
	}
	return v.last
}

// Count counts what the fault set does to all pairs.
func (v *Evaluator) Count(c *Counts) {
	if v.small == nil {
		*c = v.solve().Counts
		return
	}
	*c = Counts{}
	v.small.count(v, c)
}
