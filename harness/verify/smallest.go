package verify

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// counterexample works out the candidates, which are the smallest sets, and returns the one with
// the shortest path. One that can be replayed by its faults and a single packet comes before those
// that cannot.
func (r *run) counterexample(firsts []first) (best *Counterexample, err error) {
	plain := *r.model
	others := plain.stateful && plain.regs == Shared
	alone := plain
	alone.regs = Alone
	tries := []*explorer{newExplorer(&plain, nil)}
	if others {
		tries = append([]*explorer{newExplorer(&alone, nil)}, tries...)
	}
	if what := firsts[0].What; what == Deadlock || what == Numbering {
		tries = tries[len(tries)-1:]
	} else if plain.when != Before {
		for _, x := range tries {
			x := newExplorer(x.m, nil)
			x.fair = true
			tries = append([]*explorer{x}, tries...)
		}
		if others { // the packet to itself is worth more
			tries[0], tries[1], tries[2] = tries[1], tries[2], tries[0]
		}
	}
	for i, x := range tries {
		last := i == len(tries)-1
		best, err := r.smallest(x, firsts, last)
		if err != nil {
			return nil, err
		}
		if best != nil {
			best.Others = others && x.m.regs == Shared && len(best.Path) > 0
			return best, nil
		}
	}
	return nil, fmt.Errorf("internal error: nothing is wrong with %s dead, though something was",
		tries[0].names(r.Sets.at(firsts[0].Index)))
}

// maxWorked bounds the sets that are worked out to find the one with the shortest path.
const maxWorked = 8

// smallest is the candidate of the smallest size with the shortest path as x finds them; of a
// larger size if need be and any is true.
func (r *run) smallest(x *explorer, firsts []first, anySize bool) (best *Counterexample, err error) {
	for i, f := range firsts {
		if best != nil && i >= maxWorked {
			break
		}
		larger := f.Size > firsts[0].Size
		if best != nil && (larger || rank(f.What) != rank(firsts[0].What)) || larger && !anySize {
			break
		}
		set := r.Sets.at(f.Index)
		if _, err := x.run(set); err != nil {
			return nil, err
		}
		var c *Counterexample
		switch f.What {
		case Unconnected, Livelock:
			c, err = x.shortest()
		case Deadlock:
			if err = x.fewest(r.FixedChoice); err == nil {
				c, err = x.deadlock(r.FixedChoice)
			}
			x.assign(c)
		default:
			c = x.numbering()
		}
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		for _, e := range set {
			c.Faults = append(c.Faults, e.Name(r.Graph))
		}
		if best == nil || len(c.Path)+len(c.Channels) < len(best.Path)+len(best.Channels) {
			best = c
		}
	}
	return best, nil
}

// hasDied reports, to an explorer that is fair, whether the link that a packet came by has died
// since, or the switch at its other end: no order from outside can come between the arrival of a
// packet and its routing.
func (x *explorer) hasDied(fs *flowSpace, k nodeKey, moment int) bool {
	if !x.fair || moment == 0 {
		return false
	}
	st := &fs.states[k.state]
	from := x.m.peer(int(st.sw), st.in)
	for i, e := range x.scene.set {
		if moment>>i&1 == 0 {
			continue
		}
		if e.Switch && from.kind == weft.KindSwitch && e.ID == from.node || !e.Switch && e.ID == uint32(from.link) {
			return true
		}
	}
	return false
}
