package layered

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// wires are the channels between switches of a graph in dense arrays: those out of a switch follow
// each other, by port.
type wires struct {
	g     *topology.Graph
	n     int     // switches
	first []int32 // per switch: where its channels begin
	from  []int32 // per channel
	to    []int32
	port  []weft.PortID // per channel: of the switch it leaves
	ends  []bool        // per switch: it has NICs
	nics  [][]weft.NICID
}

// newWires refuses graphs in which no links lead from some switch with NICs to another.
func newWires(g *topology.Graph) (*wires, error) {
	w := &wires{g: g, n: len(g.Switches), ends: make([]bool, len(g.Switches)), nics: make([][]weft.NICID, len(g.Switches))}
	w.first = make([]int32, w.n+1)
	for s := range w.n {
		for p := range weft.PortID(g.Switches[s].Ports) {
			if peer, _, ok := g.Peer(weft.End{Node: weft.SwitchID(s).Node(), Port: p}); ok && peer.Node.IsSwitch() {
				w.from, w.to, w.port = append(w.from, int32(s)), append(w.to, int32(peer.Node.Index)), append(w.port, p)
			}
		}
		w.first[s+1] = int32(len(w.to))
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
			w.distances(int32(s), dist, nil)
		case dist[s] < 0:
			return fmt.Errorf("no links lead from switch %s to switch %s: join the parts of the topology, or route each by itself",
				w.g.Switches[root].Name, w.g.Switches[s].Name)
		}
	}
	return nil
}

// distances fills dist with the links from each switch to d, -1 for none, and returns the switches
// reached, the near ones first. The queue is storage.
func (w *wires) distances(d int32, dist, queue []int32) []int32 {
	for i := range dist {
		dist[i] = -1
	}
	dist[d] = 0
	queue = append(queue[:0], d)
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		for _, next := range w.to[w.first[s]:w.first[s+1]] {
			if dist[next] < 0 {
				dist[next] = dist[s] + 1
				queue = append(queue, next)
			}
		}
	}
	return queue
}

// channel is the number in [Channels] of one of ours.
func (w *wires) end(c int32) weft.End {
	return weft.End{Node: weft.SwitchID(w.from[c]).Node(), Port: w.port[c]}
}
