package verify

import (
	"fmt"
	"slices"
)

// deadlock names channels that wait for each other in a circle.
func (x *explorer) deadlock(fixed bool) (*Counterexample, error) {
	rings := x.graph.rings()
	starts, w := x.waiting(fixed, rings)
	var circle []int32
	if !fixed && x.found.escape { // one of escape channels says more
		circle = shortestCircle(starts, x.extended.wantsWithin(starts, rings))
	}
	if circle == nil {
		circle = shortestCircle(starts, w)
	}
	if circle == nil {
		return nil, nil
	}
	pairs, err := x.holders(circle)
	if err != nil {
		return nil, err
	}
	c := &Counterexample{What: Deadlock, Again: -1, Pairs: pairs}
	for _, ch := range circle {
		c.Channels = append(c.Channels, x.m.channelName(ch))
	}
	c.Ends = fmt.Sprintf("%d channels can hold only packets that wait for one another; in %d of them each waits for "+
		"the next", len(starts), len(circle))
	if fixed {
		c.Ends = fmt.Sprintf("packets that keep to one output can wait for one another in %d channels", len(circle))
	}
	return c, nil
}

// waiting is the channels in which a circle of waiting can begin, and what is wanted from each:
// those of the largest set that is stuck, or, with a fixed choice, all.
func (x *explorer) waiting(fixed bool, rings *rings) (starts []int32, w wants) {
	w = wants{all: make([][]int32, x.m.channels), first: make([][]int32, x.m.channels)}
	if fixed {
		for _, e := range x.graph.edges {
			w.add(e[0], e[1], rings.along(e[0], e[1]))
		}
		for _, e := range x.graph.two {
			w.add(e[0], e[1], false)
		}
		for c := range w.all {
			starts = append(starts, int32(c))
		}
	} else {
		var moment int
		starts, moment = x.graph.stuck(x.waits, rings)
		x.graph.wantsAmong(starts, x.waits, moment, rings, w)
	}
	return starts, w
}

// wantsWithin is the edges of g between channels of a set.
func (g *waitGraph) wantsWithin(set []int32, r *rings) wants {
	w := wants{all: make([][]int32, g.m.channels), first: make([][]int32, g.m.channels)}
	in := make([]bool, g.m.channels)
	for _, c := range set {
		in[c] = true
	}
	for _, e := range g.edges {
		if in[e[0]] && in[e[1]] {
			w.add(e[0], e[1], r.along(e[0], e[1]))
		}
	}
	for _, e := range g.two {
		if in[e[0]] && in[e[1]] {
			w.add(e[0], e[1], false)
		}
	}
	return w
}

// wants is per channel what is wanted from it: all, and what a circle may begin with, which is all
// but the next channel of a bubble ring, for a ring by itself is no deadlock.
type wants struct{ all, first [][]int32 }

func (w *wants) add(from, to int32, along bool) {
	w.all[from] = append(w.all[from], to)
	if !along {
		w.first[from] = append(w.first[from], to)
	}
}

// wantsAmong adds, per channel of a set, what packets in it that wait for channels of the set alone
// wait for at a moment.
func (g *waitGraph) wantsAmong(set []int32, waits []wait, moment int, r *rings, wants wants) {
	in := make([]bool, g.m.channels)
	for _, c := range set {
		in[c] = true
	}
	outside := func(c int32) bool { return !in[c] }
	for _, id := range g.moments[moment] {
		if w := &waits[id]; in[w.channel] && !slices.ContainsFunc(w.outs, outside) {
			for _, out := range w.outs {
				wants.add(w.channel, out, r.along(w.channel, out) && slices.Contains(w.one, out))
			}
		}
	}
}

// shortestCircle is a shortest way from one of some channels back to it, nil if there is none.
func shortestCircle(starts []int32, wants wants) (best []int32) {
	for _, start := range starts {
		if circle := circleFrom(start, wants); circle != nil && (best == nil || len(circle) < len(best)) {
			best = circle
		}
	}
	return best
}

// circleFrom goes breadth first from a channel back to it.
func circleFrom(start int32, wants wants) (circle []int32) {
	before := map[int32]int32{}
	todo := []int32{start}
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		list := wants.all[c]
		if c == start {
			list = wants.first[c]
		}
		for _, next := range list {
			if next == start {
				for ; c != start; c = before[c] {
					circle = append(circle, c)
				}
				circle = append(circle, start)
				slices.Reverse(circle)
				return circle
			}
			if _, ok := before[next]; !ok {
				before[next] = c
				todo = append(todo, next)
			}
		}
	}
	return nil
}

// numbering names a hop that does not raise the channel number.
func (x *explorer) numbering() *Counterexample {
	for _, e := range x.graph.edges {
		if a, b := x.m.number[e[0]], x.m.number[e[1]]; a >= b {
			return &Counterexample{
				What: Numbering, Again: -1, Channels: []string{x.m.channelName(e[0]), x.m.channelName(e[1])},
				Ends: fmt.Sprintf("a packet goes from a channel numbered %d to one numbered %d", a, b),
			}
		}
	}
	return nil
}
