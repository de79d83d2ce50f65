package dqr

import "github.com/weft-fabric/weft/fabricd/subnet/layered"

// What a turn costs that a path takes. One that is in force costs nothing. One that leads upward in
// the list needs nothing to be moved, but is one more dependency, which later faults find in their
// way; one that leads downward moves channels besides. Without the first, a 10x10 mesh tolerated
// four faults in 57 runs of 100, and with it in 81.
const (
	added   int32 = 1
	enabled int32 = 2
)

// mostCost bounds what the turns of a path may cost together. Chosen by us: it is thirty turns to
// be enabled.
const mostCost = 63

// finder searches the cheapest paths to one destination in one layer, backward from it, for all
// sources at once. Channels that are in force for the destination are followed as their entries
// say, as every packet that comes to them is; others may lead on by any turn.
type finder struct {
	w     *wires
	queue queue
	hops  int32 // more than a path has

	era    uint32
	passes []uint32 // per switch: the last step of a search whose way on passes it
	step   uint32
	seen   []uint32 // per channel, or per switch where entries are by destination: the search that has come to it
	done   []uint32 // and that has its cheapest path
	key    []int32
	choice []int32 // the channel that follows, none for the destination's own switch

	want   []uint32 // per switch: the search for which it is a source
	found  []int32  // sources that were found, the cheapest first
	source []int32  // per switch: the channel by which its path begins

	of      *layered.Layer // the list that was searched last
	version uint32         // of it: grows with each dependency that is added
	allowed []uint32       // per turn: the version in which it could be enabled
	banned  []uint32       // per turn: the request for which it is not to be taken
	request uint32

	trial   *layered.Layer // AllTurns: a copy of the list
	copied  uint32         // the version that it is a copy of
	combine []int32
}

func newFinder(w *wires) *finder {
	n, turns := max(len(w.To), w.n), w.turns.Len()
	hops := int32(n + 2)
	return &finder{
		w: w, hops: hops, queue: newQueue(int(hops) * (mostCost + 1)), seen: make([]uint32, n), done: make([]uint32, n),
		key: make([]int32, n), choice: make([]int32, n), want: make([]uint32, w.n), passes: make([]uint32, w.n),
		source:  make([]int32, w.n),
		version: 1, allowed: make([]uint32, turns), banned: make([]uint32, turns), request: 1,
	}
}

// query is what is searched.
type query struct {
	list     *layered.Layer
	home     int32
	next     []int32 // per channel, nil if nothing is in force
	first    []int32 // per switch
	old      []int32 // one of these two: what entries are now
	live     []bool
	dead     []bool
	limit    int32 // of what turns cost
	all      bool  // AllTurns
	byHops   bool  // HopsFirst
	switches bool  // ByDestination
	sources  []int32
	each     bool
	revisit  bool // a way may pass a switch twice
}

// onward is the channel that follows one on the way that was found, none at its end.
func (f *finder) onward(q *query, c int32) int32 {
	if !q.switches {
		return f.choice[c]
	}
	if f.w.To[c] == q.home {
		return none
	}
	return f.choice[f.w.To[c]]
}

func (f *finder) keyOf(q *query, turns, hops int32) int32 {
	if q.byHops {
		return hops*(mostCost+1) + turns
	}
	return turns*f.hops + hops
}

func (f *finder) parse(q *query, key int32) (turns, hops int32) {
	if q.byHops {
		return key % (mostCost + 1), key / (mostCost + 1)
	}
	return key / f.hops, key % f.hops
}

// begin starts a search; it reports false when there is nothing to search.
func (f *finder) begin(q *query) bool {
	if f.era++; f.era == 0 {
		clear(f.seen)
		clear(f.done)
		clear(f.want)
		f.era = 1
	}
	f.queue.reset()
	f.found = f.found[:0]
	for _, s := range q.sources {
		f.want[s] = f.era
	}
	if f.of != q.list {
		f.of = q.list
		f.version++
	}
	return len(q.sources) > 0
}

// byChannel fills found, source, price and choice. Sources that are not found have no path within
// the limit.
func (f *finder) byChannel(q *query) {
	if !f.begin(q) {
		return
	}
	w, era := f.w, f.era
	for _, c := range w.leading(q.home) {
		if !q.dead[c] {
			f.reach(q, c, none, 0, 1)
		}
	}
	for {
		c, turns, hops, ok := f.cheapest(q)
		if !ok {
			return
		}
		s := w.From[c]
		if f.finds(s, c) {
			if len(f.found) == len(q.sources) && !q.each {
				return
			}
			q.limit = f.spare(q, turns)
		}
		if s == q.home || q.each && s == q.sources[0] {
			continue // nothing goes through the ends
		}
		if !q.revisit {
			f.pass(c)
		}
		for _, p := range w.leading(s) {
			switch {
			case q.dead[p] || f.done[p] == era || !q.revisit && f.passes[w.From[p]] == f.step:
			case q.live != nil && q.live[p]:
				if q.next[p] == c {
					f.reach(q, p, c, turns, hops+1)
				}
			case p == w.back[c]: // never back on the link
			default:
				if price := f.price(q, p, c); turns+price <= q.limit {
					f.reach(q, p, c, turns+price, hops+1)
				}
			}
		}
	}
}

// pass marks the switches on the way from a channel to the destination.
func (f *finder) pass(c int32) {
	if f.step++; f.step == 0 {
		clear(f.passes)
		f.step = 1
	}
	for ; c >= 0; c = f.choice[c] {
		f.passes[f.w.From[c]] = f.step
	}
}

// cheapest is the channel, or switch, whose cheapest path is found next, and what that costs; not
// ok: there is no more.
func (f *finder) cheapest(q *query) (c, turns, hops int32, ok bool) {
	for {
		key, c, ok := f.queue.pop()
		switch {
		case !ok:
			return none, 0, 0, false
		case f.done[c] == f.era:
			continue
		}
		f.done[c] = f.era
		turns, hops := f.parse(q, key)
		return c, turns, hops, true
	}
}

// finds reports whether a switch is a source that had no path yet. Now it has one, which begins by
// channel c.
func (f *finder) finds(s, c int32) bool {
	if f.want[s] != f.era {
		return false
	}
	f.want[s] = f.era - 1
	f.found, f.source[s] = append(f.found, s), c
	return true
}

// spare is the limit when the first path is found. Where several are to be compared, those that
// cost more than two turns more are not.
func (f *finder) spare(q *query, turns int32) int32 {
	if q.each {
		return min(q.limit, turns+2*enabled)
	}
	return q.limit
}

// bySwitch is byChannel where a switch forwards all packets for the destination alike.
func (f *finder) bySwitch(q *query) {
	if !f.begin(q) {
		return
	}
	w, era := f.w, f.era
	f.reach(q, q.home, none, 0, 0)
	for {
		v, turns, hops, ok := f.cheapest(q)
		if !ok {
			return
		}
		next := f.choice[v]
		if f.finds(v, next) && len(f.found) == len(q.sources) {
			return
		}
		for _, c := range w.leading(v) {
			u := w.From[c]
			switch {
			case q.dead[c] || f.done[u] == era:
			case q.first[u] >= 0 && q.live[q.first[u]]:
				if q.first[u] == c {
					f.reach(q, u, c, turns, hops+1)
				}
			case next == none:
				f.reach(q, u, c, turns, hops+1)
			case c == w.back[next]:
			default:
				if price := f.price(q, c, next); turns+price <= q.limit {
					f.reach(q, u, c, turns+price, hops+1)
				}
			}
		}
	}
}

// price is what the turn from a channel to the next costs, more than any limit if it cannot be.
func (f *finder) price(q *query, c, next int32) int32 {
	turn := f.w.turn(c, next)
	switch {
	case q.list.Has(turn):
		return 0
	case f.banned[turn] == f.request:
		return mostCost + 1
	case q.list.Label(c) < q.list.Label(next):
		return added
	case f.allows(q, turn, next):
		return enabled
	}
	return mostCost + 1
}

// reach offers a way from a channel, or a switch, on by the next.
func (f *finder) reach(q *query, c, next, turns, hops int32) {
	key := f.keyOf(q, turns, hops)
	switch {
	case f.seen[c] != f.era || key < f.key[c]:
		f.seen[c], f.key[c], f.choice[c] = f.era, key, next
		f.queue.push(key, c)
	case key == f.key[c] && q.old != nil && q.old[c] == next: // as little as can be changes
		f.choice[c] = next
	}
}

// allows reports whether a turn that leads downward in the list can be enabled: by itself, or with
// those that the way on from the channel that it leads to needs.
func (f *finder) allows(q *query, turn, c int32) bool {
	if f.allowed[turn] != f.version {
		if q.list.Closes(turn) {
			return false
		}
		f.allowed[turn] = f.version
	}
	if !q.all {
		return true
	}
	f.combine = append(f.combine[:0], turn)
	for c >= 0 && (q.live == nil || !q.live[c]) {
		next := f.onward(q, c)
		if next >= 0 {
			if t := f.w.turn(c, next); !q.list.Has(t) {
				f.combine = append(f.combine, t)
			}
		}
		c = next
	}
	if f.copied != f.version {
		if f.trial == nil {
			f.trial = new(layered.Layer)
		}
		f.trial.Copy(q.list)
		f.copied = f.version
	}
	return f.trial.FitsPath(f.combine)
}
