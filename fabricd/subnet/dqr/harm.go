package dqr

// localWays are paths around a channel in a layer, the cheapest by each channel out of the switch
// that it leaves; in the order of those.
func (r *Reconfiguration) localWays(res *Result, l int, c int32) (ways [][]int32) {
	w, f := r.w, r.find
	f.request++
	res.Searches++
	f.byChannel(&query{
		list: r.layers[l].list, home: w.To[c], dead: r.dead, limit: mostCost, sources: []int32{w.From[c]},
		all: r.o.Turns != SingleTurn, byHops: r.o.Cost == HopsFirst, each: true,
		revisit: r.o.Revisit == AllowTwice,
	})
	for o := w.First[w.From[c]]; o < w.First[w.From[c]+1] && len(ways) < mostWays; o++ {
		if f.done[o] != f.era {
			continue
		}
		var way []int32
		for at := o; at >= 0; at = f.choice[at] {
			way = append(way, at)
		}
		ways = append(ways, way)
	}
	return ways
}

// mostWays bounds the local paths that are compared. Chosen by us; it is more than a mesh has
// dimensions to go.
const mostWays = 8

// harm is how many turns could be enabled now and could no longer be if those of a path were. It
// reports false when those cannot be enabled together.
func (r *Reconfiguration) harm(l int, path []int32) (harm int, ok bool) {
	x, w, list := &r.scratch, r.w, r.layers[l].list
	x.trial++
	turns, ok := x.turns[:0], true
	for i := 0; i+1 < len(path) && ok; i++ {
		t := w.turn(path[i], path[i+1])
		if !list.Has(t) && !list.Closes(t) {
			harm += r.closedBy(l, path[i], path[i+1])
		}
		if ok = list.Try(t); ok {
			turns = append(turns, t)
		}
	}
	list.BackPath(turns)
	list.Keep()
	r.find.version++ // the order may have changed
	x.turns = turns
	return harm, ok
}

// closedBy counts the turns from what depends on channel b to what a depends on, that is those that
// a dependency of a on b rules out, and that nothing else does. Within one trial each counts once.
func (r *Reconfiguration) closedBy(l int, a, b int32) (n int) {
	x, w, list := &r.scratch, r.w, r.layers[l].list
	x.nextWalk()
	queue := append(x.path[:0], a)
	x.leads[a] = x.walk
	for i := 0; i < len(queue); i++ {
		for _, p := range w.leading(w.From[queue[i]]) {
			if x.leads[p] != x.walk && list.Has(w.turn(p, queue[i])) {
				x.leads[p] = x.walk
				queue = append(queue, p)
			}
		}
	}
	queue = append(queue[:0], b)
	x.stamp[b] = x.walk
	for i := 0; i < len(queue); i++ {
		c := queue[i]
		for o := w.First[w.To[c]]; o < w.First[w.To[c]+1]; o++ {
			t := w.turn(c, o)
			if x.stamp[o] != x.walk && list.Has(t) {
				x.stamp[o] = x.walk
				queue = append(queue, o)
			}
			if x.leads[o] == x.walk && o != w.back[c] && !r.dead[c] && !r.dead[o] && x.lost[t] != x.trial && !list.Closes(t) {
				x.lost[t] = x.trial
				n++
			}
		}
	}
	x.path = queue
	return n
}
