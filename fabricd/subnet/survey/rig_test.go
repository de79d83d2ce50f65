package survey_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// byHand is a routing made by hand: next says to which neighbours of switch at packets for the NICs
// of switch dst go in a layer, by their numbers; at dst it is not asked. addresses nil is one, in
// layer 0.
type byHand struct {
	layers    int
	kind      layered.Kind
	next      func(at, dst int, layer weft.VC) []int
	addresses func(s, dst int) []weft.Address
}

func (h byHand) make(t testing.TB, g *topology.Graph) *layered.Routing {
	t.Helper()
	h.layers = max(h.layers, 1)
	ports := make([]int, len(g.Switches))
	for i, s := range g.Switches {
		ports[i] = s.Ports
	}
	const paths = 2
	lft,
		err := tables.NewTablesOf(
		tables.TablesShape{VCs: h.layers, NICs: len(g.NICs), Paths: paths, PerLayer: true, Ports: ports})
	require.NoError(t, err)
	for at := range g.Switches {
		for dst := range g.NICs {
			for layer := range weft.VC(h.layers) {
				row, err := lft.AddChoices(weft.SwitchID(at), [][]tables.Hop{h.hops(g, at, weft.NICID(dst), layer)})
				require.NoError(t, err)
				for path := range paths {
					require.NoError(t, lft.SetAddress(weft.SwitchID(at), layer, weft.NICID(dst), path, row))
				}
			}
		}
	}
	assignment, err := tables.NewAssignment(len(g.Switches), len(g.NICs), h.layers, paths,
		func(s weft.SwitchID, d weft.NICID) []weft.Address {
			if h.addresses == nil {
				return []weft.Address{{}}
			}
			home, _ := g.SwitchOf(d)
			return h.addresses(int(s), int(home))
		})
	require.NoError(t, err)
	return &layered.Routing{
		Engine: "by hand", Graph: g, Kind: h.kind, Layers: h.layers, Tables: lft,
		Assignment: assignment,
	}
}

func (h byHand) hops(g *topology.Graph, at int, dst weft.NICID, layer weft.VC) (hops []tables.Hop) {
	home, port := g.SwitchOf(dst)
	if int(home) == at {
		return []tables.Hop{{Port: port, VC: tables.SameVC}}
	}
	for _, to := range h.next(at, int(home), layer) {
		hops = append(hops, tables.Hop{Port: portTo(g, at, weft.SwitchID(to).Node()), VC: tables.SameVC})
	}
	return hops
}

// portTo is the first port of a switch that leads to a node.
func portTo(g *topology.Graph, at int, to weft.Node) weft.PortID {
	for p := range weft.PortID(g.Switches[at].Ports) {
		if e, _, ok := g.Peer(weft.End{Node: weft.SwitchID(at).Node(), Port: p}); ok && e.Node == to {
			return p
		}
	}
	return weft.NoPort
}

// clockwise goes one way round a ring of n switches.
func clockwise(n int) func(at, dst int, layer weft.VC) []int {
	return func(at, _ int, _ weft.VC) []int { return []int{(at + 1) % n} }
}

// minimal goes round a ring by the shorter way, or by either.
func minimal(n int) func(at, dst int, layer weft.VC) []int {
	return func(at, dst int, _ weft.VC) (list []int) {
		ahead := (dst - at + n) % n
		if 2*ahead <= n {
			list = append(list, (at+1)%n)
		}
		if 2*ahead >= n {
			list = append(list, (at+n-1)%n)
		}
		return list
	}
}

// escape is minimal in layer 1 and along the line 0 .. n-1 in layer 0, which is left by none.
func escape(n int) byHand {
	return byHand{
		layers: 2, kind: layered.Escape,
		next: func(at, dst int, layer weft.VC) []int {
			switch {
			case layer == 1:
				return minimal(n)(at, dst, layer)
			case dst > at:
				return []int{at + 1}
			}
			return []int{at - 1}
		},
		addresses: func(int, int) []weft.Address { return []weft.Address{{VC: 1}} },
	}
}

func surveyOf(t *testing.T, r *layered.Routing) *survey.Survey {
	t.Helper()
	s, err := survey.Of(t.Context(), r)
	require.NoError(t, err)
	return s
}
