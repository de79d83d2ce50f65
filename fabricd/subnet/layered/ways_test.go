package layered_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

func parse(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse(spec)
	require.NoError(t, err, spec)
	return g
}

// sound computes a routing and requires of it what every routing must have: each pair of NICs has
// an address, no way ends or turns in a circle, and nothing can deadlock.
func sound(t testing.TB, engine engine, g *topology.Graph, o layered.Options) *layered.Routing {
	t.Helper()
	r, err := engine(t.Context(), g, o)
	require.NoError(t, err, g.Spec)
	require.Zero(t, r.Unroutable)
	if c := r.Dependencies(t.Context()).Cycle(); c != nil {
		t.Fatalf("%s on %s: cycle %v", r.Engine, g.Spec, c)
	}
	delivers(t, r)
	return r
}

// delivers follows every way of every pair to its end, in every layer that it may have.
func delivers(t testing.TB, r *layered.Routing) {
	t.Helper()
	for s := range r.Graph.Switches {
		if injection(r.Graph, weft.SwitchID(s)) == weft.NoPort {
			continue
		}
		for d := range r.Graph.NICs {
			list := r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d))
			if len(list) == 0 {
				t.Fatalf("%s on %s: no address from switch %d to %d", r.Engine, r.Graph.Spec, s, d)
			}
			for _, a := range list {
				w := way{r: r, to: weft.NICID(d), path: a.Path}
				w.follow(weft.SwitchID(s), injection(r.Graph, weft.SwitchID(s)), a.VC, 0)
				if w.wrong != "" {
					t.Fatalf("%s on %s: from switch %d to %d by %+v: %s", r.Engine, r.Graph.Spec, s, d, a, w.wrong)
				}
			}
		}
	}
}

// injection is a port to a NIC.
func injection(g *topology.Graph, s weft.SwitchID) weft.PortID {
	for p, role := range g.Place(s).Roles {
		if role == weft.RoleNIC {
			return weft.PortID(p)
		}
	}
	return weft.NoPort
}

// way follows packets over any ports of their tables.
type way struct {
	r     *layered.Routing
	to    weft.NICID
	path  uint16
	hops  int // of the longest
	wrong string
	each  func(from, to weft.SwitchID, in weft.PortID, layer weft.VC)
}

func (w *way) follow(s weft.SwitchID, in weft.PortID, layer weft.VC, hops int) {
	if w.wrong != "" {
		return
	}
	if w.hops = max(w.hops, hops); hops > 3*len(w.r.Graph.Switches) {
		w.wrong = "it goes on for ever"
		return
	}
	list := w.r.Tables.Choices(s, w.to, w.path, in, layer)
	if len(list) == 0 {
		w.wrong = fmt.Sprintf("it ends at switch %d, in by %v in %v", s, in, layer)
	}
	if w.r.Kind == layered.Escape && layer != w.r.Escape {
		w.follow(s, weft.NoPort, w.r.Escape, hops)
	}
	for _, h := range list {
		peer, _, ok := w.r.Graph.Peer(weft.End{Node: s.Node(), Port: h.Port})
		switch {
		case !ok || h.VC != tables.SameVC:
			w.wrong = fmt.Sprintf("it leaves switch %d by %v in %v", s, h.Port, h.VC)
		case peer.Node.IsSwitch():
			if w.each != nil {
				w.each(s, weft.SwitchID(peer.Node.Index), in, layer)
			}
			w.follow(weft.SwitchID(peer.Node.Index), peer.Port, layer, hops+1)
		case peer.Node != w.to.Node():
			w.wrong = "it comes to another NIC"
		}
	}
}

// wired is a listed graph: links between switches of these numbers, some of them parallel, and so
// many NICs on each switch.
func wired(t testing.TB, name string, switches int, links [][2]int, nics func(s int) int) *topology.Graph {
	t.Helper()
	ports := make([]weft.PortID, switches)
	end := func(s int) weft.End {
		ports[s]++
		return weft.End{Node: weft.SwitchID(s).Node(), Port: ports[s] - 1}
	}
	var list []topology.Link
	for _, l := range links {
		list = append(list, topology.Link{A: end(l[0]), B: end(l[1])})
	}
	var sw []topology.Switch
	var endpoints []topology.NIC
	for s := range switches {
		sw = append(sw, topology.Switch{Name: fmt.Sprintf("s%d", s)})
		for range nics(s) {
			n := weft.NICID(len(endpoints))
			list = append(list, topology.Link{A: end(s), B: weft.End{Node: n.Node()}})
			endpoints = append(endpoints, topology.NIC{Name: fmt.Sprintf("n%d", n)})
		}
	}
	g, err := topology.New(name, sw, endpoints, list)
	require.NoError(t, err)
	return g
}

func one(int) int { return 1 }
