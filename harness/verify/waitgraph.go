package verify

// waitGraph is what packets wait for in one scene: the channel dependency graph, as the pairs of
// channels that a packet can hold and want, and the waits of packets with all they want at one
// moment.
type waitGraph struct {
	m       *model
	seen    []uint32 // per pair: when it was last added
	now     uint32
	edges   [][2]int32 // channel to channel
	two     [][2]int32 // those of them that ask for more than one free place
	seenTwo []uint32   // as seen, of these; nil while there are none
	// per channel: the channel from which packets come that ask for one free place only, nobody or
	// several
	before  []int32
	falling bool // an edge does not raise the channel number, or there are no numbers

	moments [][]int32  // per moment: the waits
	waited  [][]uint32 // per moment and wait: when it was last added

	// For the search for cycles and for what is stuck.
	degree, head, next []int32
	order              []int32
}

func (g *waitGraph) init(m *model) {
	g.m = m
	g.seen = make([]uint32, m.pairs)
	g.degree, g.head, g.before = make([]int32, m.channels), make([]int32, m.channels), make([]int32, m.channels)
}

func (g *waitGraph) begin(moments int) {
	g.now++
	g.edges, g.two, g.falling = g.edges[:0], g.two[:0], g.m.number == nil
	for c := range g.before {
		g.before[c] = nobody
	}
	for len(g.moments) < moments {
		g.moments, g.waited = append(g.moments, nil), append(g.waited, nil)
	}
	for i := range g.moments {
		g.moments[i] = g.moments[i][:0]
	}
}

// enters notes that a packet can go to a channel, from another or, if that is below 0, from a NIC,
// and whether it asks for two free places.
func (g *waitGraph) enters(from, to int32, two bool) {
	switch {
	case two || g.before[to] == several:
	case from < 0 || g.before[to] != nobody && g.before[to] != from:
		g.before[to] = several
	default:
		g.before[to] = from
	}
}

// add notes that a packet that holds one channel can want another, and whether it asks for two free
// places there.
func (g *waitGraph) add(pair, from, to int32, two bool) {
	if two {
		if g.seenTwo == nil {
			g.seenTwo = make([]uint32, g.m.pairs)
		}
		if g.seenTwo[pair] != g.now {
			g.seenTwo[pair] = g.now
			g.two = append(g.two, [2]int32{from, to})
		}
	}
	if g.seen[pair] == g.now {
		return
	}
	g.seen[pair] = g.now
	g.edges = append(g.edges, [2]int32{from, to})
	if !g.falling && g.m.number[from] >= g.m.number[to] {
		g.falling = true
	}
}

// waits notes a wait at a moment.
func (g *waitGraph) waits(moment int, id int32) {
	w := g.waited[moment]
	if int(id) >= len(w) {
		w = append(w, make([]uint32, int(id)+1-len(w)+1024)...)
		g.waited[moment] = w
	}
	if w[id] != g.now {
		w[id] = g.now
		g.moments[moment] = append(g.moments[moment], id)
	}
}

// cyclic reports whether the channel dependency graph has a cycle.
func (g *waitGraph) cyclic() bool {
	return len(g.peel(g.edges)) < g.used()
}

// used is how many channels have an edge of those that were peeled last.
func (g *waitGraph) used() (n int) {
	for _, d := range g.degree {
		if d >= 0 {
			n++
		}
	}
	return n
}

// peel takes channels away that nothing left wants, until none is to be had, and returns them. What
// is left is on a cycle or behind one.
func (g *waitGraph) peel(edges [][2]int32) []int32 {
	for i := range g.degree {
		g.degree[i], g.head[i] = -1, -1
	}
	g.next = g.next[:0]
	for i, e := range edges {
		g.degree[e[0]] = max(g.degree[e[0]], 0)
		g.degree[e[1]] = max(g.degree[e[1]], 0) + 1
		g.next = append(g.next, g.head[e[0]])
		g.head[e[0]] = int32(i)
	}
	g.order = g.order[:0]
	for c, d := range g.degree {
		if d == 0 {
			g.order = append(g.order, int32(c))
		}
	}
	for i := 0; i < len(g.order); i++ {
		for e := g.head[g.order[i]]; e >= 0; e = g.next[e] {
			to := edges[e][1]
			if g.degree[to]--; g.degree[to] == 0 {
				g.order = append(g.order, to)
			}
		}
	}
	return g.order
}

// stuck is the largest set of channels that can wait for each other only, at the worst moment: each
// can hold a packet all of whose candidates lead to channels of the set, and no bubble ring of r is
// in it of which every such packet wants no more than one free place in the next channel of the
// ring. Empty: there is no deadlock (Definition 17 of the fat-tree paper). There is a largest one:
// what two such sets have together is one.
func (g *waitGraph) stuck(waits []wait, r *rings) (worst []int32, moment int) {
	for m, ids := range g.moments {
		if left := g.stuckAt(waits, ids, r); len(left) > len(worst) {
			worst, moment = left, m
		}
	}
	return worst, moment
}

func (g *waitGraph) stuckAt(waits []wait, ids []int32, r *rings) (left []int32) {
	// degree is how many waits keep a channel in the set; next chains the waits that want a
	// channel.
	for i := range g.degree {
		g.degree[i], g.head[i] = 0, -1
	}
	type want struct{ wait, next int32 }
	var wants []want
	dead := make([]bool, len(ids))
	for i, id := range ids {
		g.degree[waits[id].channel]++
		for _, c := range waits[id].outs {
			wants = append(wants, want{int32(i), g.head[c]})
			g.head[c] = int32(len(wants) - 1)
		}
	}
	g.order = g.order[:0]
	for c, d := range g.degree {
		if d == 0 {
			g.order = append(g.order, int32(c))
		}
	}
	for i := 0; ; {
		for ; i < len(g.order); i++ {
			for w := g.head[g.order[i]]; w >= 0; w = wants[w].next {
				at := wants[w].wait
				if dead[at] {
					continue
				}
				dead[at] = true
				c := waits[ids[at]].channel
				if g.degree[c]--; g.degree[c] == 0 {
					g.order = append(g.order, c)
				}
			}
		}
		if !g.dissolve(r, waits, ids, dead) {
			break
		}
	}
	for c, d := range g.degree {
		if d > 0 {
			left = append(left, int32(c))
		}
	}
	return left
}

// dissolve takes the rings out that cannot be stuck as a whole, and reports that there was one: if
// one of its channels is not stuck, that before it is not, and so on around.
func (g *waitGraph) dissolve(r *rings, waits []wait, ids []int32, dead []bool) (some bool) {
	if r.n == 0 {
		return false
	}
	kept := r.kept(func(c int32) bool { return g.degree[c] > 0 }, waits, ids, dead)
	for c, ring := range r.of {
		if ring >= 0 && !kept[ring] {
			g.degree[c] = 0
			g.order = append(g.order, int32(c))
			some = true
		}
	}
	return some
}
