package layered

import (
	"context"
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
	return Channel{
		From:  weft.End{Node: weft.SwitchID(s).Node(), Port: weft.PortID(at - c.first[s])},
		Layer: weft.VC(layer),
	}
}

// Dependencies is the layered channel dependency graph of a routing (Lysne, Skeie, Reinemo, Theiss:
// Layered Routing in Irregular Networks, definition 12), found by following R for every address of
// T. It is for checking results, and knows nothing of how an engine came to them.
type Dependencies struct {
	Channels *Channels
	next     [][]int32 // per channel, those that follow it; nil: none
	// per channel, how many source/address pairs' ways lead over it; of adaptive routings, any of
	// their ways
	Loads []int
}

// NewDependencies is a graph of so many layers without dependencies yet.
func NewDependencies(g *topology.Graph, layers int) *Dependencies {
	c := NewChannels(g)
	return &Dependencies{Channels: c, next: make([][]int32, c.Len()*layers)}
}

// Add has a channel depend on another, by their numbers.
func (d *Dependencies) Add(from, to int) {
	if !slices.Contains(d.next[from], int32(to)) {
		d.next[from] = append(d.next[from], int32(to))
	}
}

// Dependencies follows R for every address of T. Packets that move between layers add no
// dependencies of one layer on another (theorem 3), but where they come into a layer they go on by
// its tables, and those dependencies count. Into the escape layer they may come at every switch on
// their way. When ctx ends before all are followed there is no graph: nil.
func (r *Routing) Dependencies(ctx context.Context) *Dependencies {
	m := newMixer(nil, r)
	m.Loads = make([]int, len(m.next))
	for dst := range weft.NICID(len(r.Graph.NICs)) {
		if ctx.Err() != nil {
			return nil
		}
		m.destination(dst)
	}
	return m.Dependencies
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

// Injected is a port by which packets of the NICs of a switch come in, which are all alike; NoPort
// when it has none.
func (r *Routing) Injected(s weft.SwitchID) weft.PortID {
	i := slices.Index(r.Graph.Place(s).Roles, weft.RoleNIC)
	if i < 0 {
		return weft.NoPort
	}
	return weft.PortID(i)
}
