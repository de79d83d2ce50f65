package placement

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Cost is what a placement costs.
type Cost struct {
	Links    int // between switches
	Crossing int // of these, with ends in different parts
	// Of uniform traffic that spreads over all shortest paths:
	Traffic float64 // share of the hops between switches that cross
	PerPath float64 // how often a packet crosses, in the mean
}

// maxSteps bounds what the shares of traffic are computed from, links looked at; of larger fabrics
// some sources stand for all. About a second.
const maxSteps = 200_000_000

// costOf counts the load of every link under uniform traffic between all pairs of NICs, each pair
// spread over its shortest paths in proportion to their number: for each source, backwards along
// its shortest paths (Brandes, "A faster algorithm for betweenness centrality", section 3).
func costOf(g *topology.Graph, of []int) Cost {
	n := switchNet(g)
	var c Cost
	steps := 0
	for v, es := range n.edges {
		steps += len(es)
		for _, e := range es {
			if v < e.to {
				c.Links += e.links
				if of[v] != of[e.to] {
					c.Crossing += e.links
				}
			}
		}
	}
	nics := make([]float64, len(n.weight)) // per switch
	var sources []int
	for i := range g.NICs {
		s, _ := g.SwitchOf(weft.NICID(i))
		if nics[s]++; nics[s] == 1 {
			sources = append(sources, int(s))
		}
	}
	slices.Sort(sources)
	stride := 1 + len(sources)*steps/maxSteps
	var hops, cross, pairs float64
	b := newBrandes(n)
	for i := 0; i < len(sources); i += stride {
		s := sources[i]
		b.from(s, nics, func(v, w int, load float64) {
			load *= nics[s]
			if hops += load; of[v] != of[w] {
				cross += load
			}
		})
		pairs += nics[s] * (float64(len(g.NICs)) - 1)
	}
	if hops > 0 {
		c.Traffic = cross / hops
	}
	if pairs > 0 {
		c.PerPath = cross / pairs
	}
	return c
}

// brandes holds what one source needs, for the next to use again.
type brandes struct {
	net        *net
	dist       []int
	ways, flow []float64
	order      []int
}

func newBrandes(n *net) *brandes {
	k := len(n.weight)
	return &brandes{
		net: n, dist: make([]int, k), ways: make([]float64, k), flow: make([]float64, k),
		order: make([]int, 0, k),
	}
}

// from calls each with the load of every edge on shortest paths from s, when s sends so much to
// each vertex.
func (b *brandes) from(s int, sinks []float64, each func(v, w int, load float64)) {
	for v := range b.dist {
		b.dist[v], b.ways[v], b.flow[v] = -1, 0, 0
	}
	b.dist[s], b.ways[s] = 0, 1
	b.order = append(b.order[:0], s)
	for i := 0; i < len(b.order); i++ {
		v := b.order[i]
		for _, e := range b.net.edges[v] {
			if b.dist[e.to] < 0 {
				b.dist[e.to] = b.dist[v] + 1
				b.order = append(b.order, e.to)
			}
			if b.dist[e.to] == b.dist[v]+1 {
				b.ways[e.to] += b.ways[v] * float64(e.links)
			}
		}
	}
	for _, w := range slices.Backward(b.order) {
		if w == s {
			continue
		}
		need := (b.flow[w] + sinks[w]) / b.ways[w]
		for _, e := range b.net.edges[w] {
			if b.dist[e.to] == b.dist[w]-1 {
				load := need * b.ways[e.to] * float64(e.links)
				b.flow[e.to] += load
				each(e.to, w, load)
			}
		}
	}
}
