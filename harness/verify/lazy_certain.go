package verify

import "slices"

// forgetCertain takes out of the outcomes of each class what is certain there: what every packet that
// comes to it has found on its way. An outcome that contradicts it cannot happen and goes; a fact that
// is certain need not be asked again. What is found stays the same. But fewer questions seem to lie
// ahead of a packet, see askable, so that it remembers less.
//
// It needs faults that are there before packets are: then what was found up stays up. Where the cause
// of a dead port is open, answers say something of other ports too, so that certain facts stay.
func (w *lazyWalk) forgetCertain(certain []*certainty) {
	for c := range w.classes {
		if certain[c] == nil {
			continue // nobody comes there
		}
		known := certain[c].facts
		outcomes := w.classes[c].outcomes[:0]
		for _, o := range w.classes[c].outcomes {
			if !agrees(known, o.facts) {
				continue
			}
			if !w.faults.open() {
				o.facts = slices.DeleteFunc(o.facts, func(is fact) bool {
					_, ok := slices.BinarySearch(known, is)
					return ok
				})
			}
			outcomes = append(outcomes, o)
		}
		w.classes[c].outcomes = outcomes
	}
}

// certainty is what every packet that comes to a class has found, sorted.
type certainty struct{ facts []fact }

// certain finds what classes are certain of; nil: nobody comes there.
func (w *lazyWalk) certain(starts []int32) []*certainty {
	of := make([]*certainty, len(w.classes))
	queued := make([]bool, len(w.classes))
	todo := slices.Clone(starts)
	for _, s := range starts {
		of[s], queued[s] = &certainty{}, true
	}
	for i := 0; i < len(todo); i++ {
		c := todo[i]
		queued[c] = false
		known := of[c].facts
		for j := range w.classes[c].outcomes {
			o := &w.classes[c].outcomes[j]
			if o.to < 0 || !agrees(known, o.facts) {
				continue
			}
			to := of[o.to]
			switch {
			case to == nil:
				of[o.to] = &certainty{both(known, o.facts)}
			case !to.leave(known, o.facts):
				continue
			}
			if !queued[o.to] {
				queued[o.to] = true
				todo = append(todo, o.to)
			}
		}
	}
	return of
}

// leave keeps of what is certain what is in one of two lists, and reports whether that is less.
func (c *certainty) leave(a, b []fact) bool {
	if len(c.facts) == 0 {
		return false
	}
	left := make([]fact, 0, len(c.facts))
	for _, is := range c.facts {
		_, first := slices.BinarySearch(a, is)
		_, second := slices.BinarySearch(b, is)
		if first || second {
			left = append(left, is)
		}
	}
	less := len(left) < len(c.facts)
	c.facts = left
	return less
}

// both are the facts of two lists.
func both(a, b []fact) []fact {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// agrees reports whether no fact of one list is the contrary of one of the other.
func agrees(known, facts []fact) bool {
	return !slices.ContainsFunc(facts, func(is fact) bool {
		_, ok := slices.BinarySearch(known, is^1)
		return ok
	})
}
