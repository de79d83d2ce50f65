package layered

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-fabric/weft"
)

// bothWays are trees for LASH by destination with both directions of a pair in one layer. The links
// have drawn lengths beside their hop, by which each pair has one shortest path alone. So paths are
// trees and lead back as they lead there, which needs only about half as many layers as trees that
// know nothing of each other. Pairs are put into the lowest layer that takes both of their paths,
// those with the longest first, for several draws, of which the one is kept that needs fewest
// layers.
func bothWays(ctx context.Context, w *wires, turns *Turns, o Options, has []int32) (*trees, error) {
	dist := w.AllDistances()
	back := w.back()
	var best *trees
	for i := range 4 + o.Rounds {
		t := newTrees(w, turns, has)
		t.both = true
		t.layering.path = t.bothPaths
		t.short(back, weft.Scatter(o.Seed)+uint64(i))
		if err := t.fill(ctx, dist); err != nil {
			return nil, err
		}
		if best == nil || t.fewer(&best.layering) {
			best = t
		}
		if len(t.layers) < 2 {
			break
		}
	}
	return best, nil
}

// short makes the trees of shortest paths by drawn lengths.
func (t *trees) short(back []int32, draw uint64) {
	w := t.w
	length := make([]int64, len(w.To))
	for c, b := range back {
		// 40 bits: a path has no more than 2^16 links
		length[c] = int64(weft.Scatter(draw^uint64(min(int32(c), b))<<20) >> 24)
	}
	dist, far := make([]int32, w.n), make([]int64, w.n)
	var queue []int32
	for d := range int32(w.n) {
		if !w.ends[d] {
			continue
		}
		queue = w.Distances(dist, queue, d)
		far[d] = 0
		for _, s := range queue[1:] {
			best := int32(-1)
			for c := w.First[s]; c < w.First[s+1]; c++ {
				if via := w.To[c]; dist[via] == dist[s]-1 && (best < 0 || far[via]+length[c] < far[s]) {
					best, far[s] = c, far[via]+length[c]
				}
			}
			i := t.number(s, d)
			t.next[i] = best
			if via := w.To[best]; via != d {
				t.turn[i] = t.turns.Find(best, t.next[t.number(via, d)])
			}
		}
	}
}

// fill puts each pair into the lowest layer that takes the paths of both directions.
func (t *trees) fill(ctx context.Context, dist []uint16) error {
	w := t.w
	var rest []int32
	for i := range t.of {
		if s, d := i%w.n, i/w.n; s < d && w.ends[s] && w.ends[d] {
			rest = append(rest, int32(i))
		}
	}
	slices.SortStableFunc(rest, func(a, b int32) int { return cmp.Compare(dist[b], dist[a]) })
	return t.layering.fill(ctx, rest, t.put)
}

// bothPaths gives the turns of the paths of both directions.
func (t *trees) bothPaths(i int, turns []int32) []int32 {
	turns = t.path(i, turns)
	return t.path(i%t.w.n*t.w.n+i/t.w.n, turns)
}
