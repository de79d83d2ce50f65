package layered

import (
	"context"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// MultipleRoots is how many layers DMRoots and MRoots have unless Options.Layers says otherwise: as
// many as LASH needs for 64 switches, with which the authors compare them.
const MultipleRoots = 4

// DMRoots is D-MROOTS, Up*/Down* routing with a root for each layer, far from the others, and one
// layer per pair, dealt evenly, so that packets stay in order (Lysne, Skeie, Reinemo, Theiss:
// Layered Routing in Irregular Networks, section 4.2). The first root is that of the options. When
// there are more layers than switches, the roots come again in the same order.
func DMRoots(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	return deterministic(ctx, "d-mroots", g, o, MultipleRoots, func(w *wires, layers int) ([]int32, error) {
		return w.roots(o.Root, layers)
	})
}

// MRoots is MROOTS: as DMRoots, but each packet takes any layer, by draw of its source.
func MRoots(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	e, err := newEngine("mroots", g, o, MultipleRoots)
	if err != nil {
		return nil, err
	}
	roots, err := e.w.roots(o.Root, int(e.layers))
	if err != nil {
		return nil, err
	}
	if err := e.upDown(ctx, roots, nil); err != nil {
		return nil, err
	}
	t, err := e.w.assignAll(int(e.layers), span{0, e.layers}, false)
	return e.routing(Deterministic, t, err)
}

// deterministic is Up*/Down* routing with one layer per pair. It has a root for each layer, or one
// for all of them.
func deterministic(ctx context.Context, name string, g *topology.Graph, o Options, layers int,
	roots func(w *wires, layers int) ([]int32, error),
) (*Routing, error) {
	e, err := newEngine(name, g, o, layers)
	if err != nil {
		return nil, err
	}
	list, err := roots(e.w, int(e.layers))
	if err != nil {
		return nil, err
	}
	t := e.w.deal(int(e.layers), o.Seed)
	if err := e.upDown(ctx, list, t); err != nil {
		return nil, err
	}
	a, err := e.w.assignOne(int(e.layers), t)
	return e.routing(Deterministic, a, err)
}

func sameRoot(w *wires, o Options) ([]int32, error) {
	root, err := w.root(o.Root)
	return []int32{root}, err
}

// upDown fills the tables, with one root for all layers or one for each. With t the load of a layer
// is that of the pairs dealt to it.
func (e *engine) upDown(ctx context.Context, roots []int32, t *dealt) error {
	for i, root := range roots {
		in := span{weft.VC(i), weft.VC(i) + 1}
		counts := func(s, d int32) bool { return t.of(s, d) == in.first }
		if len(roots) == 1 {
			in = span{0, e.layers}
		}
		if len(roots) == 1 || t == nil {
			counts = nil
		}
		l := newLegal(e.w, root, e.o.Tree)
		e.current = -1
		err := e.destinations(ctx, func(s int32, d weft.NICID) error {
			if e.fresh(s) {
				l.toward(s)
			}
			e.legal(l, s, counts)
			return e.setLegal(l, i, s, d, in)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// roots chooses so many of them: step 1 of section 4.2, as printed. Each but the first is as far as
// can be from the nearest of those before it; of several it is that of the lowest number.
func (w *wires) roots(first string, n int) ([]int32, error) {
	root, err := w.root(first)
	if err != nil {
		return nil, err
	}
	list := []int32{root}
	nearest, dist, joined := make([]int32, w.n), make([]int32, w.n), w.joined()
	for i := range nearest {
		nearest[i] = far
	}
	for len(list) < min(n, len(joined)) {
		w.Distances(dist, nil, root)
		root = -1
		for s := range int32(w.n) {
			if nearest[s] = min(nearest[s], dist[s]); root < 0 || nearest[s] > nearest[root] {
				root = s
			}
		}
		list = append(list, root)
	}
	for i := 0; len(list) < n; i++ {
		list = append(list, list[i])
	}
	return list, nil
}
