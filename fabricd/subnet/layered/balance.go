package layered

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// balance chooses one of several equally short ways for each destination: at each switch that on
// which the sum of the squares of the loads is least, where the load of a channel is the pairs of
// NICs that go over it so far; of several that of the lowest port. Then it adds the load of the
// destination. Choosing by the first channel alone, without what comes after it, left a maximum a
// tenth higher.
type balance struct {
	w    *wires
	load []int32 // per channel, in all layers
	// per switch: for packets that can still go up, or to which that does not matter; and for those
	// that came down
	climb, fall []phase
}

// phase is the way on from a switch.
type phase struct {
	channel int32 // -1 for none
	cost    int64 // of the way to the end
	here    int32 // pairs whose packets come by
}

func newBalance(w *wires) *balance {
	return &balance{w: w, load: make([]int32, len(w.To)), climb: make([]phase, w.n), fall: make([]phase, w.n)}
}

// start puts at each switch the packets of its own NICs; those of a pair that is not in the layers
// looked at do not count.
func (b *balance) start(d int32, counts func(s, d int32) bool) {
	for s := range int32(b.w.n) {
		b.climb[s], b.fall[s] = phase{channel: -1}, phase{channel: -1}
		if s != d && (counts == nil || b.w.ends[s] && counts(s, d)) {
			b.climb[s].here = int32(len(b.w.nics[s]))
		}
	}
}

// choose is the best channel from s among those that lead to a neighbour on the way.
func (b *balance) choose(p *phase, s int32, leads func(s, t int32) bool, after func(s, t int32) *phase) {
	for c := b.w.First[s]; c < b.w.First[s+1]; c++ {
		t := b.w.To[c]
		if !leads(s, t) {
			continue
		}
		cost := after(s, t).cost + int64(b.load[c])*int64(b.load[c])
		if p.channel < 0 || cost < p.cost {
			p.channel, p.cost = c, cost
		}
	}
}

// flow adds the load of what is at s, and hands it on.
func (b *balance) flow(p *phase, s int32, after func(s, t int32) *phase) {
	b.load[p.channel] += p.here
	after(s, b.w.To[p.channel]).here += p.here
}

// legal chooses for packets to d, by the distances of l.
func (b *balance) legal(l *legal, d int32, counts func(s, d int32) bool) {
	b.start(d, counts)
	fallen := func(_, t int32) *phase { return &b.fall[t] }
	after := func(s, t int32) *phase {
		if l.up(s, t) {
			return &b.climb[t]
		}
		return &b.fall[t]
	}
	for _, s := range l.above[1:] { // without d; what lies below s on the way is done before it
		b.choose(&b.fall[s], s, l.descends, fallen)
	}
	for _, s := range l.order { // what lies above s is done before it
		if s != d {
			b.choose(&b.climb[s], s, l.climbs, after)
		}
	}
	for _, s := range slices.Backward(l.order) {
		if s != d {
			b.flow(&b.climb[s], s, after)
		}
	}
	for _, s := range slices.Backward(l.above[1:]) {
		b.flow(&b.fall[s], s, fallen)
	}
}

// tree chooses for packets to d whatever way they came. The queue has d first, and each switch
// after those that its way can lead to.
func (b *balance) tree(queue []int32, d int32, leads func(s, t int32) bool) {
	b.start(d, nil)
	after := func(_, t int32) *phase { return &b.climb[t] }
	for _, s := range queue[1:] {
		b.choose(&b.climb[s], s, leads, after)
	}
	for _, s := range slices.Backward(queue[1:]) {
		b.flow(&b.climb[s], s, after)
	}
}

// portOf is the port of a channel, as a list; empty for none.
func (w *wires) portOf(c int32) []weft.PortID {
	if c < 0 {
		return nil
	}
	return w.Port[c : c+1]
}
