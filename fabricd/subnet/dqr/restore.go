package dqr

import (
	"context"
	"slices"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// Restore is Fail for links that have come back, beside others that have died: flows that were
// unroutable get paths first, and then flows return to the paths of the engine as far as the
// channel lists allow. Dependencies of the paths that they leave stay until
// [Reconfiguration.Settle], and after that another Restore may bring back more: there is no more to
// come when it re-routes nothing.
func (r *Reconfiguration) Restore(ctx context.Context, dead func(*topology.Link) bool) (*Result, error) {
	return r.change(ctx, dead, true)
}

// returnHome brings flows back to the paths of the engine.
func (r *Reconfiguration) returnHome(ctx context.Context) error {
	n := r.w.n
	for l := range r.layers {
		for k := range r.targets {
			if err := r.interrupted(ctx); err != nil {
				return err
			}
			before := len(r.scratch.journal)
			for s, had := range row(r.home.mask, k, n) {
				if had>>l&1 == 0 || !r.bringBack(l, k, int32(s)) {
					continue
				}
				for other, m := 0, r.mask[k*n+s]&^had; m>>other != 0; other++ { // the layers that it was in meanwhile
					if m>>other&1 == 1 {
						r.scratch.touched[other][k] = true
					}
				}
				r.mask[k*n+s] &= had
			}
			if len(r.scratch.journal) > before {
				r.noteChanged(l, k, r.scratch.journal[before:])
			}
		}
	}
	return nil
}

// undo gives back what they were to the entries that this change has written and that no path uses
// in the end, because the flow returned home after it: packets that ask them still go as before.
// Others would go along the rest of a way that was given up, by entries that nobody has looked at.
func (r *Reconfiguration) undo() {
	for i := len(r.scratch.journal) - 1; i >= 0; i-- { // what was overwritten first comes last
		e := r.scratch.journal[i]
		y, n, channels := r.layers[e.layer], r.w.n, len(r.w.To)
		switch {
		case !e.first && !y.live[e.at]:
			r.setNext(y, int(e.layer), int(e.at)/channels, e.at%int32(channels), e.was)
		case e.first && r.mask[e.at]>>e.layer&1 == 0 && !r.passed(row(y.live, int(e.at)/n, channels), nil, e.at%int32(n)):
			r.setFirst(y, int(e.layer), int(e.at)/n, e.at%int32(n), e.was)
		}
	}
}

// tidy gives entries that no packet has asked since the last Settle what the engine had.
func (r *Reconfiguration) tidy() {
	w := r.w
	for l, y := range r.layers {
		for k := range r.targets {
			live, asked := row(y.live, k, len(w.To)), row(y.asked, k, len(w.To))
			next, home := row(y.next, k, len(w.To)), row(r.home.next[l], k, len(w.To))
			for c, is := range next {
				if is != home[c] && !live[c] && !asked[c] {
					r.setNext(y, l, k, int32(c), home[c])
				}
			}
			first, begin := row(y.first, k, w.n), row(r.home.first[l], k, w.n)
			for s, is := range first {
				if is != begin[s] && (r.mask[k*w.n+s]|r.sent[k*w.n+s])>>l&1 == 0 && !r.passed(live, asked, int32(s)) {
					r.setFirst(y, l, k, int32(s), begin[s])
				}
			}
		}
	}
}

// passed reports whether packets for a target came to a switch whose entry for it they asked.
func (r *Reconfiguration) passed(live, asked []bool, s int32) bool {
	if r.o.Entries == ByChannel {
		return false // they asked other entries than those of packets that begin there
	}
	return slices.ContainsFunc(r.w.leading(s), func(c int32) bool { return live[c] || asked != nil && asked[c] })
}

// bringBack puts the path of the engine from s to target k in a layer in force. It reports false
// when it is so already, or cannot be.
func (r *Reconfiguration) bringBack(l, k int, s int32) bool {
	w, y, x := r.w, r.layers[l], &r.scratch
	next, first := row(r.home.next[l], k, len(w.To)), row(r.home.first[l], k, w.n)
	live, is := row(y.live, k, len(w.To)), r.mask[k*w.n+int(s)]>>l&1 == 1 && y.first[k*w.n+int(s)] == first[s]
	path := x.path[:0]
	for c := first[s]; c >= 0; {
		if r.dead[c] {
			return false
		}
		path = append(path, c)
		on := none
		if w.To[c] != r.targets[k].home {
			if on = next[c]; r.o.Entries == ByDestination {
				on = first[w.To[c]]
			}
		}
		is = is && live[c] && r.step(y, k, c) == on
		c = on
	}
	x.path = path
	if is || r.o.Revisit == NeverTwice && r.o.Entries == ByChannel && r.meets(y, k, path, next) ||
		x.careful && r.disturbs(l, k, path, first) {
		return false
	}
	x.turns, x.rest = x.turns[:0], x.rest[:0]
	if at := y.first[k*w.n+int(s)]; r.o.Entries == ByDestination && at != path[0] {
		r.replace(y, k, s, at, path[0])
	}
	for i, c := range path[:len(path)-1] {
		r.exchange(y, k, c, path[i+1])
	}
	for i, t := range x.turns {
		if !y.list.Try(t) {
			y.list.BackPath(x.turns[:i])
			y.list.Keep()
			return false
		}
	}
	y.list.Keep()
	r.find.version++
	for _, t := range x.rest {
		r.pending = append(r.pending, drop{int32(l), t})
	}
	for i, c := range path[:len(path)-1] {
		if live[c] = true; r.o.Entries == ByDestination {
			r.setFirst(y, l, k, w.To[c], path[i+1])
		} else {
			r.setNext(y, l, k, c, path[i+1])
		}
	}
	live[path[len(path)-1]] = true
	r.note(k, s)
	x.touched[l][k] = true
	r.setFirst(y, l, k, s, path[0])
	r.mask[k*w.n+int(s)] |= 1 << l
	return true
}

// disturbs reports whether entries that packets ask, in the switches that a path leaves, become
// others than they are.
func (r *Reconfiguration) disturbs(l, k int, path, first []int32) bool {
	n := r.w.n
	for _, c := range path {
		s := r.w.From[c]
		if at := k*n + int(s); r.layers[l].first[at] != first[s] &&
			r.wasAsked(entry{layer: int32(l), at: int32(at), first: true}) {
			return true
		}
	}
	return false
}

// meets reports whether other flows to target k, which come to the path of the engine where it is
// to be in force again, would pass one of the switches after that which they have passed before.
// They come home themselves some time, and then it can be.
func (r *Reconfiguration) meets(y *layer, k int, path []int32, next []int32) bool {
	x, w := &r.scratch, r.w
	live := row(y.live, k, len(w.To))
	for i, c := range path[:len(path)-1] {
		if !live[c] || r.step(y, k, c) == next[c] {
			continue
		}
		x.nextWalk()
		for _, after := range path[i:] {
			x.leads[w.To[after]] = x.walk
		}
		queue := append(x.rest[:0], c)
		for at := 0; at < len(queue); at++ {
			for _, p := range w.leading(w.From[queue[at]]) {
				if !live[p] || r.step(y, k, p) != queue[at] {
					continue
				}
				if x.leads[w.From[p]] == x.walk {
					x.rest = queue
					return true
				}
				queue = append(queue, p)
			}
		}
		x.rest = queue
	}
	return false
}

// exchange lists the turns that come and go when packets for target k that come by channel c go on
// by next; in scratch.turns and scratch.rest.
func (r *Reconfiguration) exchange(y *layer, k int, c, next int32) {
	w, x := r.w, &r.scratch
	live := row(y.live, k, len(w.To))
	was := r.step(y, k, c)
	if !live[c] {
		x.turns = append(x.turns, w.turn(c, next))
	}
	if was == next {
		return
	}
	if r.o.Entries == ByChannel {
		if live[c] {
			x.turns, x.rest = append(x.turns, w.turn(c, next)), append(x.rest, w.turn(c, was))
		}
		return
	}
	r.replace(y, k, w.To[c], was, next)
}

// replace lists the turns that come and go when all packets for target k that come to a switch go
// on by next and not by was.
func (r *Reconfiguration) replace(y *layer, k int, s, was, next int32) {
	w, x := r.w, &r.scratch
	live := row(y.live, k, len(w.To))
	for _, p := range w.leading(s) {
		if live[p] {
			x.turns, x.rest = append(x.turns, w.turn(p, next)), append(x.rest, w.turn(p, was))
		}
	}
}

// noteChanged notes the flows to target k in a layer whose path has one of those entries.
func (r *Reconfiguration) noteChanged(l, k int, entries []entry) {
	w, y := r.w, r.layers[l]
	changed := make(map[int32]bool, len(entries)) // the channels that are left otherwise, and below 0 the switches
	for _, e := range entries {
		if e.first {
			changed[-1-e.at%int32(w.n)] = true
		} else {
			changed[e.at%int32(len(w.To))] = true
		}
	}
	for s, m := range row(r.mask, k, w.n) {
		if m>>l&1 == 0 {
			continue
		}
		is := r.o.Entries == ByDestination && changed[-1-int32(s)]
		for c := y.first[k*w.n+s]; c >= 0 && !is; c = r.step(y, k, c) {
			is = changed[c] || r.o.Entries == ByDestination && changed[-1-w.To[c]]
		}
		if is {
			r.note(k, int32(s))
		}
	}
}
