package dqr

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/cdg"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// none is no channel.
const none int32 = -1

// wires are the channels between the switches of a graph in dense arrays, and the turns that there
// can be; read-only. Those out of a switch follow each other, by port.
type wires struct {
	g     *topology.Graph
	n     int     // switches
	first []int32 // per switch: where its channels begin
	from  []int32 // per channel
	to    []int32
	back  []int32       // per channel: the other direction of its link
	port  []weft.PortID // per channel: of the switch that it leaves
	link  []weft.LinkID // per channel

	enter []int32 // per switch: where the channels that lead to it begin in into
	into  []int32

	ports []int32 // per switch: where its ports begin in out
	out   []int32 // per port: its channel, none for ports that lead to no switch

	nics  []int32 // per switch: how many it has
	turns *cdg.Turns
	base  []int32 // per channel: its first turn
}

func newWires(g *topology.Graph) (*wires, error) {
	n := len(g.Switches)
	w := &wires{g: g, n: n, first: make([]int32, n+1), ports: make([]int32, n+1), enter: make([]int32, n+1), nics: make([]int32, n)}
	for s := range n {
		for p := range weft.PortID(g.Switches[s].Ports) {
			c := none
			if peer, link, ok := g.Peer(weft.End{Node: weft.SwitchID(s).Node(), Port: p}); ok && peer.Node.IsSwitch() {
				c = int32(len(w.to))
				w.from, w.to = append(w.from, int32(s)), append(w.to, int32(peer.Node.Index))
				w.port, w.link = append(w.port, p), append(w.link, link)
			}
			w.out = append(w.out, c)
		}
		w.first[s+1], w.ports[s+1] = int32(len(w.to)), int32(len(w.out))
	}
	for d := range g.NICs {
		s, _ := g.SwitchOf(weft.NICID(d))
		w.nics[s]++
	}
	w.back = make([]int32, len(w.to))
	for _, to := range w.to {
		w.enter[to+1]++
	}
	for s := range n {
		w.enter[s+1] += w.enter[s]
	}
	w.into = make([]int32, len(w.to))
	fill := append([]int32(nil), w.enter...)
	for c, to := range w.to {
		w.into[fill[to]] = int32(c)
		fill[to]++
	}
	for c := range w.back {
		peer, _, _ := g.Peer(w.end(int32(c)))
		w.back[c] = w.channel(weft.SwitchID(peer.Node.Index), peer.Port)
	}
	var list []int32
	var err error
	w.turns, err = cdg.NewTurns(len(w.to), func(c int32) []int32 {
		list = list[:0]
		for o := w.first[w.to[c]]; o < w.first[w.to[c]+1]; o++ {
			list = append(list, o)
		}
		return list
	})
	if err != nil {
		return nil, err
	}
	w.base = make([]int32, len(w.to))
	for c := range w.base {
		w.base[c], _ = w.turns.Of(int32(c))
	}
	return w, nil
}

// channel is the one out of a port, none if it leads to no switch.
func (w *wires) channel(s weft.SwitchID, p weft.PortID) int32 {
	i := w.ports[s] + int32(p)
	if i >= w.ports[s+1] {
		return none
	}
	return w.out[i]
}

func (w *wires) end(c int32) weft.End {
	return weft.End{Node: weft.SwitchID(w.from[c]).Node(), Port: w.port[c]}
}

// turn is the number of the turn from a channel to one out of the switch that it leads to.
func (w *wires) turn(c, next int32) int32 { return w.base[c] + next - w.first[w.to[c]] }

// leading are the channels that lead to a switch.
func (w *wires) leading(s int32) []int32 { return w.into[w.enter[s]:w.enter[s+1]] }

// parts labels the switches that live links join alike, and has a label of its own for each other.
func (w *wires) parts(dead []bool, label, queue []int32) {
	for s := range label {
		label[s] = none
	}
	for root := range int32(w.n) {
		if label[root] != none {
			continue
		}
		label[root] = root
		queue = append(queue[:0], root)
		for i := 0; i < len(queue); i++ {
			s := queue[i]
			for c := w.first[s]; c < w.first[s+1]; c++ {
				if to := w.to[c]; !dead[c] && label[to] == none {
					label[to] = root
					queue = append(queue, to)
				}
			}
		}
	}
}
