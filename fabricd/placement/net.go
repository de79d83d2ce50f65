package placement

import (
	"cmp"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// load is what a vertex needs, or a part holds.
type load struct{ ports, switches int }

func (a load) plus(b load) load  { return load{a.ports + b.ports, a.switches + b.switches} }
func (a load) minus(b load) load { return load{a.ports - b.ports, a.switches - b.switches} }

// net is a graph with weights: vertices are switches with their NICs, or groups of them.
type net struct {
	weight []load
	edges  [][]edge // per vertex, by to
}

// edge is so many links to another vertex.
type edge struct{ to, links int }

func (n *net) total() (t load) {
	for _, w := range n.weight {
		t = t.plus(w)
	}
	return t
}

// heaviest is the ports of the heaviest vertex.
func (n *net) heaviest() (ports int) {
	for _, w := range n.weight {
		ports = max(ports, w.ports)
	}
	return ports
}

// switchNet is the graph of the switches: a switch weighs as many ports as have a link, and the
// ports of its NICs.
func switchNet(g *topology.Graph) *net {
	n := &net{weight: make([]load, len(g.Switches)), edges: make([][]edge, len(g.Switches))}
	for s := range n.weight {
		n.weight[s].switches = 1
	}
	for _, l := range g.Links {
		a, aIs := switchAt(l.A)
		b, bIs := switchAt(l.B)
		if aIs {
			n.weight[a].ports++
		}
		if bIs {
			n.weight[b].ports++
		}
		switch {
		case aIs && bIs:
			n.edges[a] = append(n.edges[a], edge{b, 1})
			n.edges[b] = append(n.edges[b], edge{a, 1})
		case aIs:
			n.weight[a].ports++ // of the NIC
		case bIs:
			n.weight[b].ports++
		}
	}
	for s := range n.edges {
		n.edges[s] = merged(n.edges[s])
	}
	return n
}

func switchAt(e weft.End) (int, bool) { return int(e.Node.Index), e.Node.IsSwitch() }

// merged sorts edges and joins those to the same vertex.
func merged(es []edge) []edge {
	slices.SortFunc(es, func(a, b edge) int { return cmp.Compare(a.to, b.to) })
	out := es[:0]
	for _, e := range es {
		if k := len(out) - 1; k >= 0 && out[k].to == e.to {
			out[k].links += e.links
		} else {
			out = append(out, e)
		}
	}
	return out
}

// contract makes one vertex of all that have the same number in of, which are 0 to count-1, and
// returns the new graph with the vertex of each old one.
func (n *net) contract(of []int, count int) (*net, []int) {
	c := &net{weight: make([]load, count), edges: make([][]edge, count)}
	for v, w := range n.weight {
		c.weight[of[v]] = c.weight[of[v]].plus(w)
		for _, e := range n.edges[v] {
			if of[e.to] != of[v] {
				c.edges[of[v]] = append(c.edges[of[v]], edge{of[e.to], e.links})
			}
		}
	}
	for v := range c.edges {
		c.edges[v] = merged(c.edges[v])
	}
	return c, of
}

// project is of, which numbers the vertices of a contracted graph, for the graph before that.
func project(of, up []int) []int {
	out := make([]int, len(up))
	for v, u := range up {
		out[v] = of[u]
	}
	return out
}

// podsOf is ways to group switches that belong together, the largest groups first, and single
// switches last. In a tree the groups of depth t are what hangs together without the switches of
// the tiers above t, which are groups of their own.
func podsOf(g *topology.Graph) [][]int {
	var out [][]int
	for t := 1; t < g.Tiers; t++ {
		above := func(s weft.SwitchID) bool { return int(g.Switches[s].Tier) < t }
		pods, n := components(g, above)
		if n < len(g.Switches) {
			out = append(out, pods)
		}
	}
	single := make([]int, len(g.Switches))
	for s := range single {
		single[s] = s
	}
	return append(out, single)
}

// components numbers what hangs together without those switches, which are components of their own.
func components(g *topology.Graph, alone func(weft.SwitchID) bool) (of []int, count int) {
	rest := g.Adjacency(func(l *topology.Link) bool {
		return !alone(weft.SwitchID(l.A.Node.Index)) && !alone(weft.SwitchID(l.B.Node.Index))
	})
	return rest.Components(nil)
}
