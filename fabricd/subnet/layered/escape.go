package layered

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// escapeLayers is how many layers EscapePaths has unless Options.Layers says otherwise: the least.
const escapeLayers = 2

// EscapePaths is fully adaptive routing with escape paths, with which Lysne, Skeie, Reinemo, Theiss
// compare (Layered Routing in Irregular Networks, section 8.3): any shortest path in any layer but
// layer 0, and when no channel there has room, Up*/Down* in layer 0, which is not left again.
func EscapePaths(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	e, err := newEngine("escape", g, o, escapeLayers)
	if err != nil {
		return nil, err
	}
	if e.layers < 2 {
		return nil, fmt.Errorf("layers=%d: escape needs a layer to escape to and at least one beside it: give 2 to %d",
			e.layers, weft.MaxVCs)
	}
	roots, err := sameRoot(e.w, o)
	if err != nil {
		return nil, err
	}
	l := newLegal(e.w, roots[0], o.Tree)
	adaptive := span{1, e.layers}
	dist, queue := make([]int32, e.w.n), []int32(nil)
	nearer := func(s, t int32) bool { return dist[t]+1 == dist[s] }
	var ports []weft.PortID
	err = e.destinations(ctx, func(to int32, d weft.NICID) error {
		if e.fresh(to) {
			l.toward(to)
			queue = e.w.Distances(dist, queue, to)
		}
		e.legal(l, to, nil)
		if err := e.setLegal(l, 0, to, d, span{0, 1}); err != nil {
			return err
		}
		for _, s := range queue[1:] {
			ports = e.w.leading(ports, s, nearer)
			if err := e.set(s, d, adaptive, ports, nil, nil, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t, err := e.w.assignAll(int(e.layers), adaptive, true)
	return e.routing(Escape, t, err)
}

// MinimalHop is what a subnet manager does that looks at lengths alone: a shortest path to each
// NIC, whatever way packets came, the loads of channels balanced. Nothing keeps it from deadlock
// but luck. With several Layers all have the same R and the pairs are dealt to them.
func MinimalHop(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	e, err := newEngine("minimal-hop", g, o, 1)
	if err != nil {
		return nil, err
	}
	dist, queue := make([]int32, e.w.n), []int32(nil)
	err = e.destinations(ctx, func(s int32, d weft.NICID) error {
		if e.fresh(s) {
			queue = e.w.Distances(dist, queue, s)
		}
		e.tree(queue, s, func(s, t int32) bool { return dist[t]+1 == dist[s] })
		return e.setTree(queue, s, d, span{0, e.layers})
	})
	if err != nil {
		return nil, err
	}
	return e.dealt()
}
