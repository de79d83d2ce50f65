package layered

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
)

// fallback is what becomes of the pairs of switches for which there are too few layers (Lysne,
// Skeie, Reinemo, Theiss: Layered Routing in Irregular Networks, the end of section 5.1).
type fallback struct {
	layers int // all of them
	// what a source switch sends to a destination switch by; the path is set when ways have addresses
	at      map[[2]int32]weft.Address
	detours []detour // Longer: paths that are not the shortest
	upDown  *engine  // FallUpDn: what fills the tables of the last layer
	legal   *legal
}

// detour is a path that is not the shortest.
type detour struct {
	s, d int32
	way  []int32 // channels
}

// legalTurns are the turns of Up*/Down* routing, of those that there are. Layer 0 has them from the
// start when paths may get longer, so that there is one for each pair that fits into it.
func (w *wires) legalTurns(turns *Turns, o Options) ([]int32, error) {
	root, err := w.root(o.Root)
	if err != nil {
		return nil, err
	}
	l := newLegal(w, root, o.Tree)
	var list []int32
	for t := range int32(turns.Len()) {
		from, to := turns.Ends(t)
		if l.up(w.From[from], w.To[from]) || !l.up(w.From[to], w.To[to]) {
			list = append(list, t)
		}
	}
	return list, nil
}

// cut takes layers from k on away, and returns what was in them.
func (l *layering) cut(k int) (left []int) {
	for i, of := range l.of {
		if of != none && int(of) >= k {
			l.of[i] = none
			left = append(left, i)
		}
	}
	k = min(k, len(l.layers))
	l.layers, l.sizes = l.layers[:k], l.sizes[:k]
	return left
}

// newFallback finds ways for pairs, of which both directions get one layer if back, the other
// directions of all channels, is given. Layers are those that it may use, one of them for
// Up*/Down*.
func (l *layering) newFallback(ctx context.Context, w *wires, o Options, layers int, pairs [][2]int32, back []int32,
) (*fallback, error) {
	f := &fallback{layers: layers, at: make(map[[2]int32]weft.Address, len(pairs))}
	if o.Fallback == FallUpDn {
		for _, p := range pairs {
			f.at[p] = weft.Address{VC: weft.VC(layers - 1)}
			if back != nil {
				f.at[[2]int32{p[1], p[0]}] = f.at[p]
			}
		}
		root, err := w.root(o.Root)
		f.legal = newLegal(w, root, o.Tree)
		f.upDown = &engine{w: w, o: o, balance: newBalance(w), layers: weft.VC(layers), current: -1}
		return f, err
	}
	f.layers = max(len(l.layers), 1)
	s := newSearch(l, w, back)
	for _, p := range pairs {
		if err := Interrupted(ctx); err != nil {
			return nil, err
		}
		way, k := s.find(p[0], p[1])
		if way == nil {
			return nil, fmt.Errorf("no path from switch %s to %s fits into any of %d layers: take fallback=updn or more layers",
				w.g.Switches[p[0]].Name, w.g.Switches[p[1]].Name, layers)
		}
		f.at[p] = weft.Address{VC: weft.VC(k)}
		f.detours = append(f.detours, detour{p[0], p[1], way})
		if back == nil {
			continue
		}
		other := make([]int32, 0, len(way))
		for _, c := range slices.Backward(way) {
			other = append(other, back[c])
		}
		f.at[[2]int32{p[1], p[0]}] = f.at[p]
		f.detours = append(f.detours, detour{p[1], p[0], other})
	}
	return f, nil
}

// pack gives the detours addresses, those of the paths before them and more, counted from a number
// on.
func (f *fallback) pack(p *packed, from int) error {
	for _, x := range f.detours {
		a, err := p.add(x.d, x.way)
		if err != nil {
			return err
		}
		at := f.at[[2]int32{x.s, x.d}]
		at.Path = a + uint16(from)
		f.at[[2]int32{x.s, x.d}] = at
	}
	return nil
}

// lastLayer fills the rows of the last layer for address 0 of the NICs of a switch.
func (f *fallback) lastLayer(r *rows, d int32) error {
	f.upDown.rows = r
	f.legal.toward(d)
	for _, nic := range f.upDown.w.nics[d] {
		f.upDown.legal(f.legal, d, func(s, d int32) bool { _, ok := f.at[[2]int32{s, d}]; return ok })
		r.path = 0
		last := weft.VC(f.layers - 1)
		if err := f.upDown.setLegal(f.legal, 0, d, nic, span{last, last + 1}); err != nil {
			return err
		}
	}
	return nil
}

// with is of, but for the pairs that have fallen back.
func (f *fallback) with(of func(s, d int32) []weft.Address) func(s, d int32) []weft.Address {
	if f == nil {
		return of
	}
	one := make([]weft.Address, 1)
	return func(s, d int32) []weft.Address {
		if a, ok := f.at[[2]int32{s, d}]; ok {
			one[0] = a
			return one
		}
		return of(s, d)
	}
}

// search finds ways that are not the shortest.
type search struct {
	l      *layering
	w      *wires
	mirror []int32 // per turn the one back, if both directions must fit
	by     []int32 // per channel: the one before it on the way there; -1 for none, -2 where the search has not been
	queue  []int32
	turns  []int32
}

func newSearch(l *layering, w *wires, back []int32) *search {
	s := &search{l: l, w: w, by: make([]int32, len(w.To))}
	if back != nil {
		s.mirror = mirror(l.turns, back)
	}
	return s
}

// find is the shortest way from one switch to another that fits into a layer along its order, where
// turns never close cycles, and puts it there.
func (s *search) find(from, to int32) (best []int32, layer int) {
	for k, l := range s.l.layers {
		if way := s.along(l, from, to); way != nil && (best == nil || len(way) < len(best)) {
			best, layer = way, k
		}
	}
	if best == nil {
		return nil, 0
	}
	s.turns = s.turns[:0]
	for i := 1; i < len(best); i++ {
		t := s.l.turns.Find(best[i-1], best[i])
		s.turns = append(s.turns, t)
		if s.mirror != nil {
			s.turns = append(s.turns, s.mirror[t])
		}
	}
	if !s.l.layers[layer].AddPath(s.turns) {
		return nil, 0
	}
	return best, layer
}

// along is the shortest way that goes along the order of a layer, and crosses no switch twice.
func (s *search) along(l *Layer, from, to int32) []int32 {
	for i := range s.by {
		s.by[i] = -2
	}
	s.queue = s.queue[:0]
	for c := s.w.First[from]; c < s.w.First[from+1]; c++ {
		s.by[c] = -1
		s.queue = append(s.queue, c)
	}
	ahead := func(t int32) bool {
		a, b := s.l.turns.Ends(t)
		return l.Label(a) < l.Label(b)
	}
	for i := 0; i < len(s.queue); i++ {
		c := s.queue[i]
		if s.w.To[c] == to {
			if way := s.back(c); way != nil {
				return way
			}
			continue
		}
		for t, end := s.l.turns.Of(c); t < end; t++ {
			_, next := s.l.turns.Ends(t)
			if s.by[next] == -2 && ahead(t) && (s.mirror == nil || ahead(s.mirror[t])) {
				s.by[next] = c
				s.queue = append(s.queue, next)
			}
		}
	}
	return nil
}

// back is the way that led to a channel, nil if it crosses a switch twice.
func (s *search) back(c int32) (way []int32) {
	way = []int32{c}
	seen := map[int32]bool{s.w.To[c]: true}
	for ; c >= 0; c = s.by[c] {
		if seen[s.w.From[c]] {
			return nil
		}
		seen[s.w.From[c]] = true
		if way[0] != c {
			way = slices.Insert(way, 0, c)
		}
	}
	return way
}
