package verify

import (
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/weft-fabric/weft"
)

// weights counts, by size, the sets in which packets that start in a node fail, where no choice is
// left to them: one set takes one walk. What a walk has learnt is counted as it learns it; what it
// has forgotten it never asks again, so that nothing counts twice. A walk that knows d of n
// elements dead and u up stands for the sets of s elements that have all of the one and none of the
// other: s-d of n-d-u.
func (w *lazyWalk) weights(root int32, elements, most int) []*big.Int {
	type learnt struct{ dead, up int32 }
	mass := map[int32]map[learnt]*big.Int{root: {{}: big.NewInt(1)}}
	fails := map[learnt]*big.Int{}
	add := func(to map[learnt]*big.Int, at learnt, n *big.Int) {
		if to[at] == nil {
			to[at] = new(big.Int)
		}
		to[at].Add(to[at], n)
	}
	order, place := w.before(root)
	for i, id := range order {
		n := &w.nodes[id]
		for j := n.first; j < n.last; j++ {
			e := &w.edges[j]
			if e.to == delivered || e.to >= 0 && w.nodes[e.to].fails == never {
				continue
			}
			w.learn(w.known[n.known], &w.classes[n.class].outcomes[e.outcome])
			up := int32(len(w.merged)-len(w.known[n.known])) - e.cost
			for at, many := range mass[id] {
				at = learnt{at.dead + e.cost, at.up + up}
				switch {
				case at.dead > int32(w.most) || e.to >= 0 && at.dead+w.nodes[e.to].fails > int32(w.most):
				case e.to == lost || place[e.to] <= i: // or on a cycle
					add(fails, at, many)
				default:
					if mass[e.to] == nil {
						mass[e.to] = map[learnt]*big.Int{}
					}
					add(mass[e.to], at, many)
				}
			}
		}
		delete(mass, id)
	}
	bad := make([]*big.Int, most+1)
	var n big.Int
	for size := range bad {
		bad[size] = new(big.Int)
		for at, many := range fails {
			switch left := size - int(at.dead); {
			case left == 0: // what is up is forgotten where no more can be dead, and then counted again
				bad[size].Add(bad[size], many)
			case left > 0:
				n.Binomial(int64(elements)-int64(at.dead)-int64(at.up), int64(left))
				bad[size].Add(bad[size], n.Mul(&n, many))
			}
		}
	}
	return bad
}

// before lists the nodes from which packets can fail, each before those that it leads to but on a
// cycle, and their places.
func (w *lazyWalk) before(root int32) (order []int32, place map[int32]int) {
	type visit struct{ node, next int32 }
	place = map[int32]int{root: 0}
	path := []visit{{root, w.nodes[root].first}}
	for len(path) > 0 {
		top := &path[len(path)-1]
		if top.next == w.nodes[top.node].last {
			order = append(order, top.node)
			path = path[:len(path)-1]
			continue
		}
		to := w.edges[top.next].to
		top.next++
		if _, seen := place[to]; to >= 0 && !seen && w.nodes[to].fails < never {
			place[to] = 0
			path = append(path, visit{to, w.nodes[to].first})
		}
	}
	slices.Reverse(order)
	for i, id := range order {
		place[id] = i
	}
	return order, place
}

// maxUnion bounds how many patterns are looked at to count what all cover together, chosen by us: a
// second.
const maxUnion = 1 << 21

// pairDrawn is how many sets of a size are drawn for a pair, chosen by us.
const pairDrawn = 1000

// union counts, by size up to the largest, the sets of so many elements that one of some patterns
// fits. nil: that takes too long.
func union(list []pattern, elements, most int) []*big.Int {
	left := maxUnion
	sum := make([]*big.Int, most+1)
	for i := range sum {
		sum[i] = new(big.Int)
	}
	var n big.Int
	var add func(list []pattern, undecided, dead int) bool
	add = func(list []pattern, undecided, dead int) bool {
		if len(list) == 0 || dead > most {
			return true
		}
		if left -= len(list); left < 0 {
			return false
		}
		if i := slices.IndexFunc(list, func(p pattern) bool { return len(p.dead)+len(p.up) == 0 }); i >= 0 {
			for size := dead; size <= most; size++ {
				sum[size].Add(sum[size], n.Binomial(int64(undecided), int64(size-dead)))
			}
			return true
		}
		if len(list) == 1 {
			p := &list[0]
			undecided -= len(p.dead) + len(p.up)
			for size := dead + len(p.dead); size <= most; size++ {
				sum[size].Add(sum[size], n.Binomial(int64(undecided), int64(size-dead-len(p.dead))))
			}
			return true
		}
		e := frequent(list)
		return add(given(list, e, true), undecided-1, dead+1) && add(given(list, e, false), undecided-1, dead)
	}
	if !add(list, elements, 0) {
		return nil
	}
	return sum
}

// frequent is the element that most patterns name.
func frequent(list []pattern) (best int32) {
	count := map[int32]int{}
	for i := range list {
		for _, e := range list[i].dead {
			count[e]++
		}
		for _, e := range list[i].up {
			count[e]++
		}
	}
	for e, n := range count {
		if most := count[best]; n > most || n == most && e < best {
			best = e
		}
	}
	return best
}

// given are the patterns that can still fit where an element is dead or up, without it.
func given(list []pattern, e int32, dead bool) (left []pattern) {
	without := func(list []int32) []int32 {
		if i, ok := slices.BinarySearch(list, e); ok {
			return slices.Concat(list[:i], list[i+1:])
		}
		return list
	}
	for _, p := range list {
		against := p.dead
		if dead {
			against = p.up
		}
		if _, ok := slices.BinarySearch(against, e); !ok {
			left = append(left, pattern{dead: without(p.dead), up: without(p.up)})
		}
	}
	return left
}

// sampled draws sets of a size, and looks whether packets that start in some nodes can fail.
func (w *lazyWalk) sampled(r *run, roots []int32, size int) *Sampled {
	s := &Sampled{Sets: pairDrawn}
	in := make([]bool, w.faults.links+w.faults.switches)
	for i := range pairDrawn {
		rng := rand.New(weft.Stream(r.Sets.Seed, weft.StreamFaultSets, uint64(size)<<48|uint64(i), 0))
		set := draw(rng, len(r.Sets.elements), size)
		for _, e := range set {
			in[w.faults.item(r.Sets.elements[e])] = true
		}
		fails := func(root int32) bool { return w.failsWith(w.nodes[root].class, in, map[int32]bool{}) }
		if !slices.ContainsFunc(roots, fails) {
			s.Connected++
		}
		for _, e := range set {
			in[w.faults.item(r.Sets.elements[e])] = false
		}
	}
	s.Low, s.High = wilson(s.Connected, s.Sets)
	return s
}

// failsWith reports whether packets in a class can fail where some elements are dead, by their
// items, and no others. seen are the classes that were looked at: true while packets have come by
// them.
func (w *lazyWalk) failsWith(class int32, dead []bool, seen map[int32]bool) bool {
	if on, ok := seen[class]; ok {
		return on // a cycle
	}
	seen[class] = true
	for i := range w.classes[class].outcomes {
		o := &w.classes[class].outcomes[i]
		if o.to != delivered && w.faults.fit(o.facts, dead) && (o.to == lost || w.failsWith(o.to, dead, seen)) {
			return true
		}
	}
	seen[class] = false
	return false
}

// fit reports whether facts are true where some items are dead, and no others.
func (o *mortals) fit(facts []fact, dead []bool) bool {
	plain, marks := o.split(facts)
	for _, is := range plain {
		behind := slices.ContainsFunc(marks, func(mark fact) bool {
			return o.link(mark) == is && dead[o.links+o.suspect(mark)]
		})
		if (dead[is>>1] || behind) != is.dead() {
			return false
		}
	}
	return true
}
