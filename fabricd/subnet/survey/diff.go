package survey

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// Difference is in what two routings of one graph differ. It is about what packets do: entries that
// none comes to are not compared.
type Difference struct {
	// (switch, destination NIC) that packets come to in one routing at least
	Entries       int            `json:"entries"`
	DifferEntries int            `json:"entries_differ"`        // of these: packets leave by other ports
	Pairs         int            `json:"pairs"`                 // of a switch with NICs and a NIC of another
	DifferPairs   int            `json:"pairs_differ"`          // of these: other links are used
	DifferLayers  int            `json:"pairs_in_other_layers"` // of these: the same links, and other layers
	Longer        int            `json:"pairs_longer"`          // of these: ways are longer in the second
	Shorter       int            `json:"pairs_shorter"`         // or shorter; by the mean of what may be taken
	OnlyA         int            `json:"pairs_routed_by_a_only"`
	OnlyB         int            `json:"pairs_routed_by_b_only"`
	FirstPairs    [][2]weft.Node `json:"-"` // some that differ, a switch and a NIC; at most maxPairs
}

// maxPairs bounds the pairs that a [Difference] names. Chosen by us.
const maxPairs = 20

// used is what packets of one pair, or for one destination at one switch, use: a sum of hashes, so
// that order does not count.
type used struct{ links, layers uint64 }

// Diff compares two routings of the same graph. Errors: their graphs differ, ctx has ended.
func Diff(ctx context.Context, a, b *layered.Routing) (Difference, error) {
	var d Difference
	g := a.Graph
	if len(g.Switches) != len(b.Graph.Switches) || len(g.NICs) != len(b.Graph.NICs) || len(g.Links) != len(b.Graph.Links) {
		return d, fmt.Errorf("%s and %s are routings of different graphs, %s and %s: compute both for one", a.Engine,
			b.Engine, g.Spec, b.Graph.Spec)
	}
	one, other := newTracks(a), newTracks(b)
	for dst := range weft.NICID(len(g.NICs)) {
		if ctx.Err() != nil {
			return d, interrupted(ctx, a)
		}
		clear(one.entries)
		clear(other.entries)
		home, _ := g.SwitchOf(dst)
		for s := range g.Switches {
			src := weft.SwitchID(s)
			if src == home || nicsOf(a, src) == 0 {
				continue
			}
			d.Pairs++
			x, y := one.pair(src, dst), other.pair(src, dst)
			d.count(x, y)
			if (x.use.links != y.use.links) && len(d.FirstPairs) < maxPairs {
				d.FirstPairs = append(d.FirstPairs, [2]weft.Node{src.Node(), dst.Node()})
			}
		}
		for s := range g.Switches {
			x, y := one.entries[s], other.entries[s]
			if x != (ports{}) || y != (ports{}) {
				d.Entries++
				if x != y {
					d.DifferEntries++
				}
			}
		}
	}
	return d, nil
}

func (d *Difference) count(x, y track) {
	switch {
	case x.use.links != y.use.links:
		d.DifferPairs++
	case x.use.layers != y.use.layers:
		d.DifferLayers++
	}
	const least = 1e-9
	switch {
	case x.sure && !y.sure:
		d.OnlyA++
	case y.sure && !x.sure:
		d.OnlyB++
	case x.length < y.length-least:
		d.Longer++
	case x.length > y.length+least:
		d.Shorter++
	}
}

// ports is a set of ports.
type ports [(weft.MaxPorts + 63) / 64]uint64

// tracks follows pairs of one routing.
type tracks struct {
	*walker
	entries []ports // per switch, by which ports packets for one destination leave
	counted []int   // per channel, and per link direction: the pair that used it last
	at      int     // that pair
}

// track is what packets of a pair do.
type track struct {
	use    used
	sure   bool
	length float64
}

func newTracks(r *layered.Routing) *tracks {
	w := newWalker(r)
	return &tracks{
		walker: w, entries: make([]ports, len(r.Graph.Switches)),
		counted: make([]int, w.all+w.channels.Len()),
	}
}

func (t *tracks) pair(src weft.SwitchID, dst weft.NICID) (x track) {
	each, list := t.sent(src, dst)
	x.sure = len(list) > 0
	t.at++
	for _, a := range each {
		t.follow(src, dst, a, list)
		part := share(a, list)
		x.sure = x.sure && t.sure()
		for _, n := range t.nodes {
			for _, h := range n.hops {
				if h.Port != weft.NoPort {
					t.entries[n.at][h.Port/64] |= 1 << (h.Port % 64)
				}
			}
			if n.by < 0 {
				continue
			}
			x.length += n.flow * part
			if link := n.by % t.channels.Len(); t.once(t.all + link) {
				x.use.links += mix(link)
			}
			if t.once(n.by) {
				x.use.layers += mix(n.by)
			}
		}
	}
	return x
}

// once reports whether i was not yet counted for this pair.
func (t *tracks) once(i int) bool {
	if t.counted[i] == t.at {
		return false
	}
	t.counted[i] = t.at
	return true
}

// mix is the finaliser of a 64-bit hash (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators).
func mix(n int) uint64 {
	x := uint64(n) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// DiffResult is a [Difference] with the summaries of both routings.
type DiffResult struct {
	Topology string  `json:"topology"`
	A        Summary `json:"a"`
	B        Summary `json:"b"`
	Difference
	Some [][2]string `json:"some_that_differ,omitempty"` // a source switch and a NIC; at most maxPairs
}

// DiffOf compares two routings of a graph, of which summaries are given. Errors are those of
// [Diff].
func DiffOf(ctx context.Context, a, b *layered.Routing, sumA, sumB Summary) (DiffResult, error) {
	d, err := Diff(ctx, a, b)
	if err != nil {
		return DiffResult{}, err
	}
	g := a.Graph
	out := DiffResult{Topology: g.Spec, A: sumA, B: sumB, Difference: d}
	for _, p := range d.FirstPairs {
		out.Some = append(out.Some, [2]string{g.Name(p[0]), g.Name(p[1])})
	}
	return out, nil
}
