package subnet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// At every switch, for every destination and every arrival that can be, the tables name the port
// that firmware updown does.
func TestFtreeDecidesAsUpdown(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"kary-ntree:2,3", "kary-ntree:3,2", "kary-ntree:4,3", "kary-ntree:2,5", "mport-tree:8,2",
		"mport-tree:4,3", "leaf-spine:2,5,3",
	} {
		g := topologytest.Parse(t, spec)
		r, err := subnet.Routes(t.Context(), "ftree", g)
		require.NoError(t, err)
		require.Equal(t, 1, r.Layers)
		require.Zero(t, r.Unroutable)
		require.Nil(t, r.Dependencies(t.Context()).Cycle())
		f, decided := newFabric(g), 0
		for _, s := range g.Switches {
			for dst := range weft.NICID(len(g.NICs)) {
				for p, role := range g.Place(s.ID).Roles {
					pkt := weft.Header{Dst: dst, Fields: weft.NewFields()}
					at := switching.Arrival{Port: weft.PortID(p), From: role}
					want := firmware.UpDown{}.Firmware().Route(&pkt, at, &f.at[s.ID]).Candidates
					if len(want) == 0 {
						continue // came down where its destination is not
					}
					decided++
					port := want[0].Port
					got := subnet.FirmwareOf(r).Route(&pkt, at, &f.at[s.ID]).Candidates
					require.Len(t, got, 1)
					require.Equal(t, port, got[0].Port, "%s: %s to %d", spec, s.Name, dst)
				}
			}
		}
		require.Positive(t, decided)
	}
}

func TestFtreeWithoutALinkRoutesWhatUpDownRoutesDo(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,2")
	u, err := subnet.NewUpDownRoutes(g)
	require.NoError(t, err)
	var dead subnet.Dead
	l, err := g.LinkByName("s0.0-s1.0")
	require.NoError(t, err)
	dead.AddLink(l.ID)
	l, err = g.LinkByName("s0.1-s1.1")
	require.NoError(t, err)
	dead.AddLink(l.ID)
	r, err := u.Routing(t.Context(), "ddrc", u.Compute(&dead))
	require.NoError(t, err)
	require.Equal(t, 8, r.Unroutable, "nothing joins the leaves without going up again")
	for s := range weft.SwitchID(4) {
		for d := range weft.NICID(4) {
			if s < 2 {
				require.Empty(t, r.Assignment.Addresses(s, d), "no NICs hang there")
				continue
			}
			own, _ := g.SwitchOf(d)
			require.Equal(t, own == s, len(r.Assignment.Addresses(s, d)) == 1)
		}
	}
}
