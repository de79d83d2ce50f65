package layered

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// wires are the channels between switches of a graph, and the switches that have NICs.
type wires struct {
	topology.Adjacency

	g    *topology.Graph
	n    int    // switches
	ends []bool // per switch: it has NICs
	nics [][]weft.NICID
}

// newWires refuses graphs in which no links lead from some switch with NICs to another.
func newWires(g *topology.Graph) (*wires, error) {
	w := &wires{
		Adjacency: g.Adjacency(nil), g: g, n: len(g.Switches), ends: make([]bool, len(g.Switches)),
		nics: make([][]weft.NICID, len(g.Switches)),
	}
	for d := range g.NICs {
		s, _ := g.SwitchOf(weft.NICID(d))
		w.ends[s], w.nics[s] = true, append(w.nics[s], weft.NICID(d))
	}
	return w, w.connected()
}

// connected names two switches with NICs that no links join.
func (w *wires) connected() error {
	root := -1
	dist := make([]int32, w.n)
	for s := range w.n {
		switch {
		case !w.ends[s]:
		case root < 0:
			root = s
			w.Distances(dist, nil, int32(s))
		case dist[s] < 0:
			return fmt.Errorf("no links lead from switch %s to switch %s: join the parts of the topology, or route each by "+
				"itself",
				w.g.Switches[root].Name, w.g.Switches[s].Name)
		}
	}
	return nil
}
