package dqr

// sweep follows all paths to target k in a layer, and takes out of force what none of them uses.
func (r *Reconfiguration) sweep(l, k int) {
	x, w, y := &r.scratch, r.w, r.layers[l]
	r.travel(l, k)
	live := row(y.live, k, len(w.To))
	for c, is := range live {
		if !is || x.stamp[c] == x.walk {
			continue
		}
		live[c] = false
		if next := r.step(y, k, int32(c)); next >= 0 {
			r.pending = append(r.pending, drop{int32(l), w.turn(int32(c), next)})
		}
	}
}

// travel goes along all paths to target k in a layer, by the entries, stamps their channels, and
// puts their turns into the union.
func (r *Reconfiguration) travel(l, k int) {
	x, w, y := &r.scratch, r.w, r.layers[l]
	if x.stamp == nil {
		x.stamp = make([]uint32, len(w.To))
	}
	x.nextWalk()
	first := row(y.first, k, w.n)
	for s, m := range row(r.mask, k, w.n) {
		if m>>l&1 == 0 {
			continue
		}
		for c := first[s]; c >= 0 && x.stamp[c] != x.walk; {
			x.stamp[c] = x.walk
			next := r.step(y, k, c)
			if next >= 0 {
				y.union[w.turn(c, next)] = true
			}
			c = next
		}
	}
}

// follow makes the union that of the paths in force.
func (r *Reconfiguration) follow() {
	for l, y := range r.layers {
		clear(y.union)
		for k := range r.targets {
			r.travel(l, k)
		}
	}
}

// Settle says that the packets that travelled by old tables are gone: dependencies that nobody uses
// any more are dropped, and with them turns that a plug-in or a local path has enabled and no path
// has used.
func (r *Reconfiguration) Settle() {
	for _, d := range r.pending {
		r.layers[d.layer].list.Drop(d.turn)
	}
	r.pending = r.pending[:0]
	clear(r.fresh)
	copy(r.sent, r.mask)
	for _, y := range r.layers {
		y.asked = append(y.asked[:0], y.live...)
	}
	r.find.version++
	r.follow()
}

// Acyclic reports whether the dependencies of the paths in force, and of those that were since the
// last Settle, have no cycle. They are found by following the entries, and the cycle by taking away
// channels that nothing leads to: the channel lists are not asked. Channels of dead links are not
// part of it.
func (r *Reconfiguration) Acyclic() bool {
	w := r.w
	waits := make([]int32, len(w.To))
	var free []int32
	for _, y := range r.layers {
		clear(waits)
		for c := range w.To {
			for i, o := w.base[c], w.First[w.To[c]]; o < w.First[w.To[c]+1]; i, o = i+1, o+1 {
				if y.union[i] && !r.dead[c] && !r.dead[o] {
					waits[o]++
				}
			}
		}
		free = free[:0]
		for c, n := range waits {
			if n == 0 {
				free = append(free, int32(c))
			}
		}
		for at := 0; at < len(free); at++ {
			c := free[at]
			for i, o := w.base[c], w.First[w.To[c]]; o < w.First[w.To[c]+1]; i, o = i+1, o+1 {
				if y.union[i] && !r.dead[c] && !r.dead[o] {
					if waits[o]--; waits[o] == 0 {
						free = append(free, o)
					}
				}
			}
		}
		if len(free) != len(w.To) {
			return false
		}
	}
	return true
}
