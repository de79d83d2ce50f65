package verify

import (
	"encoding/binary"
	"slices"
)

// alike finds among the classes that packets start in those from which everything is the same but
// for the names of classes and links, so that exploring one of them is enough: the leaf switches of
// a tree, and then its subtrees, for most firmwares. It sets w.same: per start the one to explore.
//
// What two of them can both come to stays as it is, class by class, and so do the links that are
// asked about there. The rest of each is written down with numbers for classes and links, in the
// order in which they occur. Where that gives the same text, the numbers are a renaming of one to
// the other.
func (w *lazyWalk) alike(starts []int32) {
	w.same = map[int32]int32{}
	for _, s := range starts {
		w.same[s] = s
	}
	if w.m.number != nil { // else channels of different starts may be on one cycle
		w.renamed(starts, w.same)
	}
}

// renamed sets, for starts from which all is the same but for the names, one of them for all.
func (w *lazyWalk) renamed(starts []int32, one map[int32]int32) {
	for left := starts; len(left) > 1; {
		w.share(left)
		first, next := map[string]int32{}, []int32(nil)
		to := map[int32]int32{}
		for i, s := range left {
			w.describe(int32(i), s)
			if same, ok := first[string(w.text)]; ok {
				to[s] = same
				continue
			}
			first[string(w.text)] = s
			next = append(next, s)
		}
		for s, same := range one {
			if other, ok := to[same]; ok {
				one[s] = other
			}
		}
		if len(next) == len(left) {
			return
		}
		left = next
	}
}

// shared owns what several starts lead to.
const shared = -2

// share finds which classes one start alone leads to, and the links that are asked about in others.
func (w *lazyWalk) share(starts []int32) {
	w.owner = append(w.owner[:0], slices.Repeat([]int32{-1}, len(w.classes))...)
	w.fixed = append(w.fixed[:0], make([]uint64, w.items/64+1)...)
	var todo []int32
	for i, s := range starts {
		visit := func(c int32, owner int32) {
			switch {
			case w.owner[c] == owner || w.owner[c] == shared:
			case w.owner[c] >= 0 || owner == shared:
				w.owner[c] = shared
				todo = append(todo, c)
			default:
				w.owner[c] = owner
				todo = append(todo, c)
			}
		}
		for visit(s, int32(i)); len(todo) > 0; {
			c := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for j := range w.classes[c].outcomes {
				if to := w.classes[c].outcomes[j].to; to >= 0 {
					visit(to, w.owner[c])
				}
			}
			if w.owner[c] == shared {
				w.asks(w.classes[c].outcomes, func(item int32) { w.fixed[item>>6] |= 1 << (item & 63) })
			}
		}
	}
}

// describe writes what a start alone leads to into w.text.
func (w *lazyWalk) describe(owner, start int32) {
	classes, links := &w.classNumbers, &w.itemNumbers
	classes.clear(len(w.classes))
	links.clear(int(w.faults.items()))
	todo := w.left[:0]
	number := func(c int32) int32 {
		id, ok := classes.get(c)
		if !ok {
			id = classes.add(c)
			todo = append(todo, c)
		}
		return id
	}
	w.text = w.text[:0]
	write := func(n int32) { w.text = binary.AppendVarint(w.text, int64(n)) }
	if w.owner[start] == shared {
		write(start) // others lead to it, so it is like none
		return
	}
	number(start)
	facts := w.merged[:0]
	for i := 0; i < len(todo); i++ {
		outcomes := w.classes[todo[i]].outcomes
		write(int32(len(outcomes)))
		for j := range outcomes {
			o := &outcomes[j]
			switch {
			case o.to < 0:
				write(o.to)
			case w.owner[o.to] == owner:
				write(number(o.to) << 1)
			default:
				write(o.to<<1 | 1)
			}
			write(int32(len(o.facts)))
			if o.falls {
				write(-1)
			}
			plain, marks := w.faults.split(o.facts)
			facts = facts[:0]
			for _, is := range plain { // links that have a number first, in the order of these
				link := int32(is >> 1)
				id, ok := links.get(link)
				switch {
				case w.fixed[link>>6]>>(link&63)&1 == 1:
					id = link<<1 | 1
				case !ok:
					continue
				default:
					id <<= 1
				}
				facts = append(facts, fact(id)<<1|is&1)
			}
			slices.Sort(facts)
			from := links.used
			for _, is := range plain {
				link := int32(is >> 1)
				if _, ok := links.get(link); !ok && w.fixed[link>>6]>>(link&63)&1 == 0 {
					facts = append(facts, fact(links.add(link)<<1)<<1|is&1)
				}
			}
			for _, is := range facts {
				write(int32(is))
			}
			if w.faults.open() {
				w.joins(plain, marks, links, from, write)
			}
		}
	}
	w.left, w.merged = todo, facts
}

// numbers are given to classes, or to items, as they occur.
type numbers struct {
	of   []int32
	when []int32 // in which round
	now  int32
	used int32
}

// clear takes the numbers away from n things.
func (n *numbers) clear(size int) {
	n.now, n.used = n.now+1, 0
	if more := size - len(n.of); more > 0 {
		n.of, n.when = append(n.of, make([]int32, more)...), append(n.when, make([]int32, more)...)
	}
}

func (n *numbers) get(thing int32) (number int32, ok bool) {
	return n.of[thing], n.when[thing] == n.now
}

func (n *numbers) add(thing int32) (number int32) {
	n.of[thing], n.when[thing] = n.used, n.now
	n.used++
	return n.of[thing]
}
