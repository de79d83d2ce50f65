package topology

import "github.com/weft-fabric/weft"

// maxTable is how many switches a graph without arithmetic may have for its distances to be kept: 8
// MiB of them. In a larger one each question is a search. Chosen by us.
const maxTable = 2048

const unreached = 0xFFFF // more links than any shortest path has, MaxSwitch being 2^16

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
	row := make([]uint16, len(g.Switches))
	g.search(a, row, make([]weft.SwitchID, 0, len(row)))
	return int(row[b])
}

// regular reports whether no link of what was generated is missing, so that arithmetic tells the
// distances.
func (g *Graph) regular() bool { return len(g.removed) == 0 }

// indexDistances fills table when it is needed.
func (g *Graph) indexDistances() {
	n := len(g.Switches)
	if g.regular() && (g.tree != nil || g.grid != nil) || n > maxTable {
		g.table = nil
		return
	}
	g.table = make([]uint16, n*n)
	queue := make([]weft.SwitchID, 0, n)
	for s := range n {
		g.search(weft.SwitchID(s), g.table[s*n:(s+1)*n], queue)
	}
}

// search fills row with the number of links from a switch to every switch, breadth first. The queue
// is empty storage.
func (g *Graph) search(from weft.SwitchID, row []uint16, queue []weft.SwitchID) {
	for i := range row {
		row[i] = unreached
	}
	row[from] = 0
	queue = append(queue, from)
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		for _, at := range g.ports(s) {
			if next := at.end.Node; next.IsSwitch() && row[next.Index] == unreached {
				row[next.Index] = row[s] + 1
				queue = append(queue, weft.SwitchID(next.Index))
			}
		}
	}
}
