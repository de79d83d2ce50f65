package verify

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
)

// Bounds of counting the sets in which something fails, chosen by us: seconds, and a gigabyte at
// most.
const (
	maxPatterns  = 1 << 20
	maxTrod      = 1 << 21 // nodes that one destination's failing packets come to, by what is known
	maxRanks     = 1 << 33 // sets of one size: a bit each
	maxCompleted = 1 << 30 // sets that patterns are completed to
	maxDrawn     = 20_000  // samples of a size
)

// pattern is why a packet fails: the set has all of dead and none of up, by their numbers among the
// elements.
type pattern struct{ dead, up []int32 }

// patterns are found by walking the packets that fail once more, forgetting nothing.
type patterns struct {
	r    *run
	w    *lazyWalk
	seen map[string]bool // of all destinations of a worker
	list []pattern
	trod map[string]bool // node and what is known: it is done
	path map[int32]bool  // nodes that the packet has come by
	text []byte
	full bool

	mostTrod, mostPatterns int
	all                    *atomic.Int64 // patterns of all workers
}

// shares counts, for each size, the sets in which all pairs are connected, where all sets were
// explored at once and some fail.
func (r *run) shares(ctx context.Context, res *Result) error {
	list, ok, err := r.failing(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if !ok {
		return nil
	}
	res.BadSets = 0
	for i := range res.ByFaults {
		s := &res.ByFaults[i]
		if !s.Uncounted {
			continue
		}
		if bad, ok := r.completed(ctx, list, s.Faults); ok {
			s.Uncounted, s.Connected = false, s.Sets-bad
			res.BadSets += bad
		} else if s.Faults <= r.most() {
			s.Sampled = r.drawn(ctx, list, s.Faults)
			res.BadSets = max(1, res.BadSets) // at least
		}
	}
	return nil
}

// failing lists why packets fail, in the order of what is dead. ok is false where there are too many reasons.
func (r *run) failing(ctx context.Context) (list []pattern, ok bool, err error) {
	errs := make([]error, r.Workers)
	all := make([]*patterns, r.Workers)
	var next atomic.Int64
	var full atomic.Bool
	var patternsOfAll atomic.Int64
	var workers sync.WaitGroup
	for i := range all {
		workers.Go(func() {
			w := newLazyWalk(r.model, r.most(), newMortals(r.model, &r.Sets, r.OneByOne))
			w.apart, w.limit = true, r.Memory/int64(4*r.Workers)
			p := &patterns{
				r: r, w: w, seen: map[string]bool{}, mostTrod: r.held(maxTrod),
				mostPatterns: min(maxPatterns, r.Workers*r.held(maxPatterns)), all: &patternsOfAll,
			}
			all[i] = p
			for ctx.Err() == nil && !full.Load() {
				f := int(next.Add(1) - 1)
				if f >= len(r.model.flows) {
					return
				}
				if errs[i] = w.walk(ctx, f); errs[i] != nil {
					full.Store(true)
					return
				}
				p.flow(f)
				if p.full {
					full.Store(true)
				}
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil && ctx.Err() == nil && !gaveUp(err) { // then they are not counted
			return nil, false, err
		}
	}
	seen := map[string]bool{}
	for _, p := range all {
		for _, one := range p.list {
			if key := string(one.key(p.text)); !seen[key] {
				seen[key] = true
				list = append(list, one)
			}
		}
	}
	slices.SortFunc(list, func(a, b pattern) int { return slices.Compare(a.dead, b.dead) })
	return list, !full.Load(), nil
}

// flow finds why packets to a destination fail.
func (p *patterns) flow(f int) {
	p.trod, p.path = map[string]bool{}, map[int32]bool{}
	for _, starts := range p.w.flows[f].starts {
		for _, s := range starts {
			p.follow(p.w.plain[p.w.class[s.state]], nil, 0)
		}
	}
}

// follow follows packets in a node that know so much and have met so many faults, where they can
// fail.
func (p *patterns) follow(id int32, known []fact, cost int32) {
	w := p.w
	n := &w.nodes[id]
	if p.full || cost+n.fails > int32(w.most) {
		return
	}
	p.text = binary.LittleEndian.AppendUint32(p.text[:0], uint32(id))
	for _, is := range known {
		p.text = binary.LittleEndian.AppendUint32(p.text, uint32(is))
	}
	if p.trod[string(p.text)] {
		return
	}
	if p.trod[string(p.text)] = true; len(p.trod) > p.mostTrod {
		p.full = true
		return
	}
	p.path[id] = true
	for i := n.first; i < n.last; i++ {
		e := &w.edges[i]
		if e.to == delivered || e.to >= 0 && w.nodes[e.to].fails == never {
			continue
		}
		dies, ok := w.learn(known, &w.classes[n.class].outcomes[e.outcome])
		if !ok || cost+dies > int32(w.most) {
			continue
		}
		now := slices.Clone(w.merged)
		if w.faults.when != Before {
			now = slices.DeleteFunc(now, func(is fact) bool { return !is.dead() })
		}
		if e.to == lost || p.path[e.to] {
			p.add(now)
			continue
		}
		p.follow(e.to, now, cost+dies)
	}
	delete(p.path, id)
}

// add adds what is known of a packet that fails: once for every way to have a dead switch or its
// links for the cause.
func (p *patterns) add(known []fact) {
	o, sets := p.w.faults, &p.r.Sets
	plain, marks := o.split(known)
	var suspects []int32
	for _, mark := range marks {
		if sw := o.suspect(mark); !slices.Contains(suspects, sw) {
			suspects = append(suspects, sw)
		}
	}
	for mask := range 1 << len(suspects) {
		var one pattern
		for i, sw := range suspects {
			item := int32(sets.index(Element{Switch: true, ID: uint32(sw)}))
			if mask>>i&1 == 1 {
				one.dead = append(one.dead, item)
			} else if p.r.When == Before {
				one.up = append(one.up, item)
			}
		}
		for _, is := range plain {
			item := int32(sets.index(o.element(int32(is >> 1))))
			spared := slices.ContainsFunc(marks, func(mark fact) bool {
				return o.link(mark) == is && mask>>slices.Index(suspects, o.suspect(mark))&1 == 1
			})
			switch {
			case is.dead() && !spared:
				one.dead = append(one.dead, item)
			case !is.dead() && p.r.When == Before: // else there is a moment at which it is not dead yet
				one.up = append(one.up, item)
			}
		}
		if len(one.dead) > p.r.most() {
			continue
		}
		slices.Sort(one.dead)
		slices.Sort(one.up)
		if p.text = one.key(p.text); p.seen[string(p.text)] {
			continue
		}
		p.seen[string(p.text)] = true
		if p.list = append(p.list, one); p.all.Add(1) > int64(p.mostPatterns) {
			p.full = true
			return
		}
	}
}

// key is a pattern as text.
func (p *pattern) key(text []byte) []byte {
	text = binary.AppendUvarint(text[:0], uint64(len(p.dead)))
	for _, item := range slices.Concat(p.dead, p.up) {
		text = binary.LittleEndian.AppendUint32(text, uint32(item))
	}
	return text
}

// completed counts the sets of a size that a pattern fits. ok is false where there are too many, and
// when it is interrupted.
func (r *run) completed(ctx context.Context, list []pattern, size int) (n uint64, ok bool) {
	elements := len(r.Sets.elements)
	all, work := float64(choose(elements, size)), 0.0
	for i := range list {
		work += float64(choose(elements-len(list[i].dead)-len(list[i].up), size-len(list[i].dead)))
	}
	crowded := r.Memory > 0 && all/8 > float64(r.Memory)/4
	if all >= maxRanks || crowded || work > maxCompleted || size > r.most() && r.When == Before {
		return 0, false
	}
	ranks := make([][]uint64, size+1) // by how many come before, and the number of an element
	for k := range ranks {
		ranks[k] = make([]uint64, elements)
		for e := range elements {
			ranks[k][e] = choose(e, k)
		}
	}
	has := make([]uint64, uint64(all)/64+1)
	set := make([]int32, 0, size)
	for i := range list {
		p := &list[i]
		var add func(from int32, left int)
		add = func(from int32, left int) {
			if left > 0 {
				for e := from; e < int32(elements) && (len(set) > 0 || ctx.Err() == nil); e++ {
					if !slices.Contains(p.dead, e) && !slices.Contains(p.up, e) {
						set = append(set, e)
						add(e+1, left-1)
						set = set[:len(set)-1]
					}
				}
				return
			}
			at, d, s := uint64(0), 0, 0
			for k := 1; k <= size; k++ { // both are sorted
				if s == len(set) || d < len(p.dead) && p.dead[d] < set[s] {
					at += ranks[k][p.dead[d]]
					d++
				} else {
					at += ranks[k][set[s]]
					s++
				}
			}
			has[at>>6] |= 1 << (at & 63)
		}
		if left := size - len(p.dead); left >= 0 {
			add(0, left)
		}
		if ctx.Err() != nil {
			return 0, false
		}
	}
	for _, word := range has {
		n += uint64(bits.OnesCount64(word))
	}
	return n, true
}

// Sampled is what random sets of a size say of all: the share of those that connect all pairs lies
// between Low and High in 99 of 100 such samples.
type Sampled struct {
	Sets      int     `json:"sets"`
	Connected int     `json:"connected"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
}

// drawn draws sets of a size and looks for a pattern that fits, of a list in the order of what is
// dead. It is nil when it is interrupted.
func (r *run) drawn(ctx context.Context, list []pattern, size int) *Sampled {
	in := make([]bool, len(r.Sets.elements))
	s := &Sampled{Sets: maxDrawn}
	for i := range maxDrawn {
		if ctx.Err() != nil {
			return nil
		}
		rng := rand.New(weft.Stream(r.Sets.Seed, weft.StreamFaultSets, uint64(size)<<48|uint64(i), 0))
		set := draw(rng, len(in), size)
		slices.Sort(set)
		for _, e := range set {
			in[e] = true
		}
		if !fits(list, 0, set, in) {
			s.Connected++
		}
		for _, e := range set {
			in[e] = false
		}
	}
	s.Low, s.High = wilson(s.Connected, s.Sets)
	return s
}

// fits reports whether one of the patterns fits the set of all elements that in says. The patterns
// are in the order of what is dead, and begin with the same elements, as many as known, which are in
// the set. What the set has behind these is rest, in order.
func fits(list []pattern, known int, rest []int, in []bool) bool {
	for len(list) > 0 && len(list[0].dead) == known {
		if !slices.ContainsFunc(list[0].up, func(e int32) bool { return in[e] }) {
			return true
		}
		list = list[1:]
	}
	next := func(p pattern, e int) int { return cmp.Compare(int(p.dead[known]), e) }
	for i, e := range rest {
		from, _ := slices.BinarySearchFunc(list, e, next)
		list = list[from:]
		to, _ := slices.BinarySearchFunc(list, e+1, next)
		if fits(list[:to], known+1, rest[i+1:], in) {
			return true
		}
		list = list[to:]
	}
	return false
}

// draw is a random set of so many of n.
func draw(rng *rand.Rand, n, size int) (set []int) { // by Floyd
	for j := n - size; j < n; j++ {
		if e := rng.IntN(j + 1); slices.Contains(set, e) {
			set = append(set, j)
		} else {
			set = append(set, e)
		}
	}
	return set
}

// wilson is the interval of Wilson for a share of which so many of n were counted, at 99%.
func wilson(of, n int) (low, high float64) {
	const z = 2.5758293035489004
	p, size := float64(of)/float64(n), float64(n)
	middle := p + z*z/(2*size)
	half := z * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	low, high = (middle-half)/(1+z*z/size), (middle+half)/(1+z*z/size)
	if of == 0 {
		low = 0
	}
	if of == n {
		high = 1
	}
	return low, high
}
