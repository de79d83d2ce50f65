package layered

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// balance chooses among equally short ways: switch by switch, the far ones first, the channel that carries the fewest pairs of NICs so
// far, of several that of the lowest port. What reaches a switch by then is known, and goes on by the channel chosen.
type balance struct {
	w      *wires
	load   []int32 // per channel: the pairs that go over it, in all layers
	climb  []int32 // per switch: the channel of packets that can still go up, -1 for none
	fall   []int32 // per switch: that of those that came down
	at     []int32 // per switch: the pairs whose packets are there and can still go up
	fallen []int32 // per switch: those whose packets came down to it
}

func newBalance(w *wires) *balance {
	return &balance{
		w: w, load: make([]int32, len(w.to)),
		climb: make([]int32, w.n), fall: make([]int32, w.n), at: make([]int32, w.n), fallen: make([]int32, w.n),
	}
}

// start puts at each switch the packets of its own NICs; those of a pair that is not in the layers looked at do not count.
func (b *balance) start(d int32, counts func(s, d int32) bool) {
	for s := range int32(b.w.n) {
		b.at[s], b.fallen[s] = 0, 0
		b.climb[s], b.fall[s] = -1, -1
		if s != d && (counts == nil || b.w.ends[s] && counts(s, d)) {
			b.at[s] = int32(len(b.w.nics[s]))
		}
	}
}

// least is the channel from s with the least load among those that lead to a neighbour on the way, -1 if none does.
func (b *balance) least(s int32, leads func(s, t int32) bool) int32 {
	best := int32(-1)
	for c := b.w.first[s]; c < b.w.first[s+1]; c++ {
		if (best < 0 || b.load[c] < b.load[best]) && leads(s, b.w.to[c]) {
			best = c
		}
	}
	return best
}

// legal chooses for packets to d, by the distances of l.
func (b *balance) legal(l *legal, d int32, counts func(s, d int32) bool) {
	b.start(d, counts)
	for _, s := range slices.Backward(l.order) { // before what lies above it
		if s == d {
			continue
		}
		c := b.least(s, l.climbs)
		t := b.w.to[c]
		b.climb[s] = c
		b.load[c] += b.at[s]
		if l.up(s, t) {
			b.at[t] += b.at[s]
		} else {
			b.fallen[t] += b.at[s]
		}
	}
	for _, s := range slices.Backward(l.above) { // before what lies below it
		if s == d {
			continue
		}
		c := b.least(s, l.descends)
		b.fall[s] = c
		b.load[c] += b.fallen[s]
		b.fallen[b.w.to[c]] += b.fallen[s]
	}
}

// tree chooses one channel per switch, to a neighbour on the way, whatever way packets came. The queue has the switches in the order
// of their distance, the near ones first.
func (b *balance) tree(queue []int32, d int32, leads func(s, t int32) bool) {
	b.start(d, nil)
	for _, s := range slices.Backward(queue) {
		if s == d {
			continue
		}
		c := b.least(s, leads)
		b.climb[s] = c
		b.load[c] += b.at[s]
		b.at[b.w.to[c]] += b.at[s]
	}
}

// port is the port of a channel, as a list; empty for none.
func (w *wires) portOf(c int32) []weft.PortID {
	if c < 0 {
		return nil
	}
	return w.port[c : c+1]
}
