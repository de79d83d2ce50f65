package layered

import (
	"cmp"
	"fmt"
	"slices"
)

// root is the switch that Options.Root names. The centre is the one from which the farthest switch
// is nearest; of several the one with the least sum of distances, then that of the lowest number.
func (w *wires) root(name string) (int32, error) {
	switch name {
	case "", "low":
		return slices.Min(w.joined()), nil
	case "centre":
		return w.centre(), nil
	}
	s, err := w.g.SwitchByName(name)
	if err != nil {
		return 0, fmt.Errorf("root=%s: give low, centre or the name of a switch: %w", name, err)
	}
	if !slices.Contains(w.joined(), int32(s)) {
		return 0, fmt.Errorf("root=%s: no links lead from it to the switches that have NICs: name one of those", name)
	}
	return int32(s), nil
}

// joined lists the switches that links join to those with NICs.
func (w *wires) joined() []int32 {
	return w.Distances(make([]int32, w.n), nil, int32(max(0, slices.Index(w.ends, true))))
}

func (w *wires) centre() int32 {
	dist, queue := make([]int32, w.n), []int32(nil)
	best, bestFar, bestSum := int32(-1), int32(0), int32(0)
	for _, s := range slices.Sorted(slices.Values(w.joined())) {
		queue = w.Distances(dist, queue, s)
		farthest, sum := dist[queue[len(queue)-1]], int32(0)
		for _, t := range queue {
			sum += dist[t]
		}
		if best < 0 || cmp.Or(cmp.Compare(farthest, bestFar), cmp.Compare(sum, bestSum)) < 0 {
			best, bestFar, bestSum = s, farthest, sum
		}
	}
	return best
}

// ordered lists the switches joined to a root such that each but the root comes after one of its
// neighbours. The up end of a link is the one that is listed earlier: so there is no cycle of up
// channels only nor of down channels only, up channels lead to the root from everywhere and down
// channels from it to everywhere (Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular
// Networks, section 4.1). All links between two switches have the same up end.
func (w *wires) ordered(root int32, how Tree) []int32 {
	if how == DepthFirst {
		return w.depthFirst(root)
	}
	return w.breadthFirst(root)
}

// breadthFirst is by distance to the root, then by number, as section 4.1 has it.
func (w *wires) breadthFirst(root int32) []int32 {
	dist := make([]int32, w.n)
	order := w.Distances(dist, nil, root)
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(dist[a], dist[b]), cmp.Compare(a, b)) })
	return order
}

// depthFirst is the order in which a depth-first search enters the switches. From each it goes on
// to the neighbour that has the most links to switches entered before, of several to that of the
// lowest number, and counts again when it comes back: the heuristic of Sancho, Robles, Duato: A
// Flexible Routing Scheme for Networks of Workstations, but for how they choose among several.
func (w *wires) depthFirst(root int32) []int32 {
	order, way := make([]int32, 0, w.n), make([]int32, 0, w.n)
	entered, links := make([]bool, w.n), make([]int32, w.n) // links to switches entered before
	enter := func(s int32) {
		entered[s] = true
		order, way = append(order, s), append(way, s)
		for _, t := range w.Next(s) {
			links[t]++
		}
	}
	enter(root)
	for len(way) > 0 {
		best := int32(-1)
		for _, t := range w.Next(way[len(way)-1]) {
			if !entered[t] && (best < 0 || links[t] > links[best] || links[t] == links[best] && t < best) {
				best = t
			}
		}
		if best < 0 {
			way = way[:len(way)-1]
			continue
		}
		enter(best)
	}
	return order
}
