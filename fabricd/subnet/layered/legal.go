package layered

// legal finds the shortest legal paths of Up*/Down* routing to one switch at a time: no channel
// that leads up comes after one that leads down (Lysne, Skeie, Reinemo, Theiss: Layered Routing in
// Irregular Networks, section 4.1). A packet may go up until it has gone down.
type legal struct {
	w     *wires
	order []int32 // the switches; the up end of a link comes earlier
	rank  []int32 // per switch: its place in order

	falls []int32 // per switch: hops by channels down alone, far when they do not lead there
	hops  []int32 // per switch: hops of the shortest legal path
	above []int32 // the switches from which channels down alone lead there, the near ones first
}

// far is the distance of what is not reached.
const far = 1 << 30

func newLegal(w *wires, root int32, how Tree) *legal {
	l := &legal{
		w: w, order: w.ordered(root, how), rank: make([]int32, w.n), falls: make([]int32, w.n),
		hops: make([]int32, w.n),
	}
	for i, s := range l.order {
		l.rank[s] = int32(i)
	}
	return l
}

// up reports whether channels from s to its neighbour t lead up.
func (l *legal) up(s, t int32) bool { return l.rank[t] < l.rank[s] }

// toward computes the distances to switch d.
func (l *legal) toward(d int32) {
	for i := range l.falls {
		l.falls[i] = far
	}
	l.falls[d] = 0
	q := append(l.above[:0], d)
	for i := 0; i < len(q); i++ {
		s := q[i]
		for _, t := range l.w.Next(s) {
			if l.up(s, t) && l.falls[t] == far {
				l.falls[t] = l.falls[s] + 1
				q = append(q, t)
			}
		}
	}
	l.above = q
	for _, s := range l.order { // what is above s comes before it
		n := l.falls[s]
		for _, t := range l.w.Next(s) {
			if l.up(s, t) {
				n = min(n, l.hops[t]+1)
			}
		}
		l.hops[s] = n
	}
}

// byDestination makes hops those of packets that go down wherever channels down alone lead to d,
// and up where not. The way then does not depend on how a packet came, so that packets that can
// still go up and those that cannot go by descends where falls is less than far: whoever came down
// finds this in every switch after.
func (l *legal) byDestination() {
	for _, s := range l.order {
		if l.hops[s] = l.falls[s]; l.hops[s] < far {
			continue
		}
		for _, t := range l.w.Next(s) {
			if l.up(s, t) {
				l.hops[s] = min(l.hops[s], l.hops[t]+1)
			}
		}
	}
}

// climbs reports whether from s, for a packet that has not gone down, the way goes on to its
// neighbour t.
func (l *legal) climbs(s, t int32) bool {
	if l.up(s, t) {
		return l.hops[t]+1 == l.hops[s]
	}
	return l.falls[t]+1 == l.hops[s]
}

// descends reports the same for a packet that has gone down.
func (l *legal) descends(s, t int32) bool { return !l.up(s, t) && l.falls[t]+1 == l.falls[s] }
