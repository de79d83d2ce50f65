package layered_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/tables"
)

// byHand describes a routing: at a switch that packets for dst come to in a layer, where they go.
// Switches are by number.
type byHand struct {
	spec   string
	layers int
	kind   layered.Kind
	// next are the switches to choose among, each with a VC. At the switch of dst it is not asked.
	next      func(at, dst int, layer weft.VC) []step
	addresses func(s, dst int) []weft.Address // nil: one, in VC 0
}

type step struct {
	to int
	vc weft.VC
}

// make fills the tables; a NIC has the number of its switch.
func (h byHand) make(t testing.TB) *layered.Routing {
	t.Helper()
	g := topologytest.Parse(t, h.spec)
	ports := make([]int, len(g.Switches))
	for i, s := range g.Switches {
		ports[i] = s.Ports
	}
	lft, err := tables.NewTablesOf(tables.TablesShape{VCs: h.layers, NICs: len(g.NICs), PerLayer: true, Ports: ports})
	require.NoError(t, err)
	for at := range g.Switches {
		for dst := range g.NICs {
			for layer := range weft.VC(h.layers) {
				row, err := lft.AddChoices(weft.SwitchID(at), [][]tables.Hop{h.hops(g, at, dst, layer)})
				require.NoError(t, err)
				require.NoError(t, lft.SetAddress(weft.SwitchID(at), layer, weft.NICID(dst), 0, row))
			}
		}
	}
	assignment, err := tables.NewAssignment(len(g.Switches), len(g.NICs), h.layers, 1,
		func(s weft.SwitchID, d weft.NICID) []weft.Address {
			if h.addresses == nil {
				return []weft.Address{{}}
			}
			return h.addresses(int(s), int(d))
		})
	require.NoError(t, err)
	return &layered.Routing{
		Engine: "by hand", Graph: g, Kind: h.kind, Layers: h.layers, Tables: lft,
		Assignment: assignment,
	}
}

func (h byHand) hops(g *topology.Graph, at, dst int, layer weft.VC) (hops []tables.Hop) {
	if home, port := g.SwitchOf(weft.NICID(dst)); int(home) == at {
		return []tables.Hop{{Port: port, VC: layer}}
	}
	for _, s := range h.next(at, dst, layer) {
		hops = append(hops, tables.Hop{Port: portTo(g, at, s.to), VC: s.vc})
	}
	return hops
}

// portTo is the first port of a switch that leads to another.
func portTo(g *topology.Graph, at, to int) weft.PortID {
	for p := range weft.PortID(g.Switches[at].Ports) {
		if e, _, ok := g.Peer(weft.End{Node: weft.SwitchID(at).Node(), Port: p}); ok && e.Node == weft.SwitchID(to).Node() {
			return p
		}
	}
	return weft.NoPort
}

// channel is the one from a switch to a neighbour.
func channel(g *topology.Graph, from, to int, layer weft.VC) layered.Channel {
	return layered.Channel{From: weft.End{Node: weft.SwitchID(from).Node(), Port: portTo(g, from, to)}, Layer: layer}
}
