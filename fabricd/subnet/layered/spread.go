package layered

import (
	"math/bits"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// dealt is a layer for each ordered pair of switches with NICs: as many pairs in each layer, but
// for one.
type dealt struct {
	index  []int32 // per switch: its place among those with NICs
	ends   int
	layers []uint8
}

// deal shuffles the pairs by seed and deals them to the layers in turn. Packets between the NICs of
// one switch use no channel between switches; they are spread by the number of the switch.
func (w *wires) deal(layers int, seed uint64) *dealt {
	t := &dealt{index: make([]int32, w.n)}
	for s, has := range w.ends {
		if t.index[s] = int32(t.ends); has {
			t.ends++
		}
	}
	t.layers = make([]uint8, t.ends*t.ends)
	pairs := make([]uint32, 0, t.ends*t.ends)
	for i := range t.layers {
		if s, d := i/t.ends, i%t.ends; s == d {
			t.layers[i] = uint8(s % layers)
		} else {
			pairs = append(pairs, uint32(i))
		}
	}
	if layers > 1 {
		shuffle(pairs, seed)
	}
	for i, p := range pairs {
		t.layers[p] = uint8(i % layers)
	}
	return t
}

// of is the layer of a pair of switches with NICs.
func (t *dealt) of(s, d int32) weft.VC {
	return weft.VC(t.layers[int(t.index[s])*t.ends+int(t.index[d])])
}

// assign makes T: the addresses of of, for each pair of switches with NICs.
func (w *wires) assign(layers int, of func(s, d int32) []weft.Address) (*tables.Assignment, error) {
	return tables.NewAssignment(w.n, len(w.g.NICs), layers, 1, func(s weft.SwitchID, d weft.NICID) []weft.Address {
		if !w.ends[s] {
			return nil
		}
		to, _ := w.g.SwitchOf(d)
		return of(int32(s), int32(to))
	})
}

// assignOne is the T that gives each pair the layer that it was dealt.
func (w *wires) assignOne(layers int, t *dealt) (*tables.Assignment, error) {
	one := make([]weft.Address, 1)
	return w.assign(layers, func(s, d int32) []weft.Address {
		one[0] = weft.Address{VC: t.of(s, d)}
		return one
	})
}

// assignAll is the T that gives each pair some layers: a packet enters in any of them, and may move
// between them if free.
func (w *wires) assignAll(layers int, in span, free bool) (*tables.Assignment, error) {
	var all []weft.Address
	for vc := in.first; vc < in.end; vc++ {
		a := weft.Address{VC: vc}
		if free {
			a.Layers = 1<<in.end - 1<<in.first
		}
		all = append(all, a)
	}
	return w.assign(layers, func(_, _ int32) []weft.Address { return all })
}

// numbers are those from 0 to n-1, shuffled by a seed but 0.
func numbers(n int, seed uint64) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	if seed != 0 {
		shuffle(list, seed)
	}
	return list
}

// shuffle puts the list into an order that depends on the seed (Fisher, Yates).
func shuffle[T any](list []T, seed uint64) {
	for i := len(list) - 1; i > 0; i-- {
		seed = weft.Scatter(seed)
		j, _ := bits.Mul64(seed, uint64(i+1))
		list[i], list[j] = list[j], list[i]
	}
}
