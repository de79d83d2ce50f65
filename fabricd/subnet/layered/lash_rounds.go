package layered

import (
	"context"
	"slices"
)

// rounds empties the last layer, and then the one before it, and so on, as long as rounds are left:
// the iterated form of LASH by pairs.
//
// It also ends when it gets no further. In a round each pair of the last layer goes into another
// one. Where no path of it fits, it takes the path and layer that have the fewest paths in the way,
// those that close cycles with it, and these move in turn, or come into the next round. When there
// are pairs left at the end, all are put back as they were.
type rounds struct {
	*pairs
	users   [][]int32 // at layer*turns+turn: pairs that use it, and such as have used it
	forced  []int32   // per pair: how often it had to give way
	ways    [][]int32 // shortest paths of the pair at hand, as channels
	pool    []int32   // pairs without a layer
	number  uint64    // of rounds
	storage []int32
}

// patience is how many pairs may be moved without fewer left at the end of a round than ever.
// Chosen by us: of 100 graphs of 128 switches and 256 links all came to 3 layers.
const patience = 20_000

// maxWays is how many shortest paths of a pair are looked at. Chosen by us.
const maxWays = 8

// iterate does up to n rounds. It leaves alone a last layer of few pairs or more.
func (p *pairs) iterate(ctx context.Context, n, few int) error {
	if p.has != nil {
		return nil // what layer 0 has from the start cannot give way
	}
	r := &rounds{pairs: p, forced: make([]int32, len(p.src))}
	for n > 0 && len(p.layers) > 1 && p.sizes[len(p.layers)-1] < few && len(r.pool) == 0 {
		of, channels := slices.Clone(p.of), slices.Clone(p.channels)
		last := len(p.layers) - 1
		r.pool = r.pool[:0]
		for i, k := range p.of {
			if int(k) == last {
				p.remove(i)
				r.pool = append(r.pool, int32(i))
			}
		}
		p.layers, p.sizes = p.layers[:last], p.sizes[:last]
		r.index()
		least, since := len(r.pool), 0
		for ; n > 0 && len(r.pool) > 0 && since < patience; n-- {
			since += len(r.pool)
			if err := r.round(ctx); err != nil {
				return err
			}
			if len(r.pool) < least {
				least, since = len(r.pool), 0
			}
		}
		if len(r.pool) > 0 {
			p.restore(of, channels)
		}
	}
	return nil
}

// restore makes the pairs as they were.
func (p *pairs) restore(of []uint8, channels []int32) {
	p.layers, p.sizes = nil, nil
	clear(p.load)
	copy(p.of, of)
	copy(p.channels, channels)
	for i, k := range of {
		for int(k) >= len(p.layers) {
			p.layer(len(p.layers))
		}
		p.storage = p.path(i, p.storage[:0])
		p.layers[k].AddPath(p.storage)
		p.sizes[k]++
		p.count(i, 1)
	}
}

// index lists who uses each turn.
func (r *rounds) index() {
	r.users = make([][]int32, len(r.layers)*r.turns.Len())
	for i, k := range r.of {
		if k != none {
			r.use(i)
		}
	}
}

func (r *rounds) use(i int) {
	base := int(r.of[i]) * r.turns.Len()
	r.storage = r.path(i, r.storage[:0])
	for _, t := range r.storage {
		r.users[base+int(t)] = append(r.users[base+int(t)], int32(i))
	}
}

// anywhere puts a pair into any layer that takes it as it is.
func (r *rounds) anywhere(i int) bool {
	for k := range r.layers {
		if r.place(int32(i), k) {
			r.use(i)
			return true
		}
	}
	return false
}

// round goes through the pairs without a layer once.
func (r *rounds) round(ctx context.Context) error {
	pool := slices.Clone(r.pool)
	r.pool = r.pool[:0]
	r.number++
	shuffle(pool, r.number) // or the same pairs keep driving each other out
	for _, i := range pool {
		if err := Interrupted(ctx); err != nil {
			return err
		}
		if !r.anywhere(int(i)) {
			r.force(int(i))
		}
	}
	return nil
}

// force makes room for a pair where that is cheapest.
func (r *rounds) force(i int) {
	r.ways = r.ways[:0]
	r.shortest(i, r.src[i], nil)
	way, layer, least := -1, -1, 0
	for w := range r.ways {
		for k := range r.layers {
			if cost := r.cost(k, r.ways[w], i); way < 0 || cost < least {
				way, layer, least = w, k, cost
			}
		}
	}
	copy(r.channelsOf(i), r.ways[way])
	l := r.layers[layer]
	turns := r.path(i, nil)
	first := len(r.pool)
	for j, t := range turns {
		for !l.Add(t) {
			from, to := r.turns.Ends(t)
			cut, _ := r.weakest(layer, l.Path(to, from), turns[:j])
			r.evict(layer, cut)
		}
	}
	r.of[i] = uint8(layer)
	r.sizes[layer]++
	r.count(i, 1)
	r.use(i)
	// Those who gave way may fit elsewhere at once.
	out := slices.Clone(r.pool[first:])
	r.pool = r.pool[:first]
	for _, j := range out {
		if !r.anywhere(int(j)) {
			r.pool = append(r.pool, j)
		}
	}
}

// shortest lists shortest paths of a pair that go on from s.
func (r *rounds) shortest(i int, s int32, way []int32) {
	d := r.dst[i]
	if s == d {
		r.ways = append(r.ways, slices.Clone(way))
		return
	}
	for c := r.w.First[s]; c < r.w.First[s+1] && len(r.ways) < maxWays; c++ {
		if r.dist[int(r.w.To[c])*r.w.n+int(d)]+1 == r.dist[int(s)*r.w.n+int(d)] {
			r.shortest(i, r.w.To[c], append(way, c))
		}
	}
}

// cost is about how many pairs are in the way of a path in layer k, each counted once more for each
// time it has given way.
func (r *rounds) cost(k int, way []int32, i int) int {
	l, sum := r.layers[k], int(r.forced[i])
	for j := 1; j < len(way); j++ {
		t := r.turns.Find(way[j-1], way[j])
		if l.Fits(t) {
			continue
		}
		from, to := r.turns.Ends(t)
		_, weight := r.weakest(k, l.Path(to, from), nil)
		sum += weight
	}
	return sum
}

func (r *rounds) weight(k int, turn int32) int {
	sum := 0
	list := &r.users[k*r.turns.Len()+int(turn)]
	kept := (*list)[:0]
	for _, i := range *list {
		if int(r.of[i]) == k {
			sum += 1 + int(r.forced[i])
			kept = append(kept, i)
		}
	}
	*list = kept
	return sum
}

// weakest is the turn of a path in layer k with the least weight, none of those to be kept.
func (r *rounds) weakest(k int, path, keep []int32) (best int32, least int) {
	best = -1
	for _, t := range path {
		if slices.Contains(keep, t) {
			continue
		}
		if weight := r.weight(k, t); best < 0 || weight < least {
			best, least = t, weight
		}
	}
	return best, least
}

// evict takes all pairs that use a turn out of layer k.
func (r *rounds) evict(k int, turn int32) {
	at := k*r.turns.Len() + int(turn)
	for _, i := range r.users[at] {
		if int(r.of[i]) == k && slices.Contains(r.path(int(i), nil), turn) {
			r.remove(int(i))
			r.forced[i]++
			r.pool = append(r.pool, i)
		}
	}
	r.users[at] = nil
}
