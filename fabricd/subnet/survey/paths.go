package survey

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// PathsResult is how packets of a pair of NICs go. Lengths are links between switches.
type PathsResult struct {
	Engine   string       `json:"engine"`
	Topology string       `json:"topology"`
	Src      string       `json:"src"`
	Dst      string       `json:"dst"`
	Shortest int          `json:"shortest_length"` // links between switches
	Ways     []PathResult `json:"addresses"`
}

// PathResult is how packets by one address go: one path, or all that they may take.
type PathResult struct {
	Path     uint16       `json:"path"` // the address
	Layers   []int        `json:"layers"`
	Enters   []int        `json:"enters"` // of the layers; one is taken for each packet
	Arrives  bool         `json:"arrives"`
	Circles  bool         `json:"circles,omitempty"`
	MaxHops  int          `json:"max_length"`
	MeanHops float64      `json:"mean_length"`
	Stops    []StopResult `json:"stops"`
}

// StopResult is a switch, and where packets that came by a port in a VC may go.
type StopResult struct {
	Switch string       `json:"switch"`
	In     *weft.PortID `json:"in_port,omitempty"` // none: the packet has just moved to this layer
	From   string       `json:"from,omitempty"`
	VC     weft.VC      `json:"vc"`
	Hops   []Channel    `json:"hops"`
	Escape bool         `json:"may_escape,omitempty"`
}

// PathsOf follows the ways from a NIC to another.
func PathsOf(r *layered.Routing, src, dst weft.NICID) PathsResult {
	g := r.Graph
	p := PathsResult{
		Engine: r.Engine, Topology: g.Spec, Src: g.NICs[src].Name, Dst: g.NICs[dst].Name,
		Shortest: g.Distance(src, dst) - 1,
	}
	for _, w := range Ways(r, src, dst) {
		path := PathResult{
			Path: w.Path, Layers: w.Layers, Enters: w.Enters, Arrives: w.Sure, Circles: w.Circles, MaxHops: w.MaxHops,
			MeanHops: w.MeanHops,
		}
		for _, s := range w.Stops {
			stop := StopResult{Switch: g.Name(s.Switch.Node()), VC: s.Layer, Hops: NamesOf(g, s.Hops), Escape: s.Escape}
			if s.In != weft.NoPort {
				stop.In = &s.In
				if e, _, ok := g.Peer(weft.End{Node: s.Switch.Node(), Port: s.In}); ok {
					stop.From = g.Name(e.Node)
				}
			}
			path.Stops = append(path.Stops, stop)
		}
		p.Ways = append(p.Ways, path)
	}
	return p
}
