package layered

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-fabric/weft"
)

// several are the pairs of switches with NICs where each has several addresses (source/address
// pairs <s,a>), each of which is in one layer or more.
type several struct {
	layering
	w        *wires
	dist     []uint16 // at s*n+d
	src, dst []int32  // per pair
	first    []int32  // per pair: its addresses begin there in of and layers
	masks    []uint16 // per address: T, a bit for each layer; none for those that were dropped
	even     bool     // addresses are spread evenly over the layers before step 4
}

func newSeveral(w *wires, turns *Turns) *several {
	v := &several{w: w, dist: w.AllDistances(), first: []int32{0}}
	v.turns = turns
	return v
}

// eachPair calls f for the pairs of different switches with NICs; it returns how many addresses the
// pair has.
func (v *several) eachPair(ctx context.Context, f func(s, d int32) (addresses int, err error)) error {
	for d := range int32(v.w.n) {
		if err := Interrupted(ctx); err != nil {
			return err
		}
		for s := range int32(v.w.n) {
			if s == d || !v.w.ends[s] || !v.w.ends[d] {
				continue
			}
			n, err := f(s, d)
			if err != nil {
				return err
			}
			v.src, v.dst = append(v.src, s), append(v.dst, d)
			v.first = append(v.first, v.first[len(v.first)-1]+int32(n))
		}
	}
	return nil
}

// far is the distance of a pair.
func (v *several) far(pair int32) uint16 {
	return v.dist[int(v.src[pair])*v.w.n+int(v.dst[pair])]
}

// longest are the pairs, those that are farthest apart first, shuffled among them by a seed but 0.
func (v *several) longest(seed uint64) []int32 {
	order := numbers(len(v.src), seed)
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(v.far(b), v.far(a)) })
	return order
}

// empty takes everything out of all layers.
func (v *several) empty() {
	v.layers, v.sizes = nil, nil
	v.of = slices.Repeat([]uint8{none}, int(v.first[len(v.src)]))
}

// fill puts every address into the lowest layer that takes it, pair by pair in that order (steps 2
// and 3).
func (v *several) fill(ctx context.Context, order []int32) error {
	var rest []int32
	for _, pair := range order {
		for a := v.first[pair]; a < v.first[pair+1]; a++ {
			rest = append(rest, a)
		}
	}
	return v.layering.fill(ctx, rest, v.put)
}

// fillSome is fill with no more than most layers: first one address of each pair, then the others
// as far as they fit. It returns the pairs that have got none.
func (v *several) fillSome(ctx context.Context, order []int32, most int) ([]int32, error) {
	v.empty()
	rest, ended := slices.Clone(order), false
	for k := 0; k < most && len(rest) > 0; k++ {
		v.layer(k)
		rest = slices.DeleteFunc(rest, func(pair int32) bool {
			if ended = ended || ctx.Err() != nil; ended {
				return false // said below
			}
			for a := v.first[pair]; a < v.first[pair+1]; a++ {
				if v.put(a, k) {
					return true
				}
			}
			return false
		})
	}
	for _, pair := range order {
		if err := Interrupted(ctx); err != nil {
			return nil, err
		}
		for a := v.first[pair]; a < v.first[pair+1]; a++ {
			for k := 0; k < len(v.layers) && v.of[a] == none; k++ {
				v.put(a, k)
			}
		}
	}
	return rest, nil
}

// spread is step 4: every address gets all layers that take it, if asked for.
func (v *several) spread(ctx context.Context, step4 bool) error {
	v.masks = make([]uint16, len(v.of))
	for a, k := range v.of {
		if k != none {
			v.masks[a] = 1 << k
		}
	}
	for k := 0; step4 && k < len(v.layers); k++ {
		for a := range v.masks {
			if v.masks[a] == 0 || v.masks[a]>>k&1 == 1 {
				continue
			}
			if err := Interrupted(ctx); err != nil {
				return err
			}
			v.storage = v.path(a, v.storage[:0])
			if v.layers[k].AddPath(v.storage) {
				v.masks[a] |= 1 << k
			}
		}
	}
	return nil
}

// assignment is T as the NICs use it: each address once for each layer in which packets may enter.
type assignment struct {
	n     int
	first []uint32 // at d*n+s and the one after it
	list  []weft.Address
}

// addresses are those of each pair, with the path number of each address; with free they may move
// between all of theirs.
func (v *several) addresses(path func(a int32) uint16, free bool) *assignment {
	t := &assignment{n: v.w.n, first: make([]uint32, v.w.n*v.w.n+1)}
	at := 0
	for pair := range v.src {
		for i := int(v.dst[pair])*v.w.n + int(v.src[pair]); at <= i; at++ {
			t.first[at] = uint32(len(t.list))
		}
		for a := v.first[pair]; a < v.first[pair+1]; a++ {
			for k := range weft.VC(len(v.layers)) {
				if v.masks[a]>>k&1 == 0 {
					continue
				}
				x := weft.Address{Path: path(a), VC: k}
				if free && v.masks[a]&(v.masks[a]-1) != 0 {
					x.Layers = v.masks[a]
				}
				t.list = append(t.list, x)
			}
		}
	}
	for ; at < len(t.first); at++ {
		t.first[at] = uint32(len(t.list))
	}
	return t
}

func (t *assignment) of(s, d int32) []weft.Address {
	i := int(d)*t.n + int(s)
	return t.list[t.first[i]:t.first[i+1]]
}
