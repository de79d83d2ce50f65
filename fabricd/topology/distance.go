package topology

import "github.com/weft-fabric/weft"

// maxTable is how many switches a graph without arithmetic may have for its distances to be kept: 8
// MiB of them. In a larger one each question is a search. Chosen by us.
const maxTable = 2048

// Distance is the number of switches on a shortest path from one NIC to another, a packet's least
// Hops; 1 when they share a switch, and for a NIC to itself.
func (g *Graph) Distance(src, dst weft.NICID) int {
	a, _ := g.SwitchOf(src)
	b, _ := g.SwitchOf(dst)
	return g.SwitchDistance(a, b) + 1
}

// SwitchDistance is the number of links on a shortest path between two switches. It takes constant
// time, but for listed and irregular topologies of more than 2048 switches, where it is a search of
// the graph.
func (g *Graph) SwitchDistance(a, b weft.SwitchID) int {
	switch {
	case g.regular() && g.tree != nil:
		return g.tree.distance(g.Switches[a], g.Switches[b])
	case g.regular() && g.grid != nil:
		return g.grid.distance(g.Switches[a].Coord, g.Switches[b].Coord)
	case g.table != nil:
		return int(g.table[int(a)*len(g.Switches)+int(b)])
	}
	dist := make([]int32, len(g.Switches))
	g.adjacency.Distances(dist, nil, int32(a))
	return int(uint16(dist[b])) // as in the table: of switches that no links join, more than any path has
}

// regular reports whether no link of what was generated is missing, so that arithmetic tells the
// distances.
func (g *Graph) regular() bool { return len(g.removed) == 0 }

// indexDistances fills adjacency and table when they are needed.
func (g *Graph) indexDistances() {
	g.adjacency, g.table = Adjacency{}, nil
	if g.regular() && (g.tree != nil || g.grid != nil) {
		return
	}
	g.adjacency = g.Adjacency(nil)
	if len(g.Switches) <= maxTable {
		g.table = g.adjacency.AllDistances()
	}
}
