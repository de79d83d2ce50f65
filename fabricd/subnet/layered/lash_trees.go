package layered

import (
	"context"
	"slices"

	"github.com/weft-fabric/weft"
)

// trees are the paths of LASH by destination: per destination switch d and switch s the channel
// that s takes to d.
type trees struct {
	layering
	w    *wires
	both bool // directions share a layer: of has the one from the lower switch

	next []int32 // at d*n+s; -1 where there is none
	turn []int32 // at d*n+s: from that channel to the one after it, -1 where there is none
	load []int32 // per channel: the paths over it

	// Of the tree that grows, per switch: no layer below low takes its path, and that one has it if
	// it is the switch of NICs.
	low []int32
}

func newTrees(w *wires, turns *Turns, has []int32) *trees {
	t := &trees{
		w: w, next: make([]int32, w.n*w.n), turn: make([]int32, w.n*w.n), load: make([]int32, len(w.To)),
		low: make([]int32, w.n),
	}
	t.layering = layering{turns: turns, has: has, of: slices.Repeat([]uint8{none}, w.n*w.n), path: t.path}
	for i := range t.next {
		t.next[i], t.turn[i] = -1, -1
	}
	return t
}

// number is that of the path of a pair.
func (t *trees) number(s, d int32) int { return int(d)*t.w.n + int(s) }

// path gives the turns of the path that has number d*n+s.
func (t *trees) path(i int, turns []int32) []int32 {
	row := i / t.w.n * t.w.n
	for s := i - row; t.turn[row+s] >= 0; s = int(t.w.To[t.next[row+s]]) {
		turns = append(turns, t.turn[row+s])
	}
	return turns
}

// grow chooses the trees and fills the layers (steps 2 and 3), destination by destination, and
// switch by switch from the near ones to the far ones. A switch takes the channel by which its path
// gets into the lowest layer, and among those the one with the least sum of the squares of the
// loads on the way. So there are not only fewer layers than with trees drawn at random, which need
// 5.9 on average at 128 switches with 256 links where these need 4.8, but also a lower maximum of
// loads: 261 for 289.
//
// What a layer has refused a switch it refuses all switches whose path leads through that one, and
// what it has of the path of a switch need not be looked at again for those behind it: mostly there
// is one turn to check.
func (t *trees) grow(ctx context.Context, order []int32) error {
	dist := make([]int32, t.w.n)
	var queue []int32
	for _, d := range order {
		if err := Interrupted(ctx); err != nil {
			return err
		}
		if t.w.ends[d] {
			queue = t.w.Distances(dist, queue, d)
			t.tree(d, queue[1:], dist)
		}
	}
	return nil
}

// shortestTrees grows trees several times and returns those that need fewest layers. The first time
// destinations come in the order of a breadth-first search from switch o.Seed, so that each finds
// the layers filled by its neighbours, whose trees are like its own; after that those come first
// that had most paths in the last layer. They grow once, o.Rounds times more, and once more if the
// last layer has at most a path for each 16 switches: in two of five such graphs of 128 switches it
// is then not needed.
func shortestTrees(ctx context.Context, w *wires, turns *Turns, o Options, has []int32) (*trees, error) {
	first := w.Distances(make([]int32, w.n), nil, int32(o.Seed%uint64(w.n)))
	var best *trees
	order, late := slices.Clone(first), make([]int, w.n)
	for try := 0; ; try++ {
		t := newTrees(w, turns, has)
		if err := t.grow(ctx, order); err != nil {
			return nil, err
		}
		if best == nil || t.fewer(&best.layering) {
			best = t
		}
		last := len(t.layers) - 1
		if last < 1 || try > o.Rounds || try == o.Rounds && best.sizes[len(best.sizes)-1] > w.n/16 {
			return best, nil
		}
		clear(late)
		for i, k := range t.of {
			if int(k) == last {
				late[i/w.n]++
			}
		}
		copy(order, first)
		slices.SortStableFunc(order, func(a, b int32) int { return late[b] - late[a] })
	}
}

// tree is grow for one destination, with the other switches and their distances.
func (t *trees) tree(d int32, switches, dist []int32) {
	w, row := t.w, int(d)*t.w.n
	t.low[d] = 0
	for _, s := range switches {
		best, layer, turn, cost := int32(-1), int32(0), int32(-1), int64(0)
		for c := w.First[s]; c < w.First[s+1]; c++ {
			via := w.To[c]
			if dist[via] != dist[s]-1 || best >= 0 && t.low[via] > layer {
				continue
			}
			u := int32(-1)
			if via != d {
				u = t.turns.Find(c, t.next[row+int(via)])
			}
			k := t.lowest(row, via, u)
			if best >= 0 && k > layer {
				continue
			}
			if x := t.cost(row, c); best < 0 || k < layer || x < cost {
				best, layer, turn, cost = c, k, u, x
			}
		}
		i := row + int(s)
		t.next[i], t.turn[i], t.low[s] = best, turn, layer
		if !w.ends[s] {
			continue // it only passes on
		}
		t.storage = t.path(i, t.storage[:0])
		t.layer(int(layer)).AddPath(t.storage)
		t.sizes[layer]++
		t.of[i] = uint8(layer)
		for at := s; at != d; at = w.To[t.next[row+int(at)]] {
			t.load[t.next[row+int(at)]]++
		}
	}
}

// cost is the sum of the squares of the loads, as they are now, of a channel and those after it on
// the way to the destination.
func (t *trees) cost(row int, c int32) (sum int64) {
	for ; c >= 0; c = t.next[row+int(t.w.To[c])] {
		sum += int64(t.load[c]) * int64(t.load[c])
	}
	return sum
}

// lowest is the lowest layer that takes the path that begins with a turn into the channel that
// switch via takes.
func (t *trees) lowest(row int, via, turn int32) int32 {
	k := t.low[via]
	if turn < 0 {
		return k
	}
	if t.w.ends[via] {
		if t.layers[k].Fits(turn) {
			return k
		}
		k++
	}
	t.storage = append(t.storage[:0], turn)
	t.storage = t.path(row+int(via), t.storage)
	for ; int(k) < len(t.layers); k++ {
		if t.layers[k].FitsPath(t.storage) {
			break
		}
	}
	return k
}

func (t *trees) pair(i int) (s, d int32) { return int32(i % t.w.n), int32(i / t.w.n) }

// routing makes tables and assignments.
func (t *trees) routing(engine string, f *fallback) (*Routing, error) {
	w := t.w
	p := newPacked(w)
	for d, ends := range w.ends {
		if ends {
			p.next[d] = [][]int32{t.next[d*w.n : (d+1)*w.n]}
		}
	}
	address := make([]weft.Address, 1)
	return p.routing(engine, len(t.layers), f, func(s, d int32) []weft.Address {
		if t.both && d < s {
			s, d = d, s
		}
		address[0].VC = weft.VC(t.of[t.number(s, d)])
		return address
	})
}
