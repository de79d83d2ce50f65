package layered

import (
	"context"
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Channels numbers the channels between switches of a graph: those of one layer follow each other,
// in the order of their switches and ports.
type Channels struct {
	g     *topology.Graph
	first []int // per switch: where its ports begin
}

// NewChannels numbers the channels of g.
func NewChannels(g *topology.Graph) *Channels {
	c := &Channels{g: g, first: make([]int, len(g.Switches)+1)}
	for i, s := range g.Switches {
		c.first[i+1] = c.first[i] + s.Ports
	}
	return c
}

// Len is how many numbers a layer has; those of ports that lead to no switch are among them.
func (c *Channels) Len() int { return c.first[len(c.first)-1] }

// Number is that of the channel out of a port of a switch.
func (c *Channels) Number(s weft.SwitchID, p weft.PortID, layer weft.VC) int {
	return int(layer)*c.Len() + c.first[s] + int(p)
}

// Channel is the one of that number.
func (c *Channels) Channel(n int) Channel {
	layer, at := n/c.Len(), n%c.Len()
	s, found := slices.BinarySearch(c.first, at)
	if !found {
		s--
	}
	for c.first[s+1] == at { // switches without ports
		s++
	}
	return Channel{From: weft.End{Node: weft.SwitchID(s).Node(), Port: weft.PortID(at - c.first[s])}, Layer: weft.VC(layer)}
}

// Dependencies is the layered channel dependency graph of a routing (Lysne, Skeie, Reinemo, Theiss:
// Layered Routing in Irregular Networks, definition 12), found by following R for every address of
// T. It is for checking results, and knows nothing of how an engine came to them.
type Dependencies struct {
	Channels *Channels
	next     [][]int32 // per channel, those that follow it; nil: none
	Loads    []int     // per channel, how many source/address pairs' ways lead over it; of adaptive routings, any of their ways
}

// Dependencies follows R for every address of T. Packets that move between layers add no
// dependencies of one layer on another (theorem 3), but where they come into a layer they go on by
// its tables, and those dependencies count. Into the escape layer they may come at every switch on
// their way. When ctx ends before all are followed there is no graph: nil.
func (r *Routing) Dependencies(ctx context.Context) *Dependencies {
	d := &Dependencies{Channels: NewChannels(r.Graph)}
	n := d.Channels.Len() * r.Layers
	d.next, d.Loads = make([][]int32, n), make([]int, n)
	f := follower{Dependencies: d, routing: r, seen: make([]int, n+len(r.Graph.Switches)*r.Layers)}
	for dst := range r.Graph.NICs {
		if ctx.Err() != nil {
			return nil
		}
		for s := range r.Graph.Switches {
			f.source(weft.SwitchID(s), weft.NICID(dst))
		}
	}
	return d
}

// follower walks the ways of one source and address at a time.
type follower struct {
	*Dependencies
	routing *Routing
	seen    []int // per channel, and per layer and switch where a packet enters it: the walk that was there last
	walk    int
	todo    []state
	traffic []Traffic
}

// Traffic is T of a source and one address.
type Traffic struct {
	Path   uint16
	Layers uint16 // that packets can be in
	Moves  uint16 // of these, those between which they move
}

// TrafficTo puts the addresses of a list together that differ in nothing but where packets enter,
// and appends what they are to list.
func TrafficTo(list []Traffic, addresses []weft.Address) []Traffic {
	first := len(list)
	for _, a := range addresses {
		i := len(list) - 1 // as a rule those of one path follow each other
		if i < first || list[i].Path != a.Path {
			i = first + slices.IndexFunc(list[first:], func(t Traffic) bool { return t.Path == a.Path })
		}
		if i < first {
			i = len(list)
			list = append(list, Traffic{Path: a.Path})
		}
		list[i].Layers |= a.Layers | 1<<a.VC
		list[i].Moves |= a.Layers
	}
	return list
}

// state is a packet at a switch, in a layer: it came by a channel, or entered the layer here.
type state struct {
	at    weft.SwitchID
	in    weft.PortID // NoPort: it entered here
	layer weft.VC
	by    int // the channel by which it came, -1 for none
}

func (f *follower) source(s weft.SwitchID, dst weft.NICID) {
	r := f.routing
	f.traffic = TrafficTo(f.traffic[:0], r.Assignment.Addresses(s, dst))
	for _, a := range f.traffic {
		f.walk++
		for layer := range weft.VC(r.Layers) {
			if a.Layers>>layer&1 == 1 {
				f.reach(state{s, r.Injected(s), layer, -1})
			}
		}
		for len(f.todo) > 0 {
			x := f.todo[len(f.todo)-1]
			f.todo = f.todo[:len(f.todo)-1]
			f.leave(x, dst, a)
		}
	}
}

// Injected is a port by which packets of the NICs of a switch come in, which are all alike; NoPort
// when it has none.
func (r *Routing) Injected(s weft.SwitchID) weft.PortID {
	i := slices.Index(r.Graph.Place(s).Roles, weft.RoleNIC)
	if i < 0 {
		return weft.NoPort
	}
	return weft.PortID(i)
}

func (f *follower) reach(x state) {
	i := x.by
	if i < 0 {
		i = f.Channels.Len()*f.routing.Layers + int(x.layer)*len(f.routing.Graph.Switches) + int(x.at)
	}
	if f.seen[i] == f.walk {
		return
	}
	f.seen[i] = f.walk
	if x.by >= 0 {
		f.Loads[x.by]++
	}
	f.todo = append(f.todo, x)
}

// leave follows all ways on from a state.
func (f *follower) leave(x state, dst weft.NICID, a Traffic) {
	r := f.routing
	if r.Kind == Escape && x.layer != r.Escape {
		f.reach(state{x.at, weft.NoPort, r.Escape, -1})
	}
	counts := r.Kind != Escape || x.layer == r.Escape // see Cycle
	f.ways(x, dst, a.Path, func(out int) {
		if counts && x.by >= 0 && !slices.Contains(f.next[x.by], int32(out)) {
			f.next[x.by] = append(f.next[x.by], int32(out))
		}
	})
	if r.Kind != Adaptive || x.by < 0 || a.Moves>>x.layer&1 == 0 {
		return // who comes from a NIC is in all of its layers as it is
	}
	if r.Tables.PerLayer() {
		x.in = weft.NoPort
	}
	for w := a.Moves &^ (1 << x.layer); w != 0; w &= w - 1 {
		x.layer = weft.VC(bits.TrailingZeros16(w))
		f.ways(x, dst, a.Path, func(int) {})
	}
}

// ways follows those on from a state, and tells of the channels.
func (f *follower) ways(x state, dst weft.NICID, path uint16, tell func(out int)) {
	r := f.routing
	for _, h := range r.Tables.Choices(x.at, dst, path, x.in, x.layer) {
		if h.Port == weft.NoPort {
			continue
		}
		to, _, ok := r.Graph.Peer(weft.End{Node: x.at.Node(), Port: h.Port})
		if !ok || !to.Node.IsSwitch() {
			continue
		}
		layer := h.In(x.layer)
		out := f.Channels.Number(x.at, h.Port, layer)
		tell(out)
		f.reach(state{weft.SwitchID(to.Node.Index), to.Port, layer, out})
	}
}
