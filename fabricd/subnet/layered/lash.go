package layered

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// LASH is layered shortest-path routing (Lysne, Skeie, Reinemo, Theiss: Layered Routing in
// Irregular Networks, section 5.1): every pair of switches with NICs has one shortest path and one
// layer, and no layer has a cycle of dependencies. It looks for paths that need few layers. When
// o.Layers, or weft.MaxVCs if that is 0, do not suffice, o.Fallback says what to do; by default
// that is an error, which names how many would.
//
// By default (o.Paths is ByDestination) the paths to a switch are a tree, so that tables do not
// look at the source; see [shortestTrees] for which. With ByPair they are any, each NIC having as
// many addresses as keep the tables functions of switch and address.
//
// o.Balance is step 4, on by default: it spreads the paths over all layers, of which o.Layers may
// give more than are needed; see [layering.balance] for how it comes to an end. With o.Both the two
// directions of a pair are in one layer. o.Seed changes the arbitrary choices.
//
// An error says that no links join two switches with NICs, that the layers do not suffice, that
// tables would be too large, or that ctx has ended.
func LASH(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	w, turns, most, err := begin(g, o)
	if err != nil {
		return nil, err
	}
	chosen, err := choosePaths(ctx, w, turns, o, nil)
	if err != nil {
		return nil, err
	}
	l := chosen.filled()
	needed := len(l.layers)
	switch {
	case needed <= most:
	case o.Fallback == FallUpDn:
		return finish(ctx, w, chosen, o, most, most-1)
	case o.Fallback == Longer:
		legal, err := w.legalTurns(turns, o)
		if err != nil {
			return nil, err
		}
		if chosen, err = choosePaths(ctx, w, turns, o, legal); err != nil {
			return nil, err
		}
		return finish(ctx, w, chosen, o, most, most)
	default:
		return nil, tooFew("lash", g, needed, most)
	}
	if o.Balance.on() {
		l.open(o.Layers)
		if err := l.balance(ctx); err != nil {
			return nil, err
		}
	}
	return chosen.routing(o.named("lash"), nil)
}

// choosePaths chooses paths and fills layers with them. Layer 0 has some turns from the start.
func choosePaths(ctx context.Context, w *wires, turns *Turns, o Options, has []int32) (paths, error) {
	switch {
	case o.Paths == ByPair:
		return anyPaths(ctx, w, turns, o, has)
	case o.Both:
		return bothWays(ctx, w, turns, o, has)
	}
	return shortestTrees(ctx, w, turns, o, has)
}

// finish keeps the paths in the layers below keep, of those that may be used, and lets the others
// fall back.
func finish(ctx context.Context, w *wires, chosen paths, o Options, layers, keep int) (*Routing, error) {
	l := chosen.filled()
	var pairs [][2]int32
	for _, i := range l.cut(keep) {
		s, d := chosen.pair(i)
		pairs = append(pairs, [2]int32{s, d})
	}
	if o.Balance.on() {
		if err := l.balance(ctx); err != nil {
			return nil, err
		}
	}
	var back []int32
	if o.Both {
		back = w.back()
	}
	f, err := l.newFallback(ctx, w, o, layers, pairs, back)
	if err != nil {
		return nil, err
	}
	return chosen.routing(o.named("lash"), f)
}

// paths are those that LASH has chosen.
type paths interface {
	filled() *layering
	pair(i int) (s, d int32) // that a path is of; of the one direction if it stands for both
	routing(engine string, f *fallback) (*Routing, error)
}

func (l *layering) filled() *layering { return l }

// tooFew says that layers do not suffice.
func tooFew(engine string, g *topology.Graph, needed, there int) error {
	if there == weft.MaxVCs {
		return fmt.Errorf("%s needs %d layers on %s, and a link has at most %d: give a fallback (updn, longer), or take "+
			"another routing, as lash or updn",
			engine, needed, g.Spec, there)
	}
	return fmt.Errorf("%s needs %d layers on %s and may use %d: allow more virtual channels, or a fallback (updn, longer)",
		engine, needed, g.Spec, there)
}

// layering is which path is in which layer.
type layering struct {
	turns  *Turns
	layers []*Layer
	sizes  []int   // per layer: its paths
	has    []int32 // the turns that layer 0 has from the start
	of     []uint8 // per path: its layer, none for paths that are not
	// path gives the turns of a path; the slice is storage.
	path    func(i int, turns []int32) []int32
	storage []int32
}

// none is the layer of what is in no layer.
const none = 0xFF

// layer is the one of that number, made if it is the next.
func (l *layering) layer(k int) *Layer {
	if k == len(l.layers) {
		l.layers, l.sizes = append(l.layers, NewLayer(l.turns)), append(l.sizes, 0)
		if k == 0 {
			l.layers[0].AddPath(l.has)
		}
	}
	return l.layers[k]
}

// open adds empty layers until there are that many.
func (l *layering) open(number int) {
	for k := len(l.layers); k < number; k++ {
		l.layer(k)
	}
}

// fill puts all of them, in that order, into the lowest layer in which place has room.
func (l *layering) fill(ctx context.Context, order []int32, place func(i int32, k int) bool) error {
	rest := slices.Clone(order)
	for k := 0; len(rest) > 0; k++ {
		l.layer(k)
		refused := rest[:0]
		for _, i := range rest {
			if err := Interrupted(ctx); err != nil {
				return err
			}
			if !place(i, k) {
				refused = append(refused, i)
			}
		}
		rest = refused
	}
	return nil
}

// put adds the path with that number to layer k, if it fits.
func (l *layering) put(i int32, k int) bool {
	l.storage = l.path(int(i), l.storage[:0])
	if !l.layers[k].AddPath(l.storage) {
		return false
	}
	l.of[i] = uint8(k)
	l.sizes[k]++
	return true
}

// balance is step 4: paths move from larger to smaller layers while they fit. As printed ("there
// are more pairs in the one layer than in the other") the step need not end: a path may go to and
// fro between layers of n and n+1. Here it moves only where there are at least two less, so that
// the sum of the squares of the sizes gets smaller each time, and ends when no path can move so.
//
// The smallest layer takes first what it can, which keeps valid what it remembers to have refused.
func (l *layering) balance(ctx context.Context) error {
	for moved := true; moved; {
		moved = false
		for _, k := range l.bySize() {
			for i := range l.of {
				j := l.of[i]
				if j == none || l.sizes[j] < l.sizes[k]+2 {
					continue
				}
				if err := Interrupted(ctx); err != nil {
					return err
				}
				l.storage = l.path(i, l.storage[:0])
				if l.layers[k].AddPath(l.storage) {
					l.layers[j].DropPath(l.storage)
					l.sizes[j]--
					l.sizes[k]++
					l.of[i] = uint8(k)
					moved = true
				}
			}
		}
	}
	return nil
}

// fewer reports whether it has fewer layers than another, or fewer paths in the last one.
func (l *layering) fewer(than *layering) bool {
	n, m := len(l.layers), len(than.layers)
	return n < m || n == m && n > 0 && l.sizes[n-1] < than.sizes[n-1]
}

// bySize are the layers, the smallest first.
func (l *layering) bySize() []int {
	order := make([]int, len(l.layers))
	for i := range order {
		order[i] = i
		for j := i; j > 0 && l.sizes[order[j]] < l.sizes[order[j-1]]; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	return order
}
