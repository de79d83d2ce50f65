package topology_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func TestWithoutALinkEverythingKeepsItsNumberAndTheLinkIsGone(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:3x3")
	cut, err := g.LinkByName("s0.0-s1.0")
	require.NoError(t, err)
	nic := cut
	for _, l := range g.Links {
		if !l.BetweenSwitches() {
			nic = l
		}
	}
	left := g.Without(func(l *topology.Link) bool { return l.ID == cut.ID || l.ID == nic.ID })
	require.Equal(t, g.Links, left.Links)
	for _, l := range g.Links {
		for _, e := range []weft.End{l.A, l.B} {
			to, id, ok := left.Peer(e)
			require.Equal(t, l.ID != cut.ID && l.ID != nic.ID, ok, "%v", l)
			_, _, before := g.Peer(e)
			require.True(t, before, "the graph itself is as it was")
			if ok {
				require.Equal(t, l.ID, id)
				require.Equal(t, l.Other(e.Node), to)
			}
		}
	}
	require.Same(t, g.Place(0), left.Place(0))
	a, b := weft.SwitchID(cut.A.Node.Index), weft.SwitchID(cut.B.Node.Index)
	require.Equal(t, 1, g.SwitchDistance(a, b))
	require.Equal(t, 3, left.SwitchDistance(a, b), "round the dead link")
}
