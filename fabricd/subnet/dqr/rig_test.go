package dqr_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// routed makes a routing of one way per switch, destination and layer; a NIC is sent to in the
// layer that of says.
func routed(t testing.TB, g *topology.Graph, layers int,
	port func(s weft.SwitchID, d weft.NICID, layer weft.VC) weft.PortID,
	of func(s weft.SwitchID, d weft.NICID) weft.VC,
) *layered.Routing {
	t.Helper()
	ports := make([]int, len(g.Switches))
	for i, s := range g.Switches {
		ports[i] = s.Ports
	}
	lft, err := tables.NewTablesOf(tables.TablesShape{VCs: layers, NICs: len(g.NICs), PerLayer: true, Ports: ports})
	require.NoError(t, err)
	for s := range weft.SwitchID(len(g.Switches)) {
		for p := range weft.PortID(ports[s]) {
			_, err := lft.AddRow(s, []tables.Hop{{Port: p, VC: tables.SameVC}})
			require.NoError(t, err)
		}
		for d := range weft.NICID(len(g.NICs)) {
			for layer := range weft.VC(layers) {
				p := port(s, d, layer)
				if home, own := g.SwitchOf(d); home == s {
					p = own
				}
				if p != weft.NoPort {
					require.NoError(t, lft.SetAddress(s, layer, d, 0, int(p)))
				}
			}
		}
	}
	assignment, err := tables.NewAssignment(len(g.Switches), len(g.NICs), layers, 1,
		func(s weft.SwitchID, d weft.NICID) []weft.Address {
			if !slices.Contains(g.Place(s).Roles, weft.RoleNIC) {
				return nil
			}
			return []weft.Address{{VC: of(s, d)}}
		})
	require.NoError(t, err)
	return &layered.Routing{
		Engine: "by hand", Graph: g, Kind: layered.Deterministic, Layers: layers, Tables: lft,
		Assignment: assignment,
	}
}

func layer0(weft.SwitchID, weft.NICID) weft.VC { return 0 }

// xy is dimension-order routing in a mesh: X, then Y, then Z.
func xy(t testing.TB, g *topology.Graph) *layered.Routing {
	t.Helper()
	return routed(t, g, 1, func(s weft.SwitchID, d weft.NICID, _ weft.VC) weft.PortID {
		home, _ := g.SwitchOf(d)
		here, there := g.Place(s).Grid, g.Place(home).Grid
		for i := range here.Dims {
			switch at, to := here.Dims[i].At, there.Dims[i].At; {
			case at < to:
				return here.Up(i)
			case at > to:
				return here.Down(i)
			}
		}
		return weft.NoPort
	}, layer0)
}

// eCube is dimension-order routing in a torus on shortest ways. The layer of a path says by a bit
// for each dimension whether it crosses the link between the last and the first switch.
func eCube(t testing.TB, g *topology.Graph) *layered.Routing {
	t.Helper()
	way := func(s weft.SwitchID, d weft.NICID, i int) (up bool, links uint32) {
		home, _ := g.SwitchOf(d)
		from, to := g.Place(s).Grid.Dims[i], g.Place(home).Grid.Dims[i]
		links = (to.At + to.Size - from.At) % to.Size
		if 2*links > to.Size {
			return false, to.Size - links
		}
		return true, links
	}
	dims := len(g.Place(0).Grid.Dims)
	return routed(t, g, 1<<dims, func(s weft.SwitchID, d weft.NICID, layer weft.VC) weft.PortID {
		home, _ := g.SwitchOf(d)
		for i := range dims {
			dim, to := g.Place(s).Grid.Dims[i], g.Place(home).Grid.Dims[i].At
			from := dim.At
			if from == to {
				continue
			}
			if layer>>i&1 == 1 { // the mesh that is cut at the other side
				from, to = (from+dim.Size-dim.Size/2)%dim.Size, (to+dim.Size-dim.Size/2)%dim.Size
			}
			if from < to {
				return g.Place(s).Grid.Up(i)
			}
			return g.Place(s).Grid.Down(i)
		}
		return weft.NoPort
	}, func(s weft.SwitchID, d weft.NICID) (layer weft.VC) {
		home, _ := g.SwitchOf(d)
		for i := range dims {
			up, _ := way(s, d, i)
			if from, to := g.Place(s).Grid.Dims[i].At, g.Place(home).Grid.Dims[i].At; from != to && up != (from < to) {
				layer |= 1 << i
			}
		}
		return layer
	})
}

func begin(t testing.TB, r *layered.Routing, o dqr.Options) *dqr.Reconfiguration {
	t.Helper()
	c, err := dqr.New(t.Context(), r, o)
	require.NoError(t, err)
	return c
}

// cuts is a set of dead links.
type cuts map[weft.LinkID]bool

func (c cuts) dead(l *topology.Link) bool { return c[l.ID] }

// between are the links between switches.
func between(g *topology.Graph) (list []weft.LinkID) {
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			list = append(list, l.ID)
		}
	}
	return list
}

func fail(t testing.TB, r *dqr.Reconfiguration, dead ...weft.LinkID) *dqr.Result {
	t.Helper()
	c := cuts{}
	for _, l := range dead {
		c[l] = true
	}
	res, err := r.Fail(t.Context(), c.dead)
	require.NoError(t, err)
	return res
}

// tree is up/down routing in a tree by the destination's digits.
func tree(t testing.TB, g *topology.Graph) *layered.Routing {
	t.Helper()
	return routed(t, g, 1, func(s weft.SwitchID, d weft.NICID, _ weft.VC) weft.PortID {
		place := g.Place(s).Tree
		if place.HasDown(d) {
			return place.DownPort(d)
		}
		return place.DefaultUp(d)
	}, layer0)
}
