package layered

import (
	"cmp"
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// DefaultLimit is how many shortest paths of a pair MP-LASH takes at most. Random graphs of up to
// 128 switches with twice as many links have no pair with more, but meshes do. Chosen by us.
const DefaultLimit = 64

// MPLASH is LASH with all shortest paths of each pair (Lysne, Skeie, Reinemo, Theiss: Layered
// Routing in Irregular Networks, section 6), of which the source takes any for each packet; packets
// of a pair may so overtake each other. Each path has an address of its destination, which it
// shares with paths of other sources that do not part from it. o.Limit bounds the paths of a pair;
// of more it takes those by the lowest ports.
//
// o.Balance, on by default, spreads the addresses over the layers as evenly as possible (section
// 8.2), as [LASH] does its paths. o.Step4, on by default, then gives every path all layers that it
// fits into, of which the source takes any for each packet.
//
// When o.Layers do not suffice for all, each pair gets one path first, and then the others that
// fit. When they do not suffice for one path each, o.Fallback says what to do.
func MPLASH(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	w, turns, most, err := begin(g, o)
	if err != nil {
		return nil, err
	}
	v := &everyPath{several: newSeveral(w, turns), begins: []int32{0}}
	v.path = v.turnsOf
	limit := cmp.Or(o.Limit, DefaultLimit)
	if limit < 0 {
		return nil, fmt.Errorf("limit=%d: expected how many paths of a pair to take, at least 1", o.Limit)
	}
	if err := v.eachPair(ctx, func(s, d int32) (int, error) { return v.list(s, d, limit, nil), nil }); err != nil {
		return nil, err
	}
	v.even = o.Balance.on()
	f, err := v.fit(ctx, "mp-lash", o, most)
	if err != nil {
		return nil, err
	}
	return v.routing(o.named("mp-lash"), f)
}

// begin is what the engines by layers have in common: most is how many they may use.
func begin(g *topology.Graph, o Options) (w *wires, turns *Turns, most int, err error) {
	if o.Layers < 0 || o.Layers > weft.MaxVCs {
		return nil, nil, 0, fmt.Errorf("layers=%d: expected 1 to %d, the virtual channels that a link can have", o.Layers,
			weft.MaxVCs)
	}
	if w, err = newWires(g); err != nil {
		return nil, nil, 0, err
	}
	turns, err = w.turns()
	return w, turns, cmp.Or(o.Layers, weft.MaxVCs), err
}

// fit fills the layers. Pairs for which there are too few fall back.
func (v *several) fit(ctx context.Context, engine string, o Options, most int) (f *fallback, err error) {
	order := v.longest(o.Seed)
	v.empty()
	if err := v.fill(ctx, order); err != nil {
		return nil, err
	}
	var left []int32
	if needed := len(v.layers); needed > most {
		left, err = v.fillSome(ctx, order, most)
		if err != nil {
			return nil, err
		}
		switch {
		case len(left) == 0:
		case o.Fallback == FallUpDn:
			left, err = v.fillSome(ctx, order, most-1)
		case o.Fallback == Longer:
			if v.has, err = v.w.legalTurns(v.turns, o); err == nil {
				left, err = v.fillSome(ctx, order, most)
			}
		default:
			err = tooFew(engine, v.w.g, needed, most)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(left) == 0 && (v.even || o.Step4.on()) {
		v.open(o.Layers)
	}
	if v.even {
		if err := v.balance(ctx); err != nil {
			return nil, err
		}
	}
	if len(left) > 0 {
		pairs := make([][2]int32, len(left))
		for i, pair := range left {
			pairs[i] = [2]int32{v.src[pair], v.dst[pair]}
		}
		if f, err = v.newFallback(ctx, v.w, o, most, pairs, nil); err != nil {
			return nil, err
		}
	}
	return f, v.spread(ctx, o.Step4.on())
}

// everyPath are the paths of MP-LASH.
type everyPath struct {
	*several
	begins   []int32 // per path: where its channels begin
	channels []int32
}

// list adds the shortest paths from s to d, no more than limit, that go on from a way.
func (v *everyPath) list(s, d int32, limit int, way []int32) (n int) {
	if s == d {
		v.channels = append(v.channels, way...)
		v.begins = append(v.begins, int32(len(v.channels)))
		return 1
	}
	for c := v.w.First[s]; c < v.w.First[s+1] && n < limit; c++ {
		if v.dist[int(v.w.To[c])*v.w.n+int(d)]+1 == v.dist[int(s)*v.w.n+int(d)] {
			n += v.list(v.w.To[c], d, limit-n, append(way, c))
		}
	}
	return n
}

func (v *everyPath) way(a int) []int32 { return v.channels[v.begins[a]:v.begins[a+1]] }

func (v *everyPath) turnsOf(a int, turns []int32) []int32 {
	way := v.way(a)
	for i := 1; i < len(way); i++ {
		turns = append(turns, v.turns.Find(way[i-1], way[i]))
	}
	return turns
}

func (v *everyPath) routing(engine string, f *fallback) (*Routing, error) {
	packed := newPacked(v.w)
	numbers := make([]uint16, len(v.of))
	for pair, d := range v.dst {
		for a := v.first[pair]; a < v.first[pair+1]; a++ {
			if v.masks[a] == 0 {
				continue
			}
			var err error
			if numbers[a], err = packed.add(d, v.way(int(a))); err != nil {
				return nil, err
			}
		}
	}
	t := v.addresses(func(a int32) uint16 { return numbers[a] }, false)
	return packed.routing(engine, len(v.layers), f, t.of)
}
