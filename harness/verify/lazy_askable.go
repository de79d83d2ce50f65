package verify

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// askable finds the links that a packet may ask about in a class or later, for every class that the
// starts lead to. They are the same for all classes of a strongly connected component.
func (w *lazyWalk) askable(starts []int32) error {
	w.sets, w.setOf = w.sets[:0], w.setOf[:0]
	clear(w.setIDs)
	w.number()
	index := slices.Repeat([]int32{-1}, len(w.classes))
	low := make([]int32, len(w.classes))
	var stack []int32
	type visit struct{ class, next int32 }
	var path []visit
	count, parts := int32(0), int32(0)
	enter := func(c int32) {
		index[c], low[c] = count, count
		count++
		stack = append(stack, c)
		path = append(path, visit{c, 0})
	}
	for _, root := range starts {
		if index[root] < 0 {
			enter(root)
		}
		for len(path) > 0 {
			top := &path[len(path)-1]
			c := &w.classes[top.class]
			if int(top.next) < len(c.outcomes) {
				to := c.outcomes[top.next].to
				top.next++
				switch {
				case to < 0:
				case index[to] < 0:
					enter(to)
				case w.classes[to].part < 0:
					low[top.class] = min(low[top.class], index[to])
				}
				continue
			}
			done := top.class
			path = path[:len(path)-1]
			if len(path) > 0 {
				above := path[len(path)-1].class
				low[above] = min(low[above], low[done])
			}
			if low[done] < index[done] {
				continue
			}
			at := slices.Index(stack, done)
			if len(w.sets) > maxLazyWords {
				return errNodes
			}
			for _, member := range stack[at:] {
				w.classes[member].part = parts
			}
			w.union(stack[at:], parts)
			stack = stack[:at]
			parts++
		}
	}
	return nil
}

// asks calls do with the items that outcomes ask about.
func (w *lazyWalk) asks(outcomes []outcome, do func(item int32)) {
	open := w.faults.open()
	for i := range outcomes {
		o := &outcomes[i]
		for _, is := range o.facts {
			item := int32(is >> 1)
			if do(item); item >= w.faults.links || !open && w.groups == nil {
				continue
			}
			if w.groups != nil { // how many links of the group are dead
				for from, to := w.groups.items(w.groups.of[item]); from < to; from++ {
					do(from)
				}
			}
			for _, sw := range w.faults.ends[item] { // any answer about a switch says something of all its links
				for j := 0; open && sw >= 0 && j < len(w.faults.about[sw]); j++ {
					do(w.faults.about[sw][j])
				}
			}
		}
		if o.vector != nil {
			w.bitsOf(o, do)
		}
	}
}

// number numbers the words that sets of links have a bit in, from 1: a destination asks about few.
func (w *lazyWalk) number() {
	w.wordOf, w.words = append(w.wordOf[:0], make([]int32, w.items/64+1)...), 1
	for c := range w.classes {
		w.asks(w.classes[c].outcomes, func(item int32) {
			if at := &w.wordOf[item>>6]; *at == 0 {
				*at = int32(w.words)
				w.words++
			}
		})
	}
}

// union makes the set of links of a component from what its members ask and from the components
// that they lead to. Most components have a set that another has.
func (w *lazyWalk) union(members []int32, part int32) {
	w.own = append(w.own[:0], make([]uint64, w.words)...)
	w.seen = w.seen[:0]
	for _, c := range members {
		outcomes := w.classes[c].outcomes
		w.asks(outcomes, func(item int32) { w.own[w.wordOf[item>>6]] |= 1 << (item & 63) })
		for i := range outcomes {
			o := &outcomes[i]
			if o.to < 0 || w.classes[o.to].part == part {
				continue
			}
			set := w.setOf[w.classes[o.to].part]
			if !slices.Contains(w.seen, set) {
				w.seen = append(w.seen, set)
				for j, word := range w.setAt(set) {
					w.own[j] |= word
				}
			}
		}
	}
	hash := uint64(0)
	for _, word := range w.own {
		hash = weft.Scatter(hash ^ word)
	}
	for _, set := range w.setIDs[hash] {
		if slices.Equal(w.setAt(set), w.own) {
			w.setOf = append(w.setOf, set)
			return
		}
	}
	set := int32(len(w.sets) / w.words)
	w.sets = append(w.sets, w.own...)
	w.setIDs[hash] = append(w.setIDs[hash], set)
	w.setOf = append(w.setOf, set)
}

// setAt is a set of links by its number.
func (w *lazyWalk) setAt(set int32) []uint64 { return w.sets[int(set)*w.words : (int(set)+1)*w.words] }
