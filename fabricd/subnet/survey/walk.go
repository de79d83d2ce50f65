package survey

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/switch/tables"
)

// walker follows the ways of one source switch and address at a time.
type walker struct {
	r        *layered.Routing
	channels *layered.Channels
	all      int   // channels of all layers
	seen     []int // per channel, and per layer and switch where it is entered: the walk that was there last
	node     []int32
	walk     int

	nodes []node
	edges []int32 // of the nodes, to nodes
	order []int32 // of the nodes, each after those that lead to it; shorter than nodes when packets can go in circles
	open  []int32 // per node, for order

	traffic []layered.Traffic
}

// node is a packet at a switch.
type node struct {
	at      weft.SwitchID
	in      weft.PortID
	layer   weft.VC
	by      int // the channel by which it came, -1: it entered the layer here
	hops    []tables.Hop
	first   int32 // of its edges
	forward int32 // how many of them are hops; one more may enter the escape layer
	last    int32
	arrives int32 // how many of its hops lead to the destination
	astray  int32 // and how many to nowhere, or to another NIC
	flow    float64
	longest int32 // channels on the longest way to here
}

func newWalker(r *layered.Routing) *walker {
	w := &walker{r: r, channels: layered.NewChannels(r.Graph)}
	w.all = w.channels.Len() * r.Layers
	states := w.all + len(r.Graph.Switches)*r.Layers
	w.seen, w.node = make([]int, states), make([]int32, states)
	return w
}

// follow finds all states in which packets for an address of dst can be that are sent by the NICs
// of s. They enter as the addresses of the list say.
func (w *walker) follow(s weft.SwitchID, dst weft.NICID, t layered.Traffic, list []weft.Address) {
	w.walk++
	w.nodes, w.edges, w.order = w.nodes[:0], w.edges[:0], w.order[:0]
	in := w.r.Injected(s)
	var enter [weft.MaxVCs]int
	all := 0
	for _, a := range list {
		if a.Path == t.Path {
			enter[a.VC]++
			all++
		}
	}
	for layer := range weft.VC(w.r.Layers) {
		if t.Layers>>layer&1 == 1 {
			i := w.reach(node{at: s, in: in, layer: layer, by: -1})
			w.nodes[i].flow = float64(enter[layer]) / float64(all)
		}
	}
	for i := 0; i < len(w.nodes); i++ {
		w.leave(i, dst, t.Path)
	}
	w.sort()
}

// sent are the addresses of dst by which s sends, those together that differ only in where packets
// enter.
func (w *walker) sent(s weft.SwitchID, dst weft.NICID) (each []layered.Traffic, list []weft.Address) {
	list = w.r.Assignment.Addresses(s, dst)
	w.traffic = layered.TrafficTo(w.traffic[:0], list)
	return w.traffic, list
}

// share is how many of a list are of one path, as a part of all.
func share(t layered.Traffic, list []weft.Address) float64 {
	n := 0
	for _, a := range list {
		if a.Path == t.Path {
			n++
		}
	}
	return float64(n) / float64(len(list))
}

// reach is the number of a node, which may be there already.
func (w *walker) reach(n node) int32 {
	i := n.by
	if i < 0 {
		i = w.all + int(n.layer)*len(w.r.Graph.Switches) + int(n.at)
	}
	if w.seen[i] != w.walk {
		w.seen[i], w.node[i] = w.walk, int32(len(w.nodes))
		w.nodes = append(w.nodes, n)
	}
	return w.node[i]
}

// leave finds the ways on from a node.
func (w *walker) leave(i int, dst weft.NICID, path uint16) {
	n := w.nodes[i]
	n.hops = w.r.Tables.Choices(n.at, dst, path, n.in, n.layer)
	n.first = int32(len(w.edges))
	for _, h := range n.hops {
		to, _, ok := w.r.Graph.Peer(weft.End{Node: n.at.Node(), Port: h.Port})
		switch {
		case ok && to.Node == dst.Node():
			n.arrives++
		case !ok || !to.Node.IsSwitch():
			n.astray++
		default:
			layer := h.In(n.layer)
			out := w.channels.Number(n.at, h.Port, layer)
			w.edges = append(w.edges, w.reach(node{at: weft.SwitchID(to.Node.Index), in: to.Port, layer: layer, by: out}))
		}
	}
	n.forward = int32(len(w.edges)) - n.first
	if w.r.Kind == layered.Escape && n.layer != w.r.Escape {
		w.edges = append(w.edges, w.reach(node{at: n.at, in: weft.NoPort, layer: w.r.Escape, by: -1}))
	}
	n.last = int32(len(w.edges))
	w.nodes[i] = n
}

// sort brings the nodes into order, and on the way lets packets flow: each node passes on as much
// by every hop. Nothing flows into the escape layer where there is another way.
func (w *walker) sort() {
	w.open = slices.Grow(w.open[:0], len(w.nodes))[:len(w.nodes)]
	clear(w.open)
	for _, to := range w.edges {
		w.open[to]++
	}
	for i := range w.nodes {
		if w.open[i] == 0 {
			w.order = append(w.order, int32(i))
		}
	}
	for at := 0; at < len(w.order); at++ {
		n := w.nodes[w.order[at]]
		share := n.flow / float64(max(1, n.forward+n.arrives+n.astray))
		for k, to := range w.edges[n.first:n.last] {
			t := &w.nodes[to]
			length := n.longest
			if t.by >= 0 {
				length++
			}
			t.longest = max(t.longest, length)
			if k < int(n.forward) || n.forward+n.arrives+n.astray == 0 {
				t.flow += share
			}
			if w.open[to]--; w.open[to] == 0 {
				w.order = append(w.order, to)
			}
		}
	}
}

// sure reports whether packets arrive whatever way they take: none ends elsewhere, none goes in
// circles.
func (w *walker) sure() bool {
	if len(w.order) < len(w.nodes) || len(w.nodes) == 0 {
		return false
	}
	return !slices.ContainsFunc(w.nodes, func(n node) bool { return n.astray > 0 || n.arrives == 0 && n.first == n.last })
}
