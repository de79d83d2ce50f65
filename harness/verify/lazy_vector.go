package verify

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Registers that packets of others write, for firmware that says [switching.Firmware.Vectors], where states
// are folded.
//
// What the packet has written itself is known, as bits: it comes with the state, and costs nothing. Others
// can only have set more bits, which take candidates away. Any way that a packet goes with more bits set it
// goes with fewer as well, and what it then knows is less. So bits of others matter where a packet is stuck
// alone: each up port is dead, or the packet has set its bit, or others have.
//
// A bit of others is not for nothing. It is set by packets that came down by the port, and these have met a
// dead link on the last few hops, which is so in all states that there are, see vectorPrice. That link is
// above the port and above no other port of the switch. So each port that is neither dead nor tried takes a
// fault more, unless a dead one above it is known: with fewer faults nothing is stuck. With just as many it is
// if the ports themselves can be dead. Where the two differ, it is left to exploring each set.
type vectorUse struct {
	came int32 // the link that the packet came by, and whose bit it sets
	over int32 // the link that it goes by, whose bit is not set; -1: it is stuck
}

// errPrice is that others' bits may cost less than a fault each, or decide about a pair.
var (
	errPrice  = errors.New("packets that have met no fault write registers")
	errOthers = errors.New("what others have written into registers can decide whether a pair is connected")
)

// imagesPerVector is how many values of the registers a firmware is asked with in a state, drawn at random.
const imagesPerVector = 64

// registersAsVectors turns the leaves of a state in which the firmware looks at registers into those with
// vectors, and reports false where it does not treat them so.
func (a *asker) registersAsVectors(f int, st *state) bool {
	if !a.vectors || !a.vectorAt(f, st, imagesPerVector) {
		return false
	}
	a.leaves = slices.DeleteFunc(a.leaves, func(l leaf) bool { return l.port == weft.NoPort })
	var ups switching.PortSet
	for i := range a.leaves {
		if a.leaves[i].dead != (switching.PortSet{}) {
			return false
		}
		a.leaves[i].vector = true
		ups.Add(a.leaves[i].port)
	}
	a.leaves = append(a.leaves, leaf{port: weft.NoPort, vector: true, dead: ups})
	return true
}

// vectorAt reports whether the firmware treats its registers as vectors in a state, as it has said, with so
// many values of these and sets of dead ports.
func (a *asker) vectorAt(f int, st *state, images int) bool {
	v := a.view(st.sw, st.in)
	zero, t := v.Registers, v.At.Tree
	came := t.UpIndex(st.in)
	defer func() { v.Registers = zero }()
	d := a.route(f, st, switching.PortSet{}, switching.PortSet{}, false, 0)
	index := d.Write.Index
	if came < 0 || !d.Write.Do || uint(index) >= uint(len(zero)) || d.Write.Value != 1<<uint(came) ||
		!v.offersAll(d.Candidates) {
		return false
	}
	at := [2]int32{st.sw, int32(a.m.flows[f].dst)}
	if old, ok := a.vectorOf[at]; ok && old != index {
		return false
	}
	a.vectorOf[at] = index
	all := slices.Clone(d.Candidates)
	if slices.ContainsFunc(all, func(c switching.Candidate) bool { return t.UpIndex(c.Port) < 0 || c.Port == st.in }) {
		return false
	}
	registers, rng := make([]uint64, len(zero)), a.fold.rng
	v.Registers = registers
	for i := range images {
		for r := range registers {
			registers[r] = rng.Uint64() & (1<<uint(t.Ups()) - 1)
			for range i % 4 {
				registers[r] &= rng.Uint64()
			}
		}
		if i == 1 {
			registers[index] = 1<<uint(t.Ups()) - 1
		}
		var dead switching.PortSet
		for word := rng.Uint64() & rng.Uint64() & (1<<uint(t.Ups()) - 1); word != 0; word &= word - 1 {
			if p := t.Up(bits.TrailingZeros64(word)); p != st.in && i%2 == 1 {
				dead.Add(p)
			}
		}
		a.turn++
		d := a.route(f, st, dead, switching.PortSet{}, false, a.turn)
		left := slices.DeleteFunc(slices.Clone(all), func(c switching.Candidate) bool {
			return dead.Has(c.Port) || registers[index]>>uint(t.UpIndex(c.Port))&1 == 1
		})
		tried := switching.RegisterWrite{Do: true, Index: index, Value: registers[index] | 1<<uint(came)}
		if d.Write != tried || !slices.Equal(d.Candidates, left) {
			return false
		}
	}
	return true
}

// vectorUse is how an outcome of a leaf uses a vector.
func (a *asker) vectorUse(st *state, l *leaf) *vectorUse {
	use := &vectorUse{came: int32(a.m.peer(int(st.sw), st.in).link), over: -1}
	if l.port != weft.NoPort {
		use.over = int32(a.m.peer(int(st.sw), l.port).link)
	}
	return use
}

// bit is the fact that a packet has set the bit of a link.
func (o *mortals) bit(link int32) fact { return o.bits() + fact(link)<<1 + 1 }

// bits is where the facts about bits begin.
func (o *mortals) bits() fact { return fact(3*o.links+o.switches) << 1 }

// vectorPrice finds how many hops before a packet sets a bit at a switch of each tier it has met a dead link
// below a switch that it was at, at most, in all states. The packet has stayed above the tier since then.
func (w *lazyWalk) vectorPrice(fs *flowSpace) error {
	w.reach = make([]int, w.fold.tiers)
	type step struct {
		from int32
		pays int // the tier below the dead link that it has met, and, if that is no link alone, one more; 0: none
	}
	before := make([][]step, len(w.classes))
	tier := func(c int32) int { return int(w.m.g.Switches[fs.states[c].sw].Tier) }
	for c := range w.classes {
		for i := range w.classes[c].outcomes {
			o := &w.classes[c].outcomes[i]
			if o.to >= 0 {
				before[o.to] = append(before[o.to], step{int32(c), w.pays(tier(int32(c)), o)})
			}
		}
	}
	for c := range w.classes {
		if o := w.classes[c].outcomes; len(o) == 0 || o[0].vector == nil {
			continue
		}
		t := tier(int32(c))
		last := map[int32]bool{int32(c): true}
		for hops := 1; len(last) > 0; hops++ {
			next := map[int32]bool{}
			for at := range last {
				for _, s := range before[at] {
					switch {
					case tier(s.from) >= t || hops > 2*w.fold.tiers:
						return errPrice
					case s.pays > 0 && s.pays <= t:
						w.reach[t] = max(w.reach[t], hops)
					default:
						next[s.from] = true
					}
				}
			}
			last = next
		}
	}
	return nil
}

// pays is the tier of the lower end of a link that is dead below a switch of a tier by an outcome, and one
// more if that end can be dead in place of the link; 0: there is none.
func (w *lazyWalk) pays(tier int, o *outcome) int {
	best := 0
	for _, is := range o.facts {
		link := int32(is >> 1)
		if !is.dead() || link >= w.faults.links || w.fold.upper[link] != tier {
			continue
		}
		pays := tier + 1
		if w.faults.ends[link][1-w.fold.above[link]] >= 0 {
			pays++
		}
		if best == 0 || pays < best {
			best = pays
		}
	}
	return best
}

// over is the slot of the up port of a switch that an item is above, within reach. ok is false if it is not,
// or above none alone.
func (w *lazyWalk) over(sw, item int32) (slot int32, ok bool) {
	q := w.fold
	t, own := int(w.m.g.Switches[sw].Tier), q.places[sw]
	kind, tier, at := q.slots(item)
	switch kind {
	case bitItem:
		return 0, false
	case fromAbove, fromBelow:
		return w.over(sw, w.faults.links+w.faults.suspect(fact(item)<<1))
	}
	reach := w.reach[t]
	if tier < t-reach || tier >= t {
		return 0, false
	}
	subtrees := tier // how many digits say which subtree
	if kind == linkItem {
		subtrees++
	}
	for i, is := range at {
		digit := i
		if kind == linkItem && i >= subtrees {
			digit--
		}
		switch {
		case i >= subtrees && digit == t-1:
			slot, ok = is, true
		case i < subtrees && digit < t-reach && is != own[digit], i >= subtrees && digit >= t && is != own[digit]:
			return 0, false
		}
	}
	return slot, ok
}

// asksOfVector calls do with the items that an outcome by a vector depends on.
func (w *lazyWalk) asksOfVector(st *state, o *outcome, do func(item int32)) {
	if o.vector.over >= 0 {
		do(int32(w.faults.bit(o.vector.over) >> 1))
		return
	}
	for _, is := range o.facts {
		if link := int32(is >> 1); link < w.faults.links {
			do(int32(w.faults.bit(link) >> 1))
		}
	}
	for item := range w.faults.items() {
		if between := item >= w.faults.links || w.fold.coords[item] != nil; between && w.above(st.sw, item) {
			do(item)
		}
	}
}

// above reports whether an item is above an up port of a switch, within reach.
func (w *lazyWalk) above(sw, item int32) bool {
	if n := item - w.faults.links - w.faults.switches; n >= 0 && w.faults.ends[n/2][n&1] < 0 {
		return false
	}
	_, ok := w.over(sw, item)
	return ok
}

// learnOfVector is learn where there are vectors.
func (w *lazyWalk) learnOfVector(known []fact, o *outcome) (dies int32, ok bool) {
	i, _ := slices.BinarySearch(known, w.faults.bits())
	own := known[i:]
	switch {
	case o.vector == nil:
		dies, ok = w.learnFacts(known[:i], o)
	case o.vector.over < 0:
		return w.learnStuck(known[:i], own, o)
	case slices.Contains(own, w.faults.bit(o.vector.over)):
		return 0, false
	default:
		dies, ok = w.learnFacts(known[:i], o)
	}
	from := len(w.merged)
	w.merged = append(w.merged, own...)
	w.sure = dies
	if o.vector == nil {
		return dies, ok
	}
	bit := w.faults.bit(o.vector.came)
	if at, set := slices.BinarySearch(w.merged[from:], bit); !set {
		w.merged = slices.Insert(w.merged, from+at, bit)
	}
	return dies, ok
}

// learnStuck counts the faults that have a packet stuck at least, and sets w.sure to those that surely have,
// with which w.merged is what is known then.
func (w *lazyWalk) learnStuck(known, own []fact, o *outcome) (least int32, ok bool) {
	left := outcome{to: lost, facts: slices.DeleteFunc(slices.Clone(o.facts), func(is fact) bool {
		link := int32(is >> 1)
		if link >= w.faults.links {
			link = int32(w.faults.link(is) >> 1)
		}
		return slices.Contains(own, w.faults.bit(link))
	})}
	if w.sure, ok = w.learnFacts(known, &left); !ok {
		w.sure = never
	}
	if w.m.regs == Alone {
		return w.sure, ok
	}
	sw := w.flows[w.last].states[o.at].sw
	for _, is := range left.facts {
		if int32(is>>1) >= w.faults.links {
			continue
		}
		port, _ := w.over(sw, int32(is>>1))
		if !slices.ContainsFunc(known, func(is fact) bool {
			slot, above := w.over(sw, int32(is>>1))
			return is.dead() && above && slot == port
		}) {
			least++
		}
	}
	return min(least, w.sure), true
}
