package verify

import "slices"

// judge finds for a node, and for all nodes that a packet can come to from it: how many dead links
// more it takes that the packet is not delivered, and that it has a livelock, and how many switches
// it crosses at most. What is asked on a cycle is remembered all around it, so that a cycle takes
// no dead link that is not dead already.
func (w *lazyWalk) judge(root int32) {
	if w.nodes[root].color != 0 {
		return
	}
	w.frames = append(w.frames[:0], w.begin(root))
	for len(w.frames) > 0 {
		top := &w.frames[len(w.frames)-1]
		n := &w.nodes[top.node]
		if top.next == n.last {
			n.color = 2
			w.frames = w.frames[:len(w.frames)-1]
			continue
		}
		e := &w.edges[top.next]
		switch {
		case e.to == delivered:
			w.crosses(n, e.cost, 1)
		case e.to == lost:
			n.fails = min(n.fails, e.cost)
		case w.nodes[e.to].color == 0:
			w.frames = append(w.frames, w.begin(e.to))
			continue
		case w.nodes[e.to].color == 1:
			if e.cost == 0 {
				n.fails, n.loops = 0, 0
			}
		default:
			next := &w.nodes[e.to]
			n.fails, n.loops = min(n.fails, e.cost+next.fails), min(n.loops, e.cost+next.loops)
			n.others, n.free = min(n.others, e.cost+next.others), min(n.free, e.cost+next.free)
			for more := int32(0); more <= int32(w.most)-n.cost-e.cost; more++ {
				if hops := w.hops[next.hops+more]; hops > 0 {
					at := &w.hops[n.hops+e.cost+more]
					*at = max(*at, hops+1)
				}
			}
		}
		top.next++
	}
}

// crosses notes that a packet is delivered with so many dead links more.
func (w *lazyWalk) crosses(n *lazyNode, cost int32, hops int16) {
	for b := cost; b <= int32(w.most)-n.cost; b++ {
		w.hops[n.hops+b] = max(w.hops[n.hops+b], hops)
	}
}

func (w *lazyWalk) begin(id int32) frame {
	n := &w.nodes[id]
	n.color, n.fails, n.loops, n.others, n.free = 1, never, never, never, never
	if o := w.classes[n.class].outcomes; w.m.regs == Shared && len(o) > 0 && o[0].vector != nil {
		n.others = 0
		if w.turned.free[w.tierOf(&w.flows[w.last], n.class)] {
			n.free = 0
		}
	}
	n.hops = int32(len(w.hops))
	w.hops = append(w.hops, make([]int16, int32(w.most)-n.cost+1)...)
	return frame{id, n.first}
}

// lazyPair is what was found of a pair: the fewest dead links with which it is not connected and
// with which it has a livelock, never if there are none, and the most switches that its packets
// cross.
type lazyPair struct{ fails, loops, hops int32 }

// pairs is what was found of the pairs of a destination that was walked to, by source.
func (w *lazyWalk) pairs(f int) (list []lazyPair) {
	for _, starts := range w.flows[f].starts {
		p := lazyPair{fails: never, loops: never}
		for _, s := range starts {
			n := &w.nodes[w.plain[w.same[w.class[s.state]]]]
			p.fails, p.loops = min(p.fails, n.fails), min(p.loops, n.loops)
			p.hops = max(p.hops, int32(w.hops[n.hops+int32(w.most)]))
		}
		if p.fails > int32(w.most) {
			p.fails = never
		}
		if p.loops > int32(w.most) {
			p.loops = never
		}
		list = append(list, p)
	}
	return list
}

// doubtful reports whether it depends on what others have written whether one of the pairs of a
// destination that was walked to is connected, where sets have so many faults at most.
func (w *lazyWalk) doubtful(f, most int) bool {
	return slices.ContainsFunc(slices.Concat(w.flows[f].starts...), func(s start) bool {
		n := &w.nodes[w.plain[w.same[w.class[s.state]]]]
		least := min(max(n.others, w.turned.ups), n.free)
		return least <= int32(most) && least < n.fails
	})
}

// lazySum is what was found of many pairs.
type lazySum struct {
	failing, loops int // pairs
	fewest, hops   int32
}

// noPairs is the sum of none.
var noPairs = lazySum{fewest: never}

func (s *lazySum) add(pairs []lazyPair) {
	for _, p := range pairs {
		s.hops, s.fewest = max(s.hops, p.hops), min(s.fewest, p.fails)
		if p.fails < never {
			s.failing++
		}
		if p.loops < never {
			s.loops++
		}
	}
}

func (s *lazySum) join(t lazySum) {
	s.failing, s.loops = s.failing+t.failing, s.loops+t.loops
	s.hops, s.fewest = max(s.hops, t.hops), min(s.fewest, t.fewest)
}

// witness is a smallest set of dead links with which something is wrong, and what.
type witness struct {
	flow int
	what string
	dead []Element
}

// before orders witnesses: as counterexamples are.
func (a *witness) before(b *witness) bool {
	if len(a.dead) != len(b.dead) {
		return len(a.dead) < len(b.dead)
	}
	if rank(a.what) != rank(b.what) {
		return rank(a.what) < rank(b.what)
	}
	return a.flow < b.flow
}

// wrongs is what is wrong at the least number of dead links; nil: nothing is.
func (w *lazyWalk) wrongs(f int) (best *witness) {
	least := never
	found := func(what string, cost int32, edge int32) {
		worse := best != nil && (int(cost) > least || int(cost) == least && rank(what) >= rank(best.what))
		if int(cost) > w.most || worse {
			return
		}
		least = int(cost)
		best = &witness{flow: f, what: what, dead: w.dead(edge, what == Livelock)}
	}
	for i := range w.edges {
		e := &w.edges[i]
		n := &w.nodes[e.node]
		switch {
		case e.to == lost:
			found(Unconnected, n.cost+e.cost, int32(i))
		case e.to >= 0 && w.nodes[e.to].loops == 0:
			found(Livelock, n.cost+e.cost, int32(i))
		}
		if w.classes[n.class].outcomes[e.outcome].falls {
			w.falls = true
			found(Numbering, n.cost+e.cost, int32(i))
		}
	}
	return best
}
