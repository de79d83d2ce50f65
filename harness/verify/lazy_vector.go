package verify

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// vectorUse is how an outcome depends on a register that packets of others write as well, for
// firmware that says [switching.Firmware.Vectors], where states are folded.
//
// What the packet has written itself is known, as bits: it comes with the state, and costs nothing.
// Others can only have set more bits, which take candidates away. Any way that a packet goes with
// more bits set it goes with fewer as well, and what it then knows is less. So bits of others
// matter where a packet is stuck alone: each up port is dead, or the packet has set its bit, or
// others have.
//
// A bit is not for nothing, whoever sets it. It is set by a packet that came down by the port, and
// that has met a fault above it, which is above no other port of the switch, see turns. So a packet
// is stuck with as many faults as there are up ports, at least. Up to there nothing need be known
// of others. From there on it is found with how many faults a packet is stuck by itself; where
// others may have it stuck with less, it is left to exploring each set. In a tier where one fault
// may be above several ports, others may have it stuck as soon as it comes there.
type vectorUse struct {
	came  int32 // the link that the packet came by, and whose bit it sets
	over  int32 // the link that it goes by, whose bit is not set; -1: it is stuck
	again int32 // the switch, where it has come back since the packet was there, with no bits; -1: it has not
}

// errOthers is that others' bits may cost less than what has a packet stuck by itself.
var errOthers = errors.New("what others have written into registers can decide whether a pair is connected")

// imagesPerVector is how many values of the registers a firmware is asked with in a state, drawn at
// random.
const imagesPerVector = 64

// registersAsVectors turns the leaves of a state in which the firmware looks at registers into
// those with vectors, and reports false where it does not treat them so.
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
	if a.faults.when == Flapping && a.faults.can[st.sw] {
		for _, l := range a.leaves {
			l.again = true
			a.leaves = append(a.leaves, l)
		}
	}
	return true
}

// vectorAt reports whether the firmware treats its registers as vectors in a state, as it has said,
// with so many values of these and sets of dead ports.
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
			if p := t.Up(bits.TrailingZeros64(word)); v.can.Has(p) && i%2 == 1 {
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
	use := &vectorUse{came: int32(a.m.peer(int(st.sw), st.in).link), over: -1, again: -1}
	if l.port != weft.NoPort {
		use.over = int32(a.m.peer(int(st.sw), l.port).link)
	}
	if l.again {
		use.again = st.sw
	}
	return use
}

// withVector is the facts of an outcome of a leaf with a vector where faults come and go: the links
// that are dead, whatever has them dead, see learnStuck, and that the switch has been.
func (a *asker) withVector(st *state, l *leaf, o outcome) outcome {
	only := leaf{dead: l.dead}
	o = a.withFacts(st, &only, o)
	if l.again {
		from := len(a.facts) - len(o.facts)
		a.facts = append(a.facts, fact(a.faults.links+st.sw)<<1|1) // behind those about links
		o.facts = a.facts[from:]
	}
	return o
}

// bit is the fact that a packet has set the bit of a link.
func (o *mortals) bit(link int32) fact { return o.bits() + fact(link)<<1 + 1 }

// bits is where the facts about bits begin.
func (o *mortals) bits() fact { return fact(3*o.links+o.switches) << 1 }

// bitsOf calls do with the bits that an outcome by a vector asks about.
func (w *lazyWalk) bitsOf(o *outcome, do func(item int32)) {
	if o.vector.over >= 0 {
		do(int32(w.faults.bit(o.vector.over) >> 1))
		return
	}
	for _, is := range o.facts {
		if w.faults.when != Flapping {
			do(int32(w.faults.bit(w.faults.linkOf(is)) >> 1))
		} else if int32(is>>1) < w.faults.links {
			do(int32(w.faults.bit(w.faults.linkOf(is)) >> 1))
			if above := w.faults.above(w.fold, is); above >= 0 {
				do(w.faults.links + above)
			}
		}
	}
}

// linkOf is the link that a fact or a suspicion is about.
func (o *mortals) linkOf(is fact) int32 {
	if int32(is>>1) < o.links {
		return int32(is >> 1)
	}
	return int32(o.link(is) >> 1)
}

// learnOfVector is learn where there are vectors. A packet is stuck where all that an outcome names
// is dead but for what it has tried.
func (w *lazyWalk) learnOfVector(known []fact, o *outcome) (dies int32, ok bool) {
	i, _ := slices.BinarySearch(known, w.faults.bits())
	known, own := known[:i], known[i:]
	if o.vector != nil && o.vector.again >= 0 {
		before := len(own)
		own = slices.DeleteFunc(slices.Clone(own), func(is fact) bool {
			link := (is - w.faults.bits()) >> 1
			return w.faults.ends[link][1-w.fold.above[link]] == o.vector.again
		})
		if len(own) == before {
			return 0, false // as if it had not come back
		}
	}
	tried := func(link int32) bool { return slices.Contains(own, w.faults.bit(link)) }
	switch {
	case o.vector == nil:
	case o.vector.over < 0:
		return w.learnStuck(known, o, tried)
	case tried(o.vector.over):
		return 0, false
	}
	dies, ok = w.learnFacts(known, o)
	from := len(w.merged)
	w.merged = append(w.merged, own...)
	if o.vector == nil {
		return dies, ok
	}
	bit := w.faults.bit(o.vector.came)
	if at, set := slices.BinarySearch(w.merged[from:], bit); !set {
		w.merged = slices.Insert(w.merged, from+at, bit)
	}
	return dies, ok
}

// learnStuck is learnOfVector where all that an outcome names is dead but for what the packet has
// tried. Where faults come and go, a port is dead by its link or by the switch that it leads to. No
// two ports of a switch have either in common, and the packet ends here, so that the links are
// taken for what is not known.
func (w *lazyWalk) learnStuck(known []fact, o *outcome, tried func(link int32) bool) (dies int32, ok bool) {
	flaps, links := w.faults.when == Flapping, fact(w.faults.links)<<1
	now := 0 // dead ports
	left := outcome{facts: slices.DeleteFunc(slices.Clone(o.facts), func(is fact) bool {
		switch {
		case flaps && is >= links:
			return false
		case tried(w.faults.linkOf(is)):
			return true
		}
		now++
		above := w.faults.above(w.fold, is)
		return flaps && above >= 0 && slices.Contains(known, fact(w.faults.links+above)<<1|1)
	})}
	if flaps && now > w.faults.here {
		return 0, false
	}
	return w.learnFacts(known, &left)
}

// above is the switch at the upper end of the link of a fact, -1: it cannot be dead.
func (o *mortals) above(q *fold, is fact) int32 { return o.ends[o.linkOf(is)][q.above[o.linkOf(is)]] }
