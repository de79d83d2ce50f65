package dqr

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// none is no channel.
const none int32 = -1

// wires are the channels between the switches of a graph, and the turns that there can be;
// read-only.
type wires struct {
	topology.Adjacency

	g    *topology.Graph
	n    int     // switches
	back []int32 // per channel: the other direction of its link

	enter []int32 // per switch: where the channels that lead to it begin in into
	into  []int32

	ports []int32 // per switch: where its ports begin in out
	out   []int32 // per port: its channel, none for ports that lead to no switch

	nics  []int32 // per switch: how many it has
	turns *layered.Turns
	base  []int32 // per channel: its first turn
}

func newWires(g *topology.Graph) (*wires, error) {
	n := len(g.Switches)
	w := &wires{
		Adjacency: g.Adjacency(nil), g: g, n: n, ports: make([]int32, n+1), enter: make([]int32, n+1),
		nics: make([]int32, n),
	}
	for s := range n {
		w.ports[s+1] = w.ports[s] + int32(g.Switches[s].Ports)
	}
	w.out = slices.Repeat([]int32{none}, int(w.ports[n]))
	for c, s := range w.From {
		w.out[w.ports[s]+int32(w.Port[c])] = int32(c)
	}
	for d := range g.NICs {
		s, _ := g.SwitchOf(weft.NICID(d))
		w.nics[s]++
	}
	w.back = make([]int32, len(w.To))
	for _, to := range w.To {
		w.enter[to+1]++
	}
	for s := range n {
		w.enter[s+1] += w.enter[s]
	}
	w.into = make([]int32, len(w.To))
	fill := append([]int32(nil), w.enter...)
	for c, to := range w.To {
		w.into[fill[to]] = int32(c)
		fill[to]++
	}
	for c := range w.back {
		peer, _, _ := g.Peer(w.End(int32(c)))
		w.back[c] = w.channel(weft.SwitchID(peer.Node.Index), peer.Port)
	}
	var list []int32
	var err error
	w.turns, err = layered.NewTurns(len(w.To), func(c int32) []int32 {
		list = list[:0]
		for o := w.First[w.To[c]]; o < w.First[w.To[c]+1]; o++ {
			list = append(list, o)
		}
		return list
	})
	if err != nil {
		return nil, err
	}
	w.base = make([]int32, len(w.To))
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

// turn is the number of the turn from a channel to one out of the switch that it leads to.
func (w *wires) turn(c, next int32) int32 { return w.base[c] + next - w.First[w.To[c]] }

// leading are the channels that lead to a switch.
func (w *wires) leading(s int32) []int32 { return w.into[w.enter[s]:w.enter[s+1]] }
