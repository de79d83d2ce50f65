package subnet

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// ddrcSource is the name of up/down routing with the way in the packet.
const ddrcSource = "ddrc-source"

// sourcePaths is its entry.
func sourcePaths() Entry {
	routes := func(ctx context.Context, g *topology.Graph) (*layered.Routing, error) {
		u, err := NewUpDownRoutes(g)
		if err != nil {
			return nil, instead(named(ddrcSource, err), g)
		}
		r, err := u.Routing(ctx, ddrcSource, u.Compute(nil))
		return r, named(ddrcSource, err)
	}
	return Entry{
		Name: ddrcSource, On: firmware.Trees, Routes: routes,
		About: "fat trees: the NIC writes the way up and down into the packet, " +
			"from routes that a subnet manager replaces",
		New: func(ctx context.Context, g *topology.Graph) (firmware.Firmware, int, error) {
			r, err := routes(ctx, g)
			if err != nil {
				return firmware.Firmware{}, 0, err
			}
			paths, err := SourceRoutesOf(ctx, r)
			if err != nil {
				return firmware.Firmware{}, 0, named(ddrcSource, err)
			}
			return firmware.SourcePaths{Routes: paths}.Firmware(), 1, nil
		},
	}
}

// SourceRoutesOf are the ways of a routing as NICs write them into packets: from each switch by the
// first of the addresses that it sends to a destination by, and the first of the ways there. A
// routing of several layers is refused, and so are ways that a packet has no room for.
func SourceRoutesOf(ctx context.Context, r *layered.Routing) (*tables.SourceRoutes, error) {
	if r.Layers > 1 {
		return nil, fmt.Errorf("source routes of %d layers: a packet stays in the first, choose a routing of one layer",
			r.Layers)
	}
	w := walker{ctx: ctx, r: r}
	routes, err := tables.NewSourceRoutes(len(r.Graph.Switches), len(r.Graph.NICs), w.route)
	if err == nil {
		err = w.err
	}
	return routes, err
}

// walker follows a routing.
type walker struct {
	ctx   context.Context
	r     *layered.Routing
	ports [weft.MaxRoute]weft.PortID
	err   error
}

// route is the way from a switch to a NIC, none when there is none or no NIC sends there.
func (w *walker) route(s weft.SwitchID, d weft.NICID) (route weft.SourceRoute) {
	if d == 0 && w.err == nil {
		w.err = layered.Interrupted(w.ctx)
	}
	addresses := w.r.Assignment.Addresses(s, d)
	if len(addresses) == 0 || w.err != nil {
		return route
	}
	at, in, path, n := s, weft.NoPort, addresses[0].Path, 0
	if !w.r.Tables.PerLayer() {
		in = 0
	}
	for {
		hops := w.r.Tables.Choices(at, d, path, in, 0)
		if len(hops) == 0 || hops[0].Port == weft.NoPort {
			return weft.SourceRoute{}
		}
		if n == weft.MaxRoute {
			w.err = fmt.Errorf("the way from switch %s to NIC %s has more than %d ports, for which a packet has no room: "+
				"choose a topology of shorter ways",
				w.r.Graph.Switches[s].Name, w.r.Graph.NICs[d].Name, weft.MaxRoute)
			return weft.SourceRoute{}
		}
		w.ports[n] = hops[0].Port
		n++
		to, _, ok := w.r.Graph.Peer(weft.End{Node: at.Node(), Port: hops[0].Port})
		if !ok || to.Node == d.Node() {
			break
		}
		at, in = weft.SwitchID(to.Node.Index), to.Port
	}
	for n--; n >= 0; n-- {
		route, _ = route.Push(w.ports[n])
	}
	return route
}

// ProgramOf is what a firmware forwards by that goes by a routing: no more of it than it uses, and
// source routes made of the routing's tables for one whose packets carry them.
func ProgramOf(ctx context.Context, fw firmware.Firmware, r *layered.Routing) (p tables.Program, err error) {
	like := *fw.Program
	if like.Routes != nil {
		if p.Routes, err = SourceRoutesOf(ctx, r); err != nil {
			return p, err
		}
	}
	p.Tables, p.Assignment = r.Tables, r.Assignment
	return p.Only(like), nil
}
