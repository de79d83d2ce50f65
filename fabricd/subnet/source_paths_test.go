package subnet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/tables"
)

// Every route leads from every switch with NICs to its destination, by live links only, first up
// and then down.
func TestSourceRoutesFollowTheTablesThatTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:4,3", "kary-ntree:2,6"} {
		g := topologytest.Parse(t, spec)
		u, err := subnet.NewUpDownRoutes(g)
		require.NoError(t, err)
		var dead subnet.Dead
		for l := range g.Links {
			if g.Links[l].BetweenSwitches() && l%17 == 3 {
				dead.AddLink(weft.LinkID(l))
			}
		}
		r, err := u.Routing(t.Context(), "ddrc", u.Compute(&dead))
		require.NoError(t, err)
		routes, err := subnet.SourceRoutesOf(t.Context(), r)
		require.NoError(t, err)
		for _, src := range g.NICs {
			s, _ := g.SwitchOf(src.ID)
			for _, dst := range g.NICs {
				route, at, down := routes.Route(s, dst.ID), s.Node(), false
				require.Equal(t, u.Routable(src.ID, dst.ID), route.Len() > 0, "%s: %s to %s", spec, src.Name, dst.Name)
				for ; route.Len() > 0; route = route.Pop() {
					p := route.Next()
					up := g.Place(weft.SwitchID(at.Index)).Roles[p] == weft.RoleUp
					require.False(t, up && down, "up again")
					down = !up
					to, l, ok := g.Peer(weft.End{Node: at, Port: p})
					require.True(t, ok && !dead.Cuts(&g.Links[l]))
					at = to.Node
				}
				if u.Routable(src.ID, dst.ID) {
					require.Equal(t, dst.ID.Node(), at)
				}
			}
		}
	}
}

func TestRoutingsThatNoPacketHasRoomForHaveNoSourceRoutes(t *testing.T) {
	t.Parallel()
	r, err := subnet.Routes(t.Context(), "lash", topologytest.Parse(t, "torus:5x5"))
	require.NoError(t, err)
	_, err = subnet.SourceRoutesOf(t.Context(), r)
	require.ErrorContains(t, err, "choose a routing of one layer")
	r, err = subnet.Routes(t.Context(), "updn", topologytest.Parse(t, "ring:40"))
	require.NoError(t, err)
	_, err = subnet.SourceRoutesOf(t.Context(), r)
	require.ErrorContains(t, err, "more than 15 ports")
}

func TestAProgramHoldsWhatItsFirmwareUses(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,3")
	for name, has := range map[string][3]bool{
		"ftree": {true, true, false}, "hybrid": {true, false, false}, "hybrid-adaptive": {true, false, false},
		"ddrc-source": {false, false, true},
	} {
		fw, _, err := subnet.Firmware(t.Context(), name, g)
		require.NoError(t, err)
		r, err := subnet.Routes(t.Context(), name, g)
		require.NoError(t, err)
		p, err := subnet.ProgramOf(t.Context(), fw, r)
		require.NoError(t, err)
		require.Equal(t, has, [3]bool{p.Tables != nil, p.Assignment != nil, p.Routes != nil}, name)
		for s := range g.Switches {
			if name == "hybrid-adaptive" {
				break // it begins with all ways up, and a routing has one
			}
			require.True(t, tables.Diff(weft.SwitchID(s), *fw.Program, p, 1, 2).Empty(), "%s: it has that", name)
		}
		_, _, err = subnet.Firmware(t.Context(), name, topologytest.Parse(t, "mesh:3x3"))
		require.ErrorContains(t, err, "mesh:3x3", name)
	}
}
