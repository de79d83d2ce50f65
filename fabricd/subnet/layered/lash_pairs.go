package layered

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/weft-fabric/weft"
)

// pairs are the paths of LASH by pair: each pair of switches takes any of its shortest paths, the
// one that fits into a layer.
type pairs struct {
	layering
	w    *wires
	dist []uint16 // at s*n+d

	src, dst []int32
	first    []int32 // per pair: where its channels begin in channels
	channels []int32
	load     []int32 // per channel: the paths over it
	mirror   []int32 // per turn: the one back; nil when directions are pairs of their own
	back     []int32 // per channel: the other direction

	budget     int     // steps that the search at hand may still take
	way        []int32 // what it has found
	candidates []int32
}

// searchSteps bounds the search for one path in one layer: most take as many as the path has
// channels. Chosen by us.
const searchSteps = 200

func newPairs(w *wires, turns *Turns, o Options, has []int32) *pairs {
	p := &pairs{w: w, dist: w.AllDistances(), first: []int32{0}, load: make([]int32, len(w.To))}
	for s := range w.n {
		for d := range w.n {
			if s == d || !w.ends[s] || !w.ends[d] || o.Both && d < s {
				continue
			}
			p.src, p.dst = append(p.src, int32(s)), append(p.dst, int32(d))
			p.first = append(p.first, p.first[len(p.first)-1]+int32(p.dist[s*w.n+d]))
		}
	}
	p.channels = make([]int32, p.first[len(p.src)])
	p.layering = layering{turns: turns, has: has, of: slices.Repeat([]uint8{none}, len(p.src)), path: p.path}
	if o.Both {
		p.back = w.back()
		p.mirror = mirror(turns, p.back)
	}
	return p
}

// channelsOf are the channels of pair i.
func (p *pairs) channelsOf(i int) []int32 { return p.channels[p.first[i]:p.first[i+1]] }

// path gives the turns of pair i.
func (p *pairs) path(i int, turns []int32) []int32 {
	way := p.channelsOf(i)
	for j := 1; j < len(way); j++ {
		t := p.turns.Find(way[j-1], way[j])
		turns = append(turns, t)
		if p.mirror != nil {
			turns = append(turns, p.mirror[t])
		}
	}
	return turns
}

// The rounds that are always tried for a last layer of fewer pairs: they take no longer than
// filling the layers. Chosen by us: without them one of 20 graphs of 128 switches and 256 links
// needs a fifth layer.
const (
	fewRounds = 20
	fewPairs  = 100
)

// anyPaths fills layers with pairs several times, and returns what needs fewest. The first time
// those with the longest paths come first, which take the shorter ones along: most of these follow
// parts of them. After that those come first that were in the last layer. The seed changes the
// order of pairs of the same length. Then come o.Rounds of the iterated form, or a few where few
// pairs are in the last layer.
func anyPaths(ctx context.Context, w *wires, turns *Turns, o Options, has []int32) (*pairs, error) {
	var best *pairs
	var order []int32
	for range 4 {
		p := newPairs(w, turns, o, has)
		if order == nil {
			order = p.longest(o.Seed)
		}
		if err := p.fill(ctx, order, p.place); err != nil {
			return nil, err
		}
		if best == nil || p.fewer(&best.layering) {
			best = p
		}
		if len(p.layers) < 2 {
			break
		}
		last := uint8(len(p.layers) - 1)
		slices.SortStableFunc(order, func(a, b int32) int {
			return cmp.Compare(btoi(p.of[b] == last), btoi(p.of[a] == last))
		})
	}
	if o.Rounds > 0 {
		return best, best.iterate(ctx, o.Rounds, math.MaxInt)
	}
	return best, best.iterate(ctx, fewRounds, fewPairs)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// longest are the pairs, those with the longest paths first.
func (p *pairs) longest(seed uint64) []int32 {
	order := numbers(len(p.src), seed)
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(len(p.channelsOf(int(b))), len(p.channelsOf(int(a))))
	})
	return order
}

// place puts a pair into layer k by some shortest path, if one fits.
func (p *pairs) place(i int32, k int) bool {
	l := p.layers[k]
	p.budget, p.way = searchSteps, p.way[:0]
	if !p.search(l, -1, p.src[i], p.dst[i]) {
		return false
	}
	l.Keep()
	copy(p.channelsOf(int(i)), p.way)
	p.count(int(i), 1)
	p.of[i] = uint8(k)
	p.sizes[k]++
	return true
}

// count adds to the loads of the channels of a pair.
func (p *pairs) count(i int, by int32) {
	for _, c := range p.channelsOf(i) {
		p.load[c] += by
		if p.mirror != nil {
			p.load[p.back[c]] += by
		}
	}
}

// remove takes a pair out of its layer.
func (p *pairs) remove(i int) {
	k := p.of[i]
	p.storage = p.path(i, p.storage[:0])
	p.layers[k].DropPath(p.storage)
	p.count(i, -1)
	p.sizes[k]--
	p.of[i] = none
}

// search finds a way on to d for a packet that came to s by a channel, -1 for none, that the layer
// takes, and tries its turns in it. It takes turns that are there before others, and lightly loaded
// channels before others.
func (p *pairs) search(l *Layer, in, s, d int32) bool {
	if s == d {
		return true
	}
	if p.budget--; p.budget < 0 {
		return false
	}
	n := len(p.candidates)
	for c := p.w.First[s]; c < p.w.First[s+1]; c++ {
		if p.dist[int(p.w.To[c])*p.w.n+int(d)]+1 == p.dist[int(s)*p.w.n+int(d)] {
			p.candidates = append(p.candidates, c)
		}
	}
	m := len(p.candidates)
	for ; m > n; m-- {
		// The best of those that are left goes to the end.
		best, turn := -1, int32(-1)
		for i := n; i < m; i++ {
			t := int32(-1)
			if in >= 0 {
				t = p.turns.Find(in, p.candidates[i])
			}
			if best < 0 || p.better(l, p.candidates[i], t, p.candidates[best], turn) {
				best, turn = i, t
			}
		}
		c := p.candidates[best]
		p.candidates[best] = p.candidates[m-1]
		if !p.try(l, turn) {
			continue
		}
		p.way = append(p.way, c)
		if p.search(l, c, p.w.To[c], d) {
			p.candidates = p.candidates[:n]
			return true
		}
		p.way = p.way[:len(p.way)-1]
		p.undo(l, turn)
	}
	p.candidates = p.candidates[:n]
	return false
}

func (p *pairs) better(l *Layer, c, t, than, turn int32) bool {
	if t >= 0 && l.Has(t) != l.Has(turn) {
		return l.Has(t)
	}
	return p.load[c] < p.load[than]
}

func (p *pairs) try(l *Layer, turn int32) bool {
	switch {
	case turn < 0:
		return true
	case !l.Try(turn):
		return false
	case p.mirror != nil && !l.Try(p.mirror[turn]):
		l.Back(turn)
		return false
	}
	return true
}

func (p *pairs) undo(l *Layer, turn int32) {
	if turn < 0 {
		return
	}
	l.Back(turn)
	if p.mirror != nil {
		l.Back(p.mirror[turn])
	}
}

// back is per channel the other direction of its link.
func (w *wires) back() []int32 {
	back := make([]int32, len(w.To))
	for c := range back {
		peer, _, _ := w.g.Peer(w.End(int32(c)))
		for b := w.First[w.To[c]]; b < w.First[w.To[c]+1]; b++ {
			if w.Port[b] == peer.Port {
				back[c] = b
			}
		}
	}
	return back
}

// mirror is per turn the one that a packet takes on the same way back.
func mirror(turns *Turns, back []int32) []int32 {
	mirror := make([]int32, turns.Len())
	for t := range mirror {
		from, to := turns.Ends(int32(t))
		mirror[t] = turns.Find(back[to], back[from])
	}
	return mirror
}

func (p *pairs) pair(i int) (s, d int32) { return p.src[i], p.dst[i] }

// routing makes tables and assignments.
func (p *pairs) routing(engine string, f *fallback) (*Routing, error) {
	w := p.w
	at := make([]weft.Address, w.n*w.n)
	packed := newPacked(w)
	var err error
	var back []int32
	for i := range p.src {
		if p.of[i] == none {
			continue
		}
		s, d, a := p.src[i], p.dst[i], weft.Address{VC: weft.VC(p.of[i])}
		if a.Path, err = packed.add(d, p.channelsOf(i)); err != nil {
			return nil, err
		}
		at[int(s)*w.n+int(d)] = a
		if p.mirror == nil {
			continue
		}
		back = back[:0]
		for _, c := range slices.Backward(p.channelsOf(i)) {
			back = append(back, p.back[c])
		}
		if a.Path, err = packed.add(s, back); err != nil {
			return nil, err
		}
		at[int(d)*w.n+int(s)] = a
	}
	return packed.routing(engine, len(p.layers), f, func(s, d int32) []weft.Address {
		i := int(s)*w.n + int(d)
		return at[i : i+1]
	})
}
