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

// union makes the set of links of a component from what its members ask and from the components
// that they lead to. Most components have a set that another has.
func (w *lazyWalk) union(members []int32, part int32) {
	w.own = slices.Grow(w.own[:0], w.words)[:w.words]
	clear(w.own)
	w.seen = w.seen[:0]
	for _, c := range members {
		for i := range w.classes[c].outcomes {
			o := &w.classes[c].outcomes[i]
			for _, is := range o.facts {
				w.own[is>>7] |= 1 << (is >> 1 & 63)
			}
			if w.faults.open() {
				w.faults.touch(w.own, o.facts)
			}
			if w.groups != nil {
				w.groups.touch(w.own, o.facts)
			}
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
