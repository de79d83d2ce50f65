package verify_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// What Hybrid may do with any tables, wherever and whenever they are replaced, is part of what it
// may do when every up port is in the table: it looks at nothing else there. So this is every
// mixture of old tables, new ones and packets that are being re-routed.
func TestHybridBearsAsMuchAsItsLocalRoutingWithAnyMixtureOfTables(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	for _, size := range []struct{ k, n int }{{2, 3}, {3, 2}, {2, 4}, {4, 2}, {3, 3}}[:testenv.Levels(5, 2, 2)] {
		spec := fmt.Sprintf("kary-ntree:%d,%d", size.k, size.n)
		g := topologytest.Parse(t, spec)
		any := firmware.Hybrid{Tables: adaptiveTables(t, g, nil)}.Firmware()
		for _, when := range []verify.When{verify.Before, verify.Arriving, verify.Flapping} {
			if spec == "kary-ntree:3,3" && when != verify.Before {
				continue // minutes
			}
			t.Run(fmt.Sprint(spec, " ", when), func(t *testing.T) {
				t.Parallel()
				r := run(t, verify.Config{
					Graph: g, Firmware: any, When: when,
					Sets: verify.Sets{Kind: verify.Links, Max: size.k - 1},
				})
				require.True(t, r.Pass, "%v", r.Counter)
				require.True(t, r.CDGAcyclic)
				require.True(t, *r.Numbering)
			})
		}
	}
}

func adaptiveTables(t *testing.T, g *topology.Graph, dead *subnet.Dead) *tables.Tables {
	u, err := subnet.NewUpDownRoutes(g)
	require.NoError(t, err)
	u.Compute(dead)
	tables, err := u.AdaptiveTables(t.Context())
	require.NoError(t, err)
	return tables
}

// each is a firmware of its own in every switch, all of one kind.
func each(of []firmware.Firmware) firmware.Firmware {
	fw := of[0]
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		return of[sw.Place().Switch].Route(pkt, at, sw)
	}
	fw.Check = func(place *weft.Place, vcs int) error { return of[place.Switch].Fits(place, vcs) }
	return fw
}

// The same by patches that some switches have and others not yet, beyond what the functions bear:
// no deadlock, whatever is dead.
func TestHybridHasNoDeadlockWhileTablesAreReplaced(t *testing.T) {
	testenv.Nightly(t)
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:3,2")
	u, err := subnet.NewUpDownRoutes(g)
	require.NoError(t, err)
	u.Compute(nil)
	first, err := u.Tables(t.Context())
	require.NoError(t, err)
	for seed := range uint32(4) {
		var dead subnet.Dead
		for l := range g.Links {
			if !isNIC(g, &g.Links[l]) && (uint32(l)*2654435761+seed*40503)>>7%4 == 0 {
				dead.AddLink(weft.LinkID(l))
			}
		}
		u.Compute(&dead)
		lft, err := u.Tables(t.Context())
		require.NoError(t, err)
		var mixed []firmware.Firmware
		for s := range g.Switches {
			id := weft.SwitchID(s)
			fw := firmware.Hybrid{Tables: first}.Firmware()
			if (uint32(s)+seed*7)%3 > 0 {
				fw, err = fw.Patched(1, g.Place(id), 2,
					tables.Diff(id, tables.Program{Tables: first}, tables.Program{Tables: lft}, 1, 2))
				require.NoError(t, err)
			}
			mixed = append(mixed, fw)
		}
		r := run(t, verify.Config{
			Graph: g, Firmware: each(mixed), VCs: 2, When: verify.Arriving,
			Sets: verify.Sets{Kind: verify.Links, Max: 5, Samples: 300, Seed: uint64(seed)},
		})
		require.True(t, r.CDGAcyclic)
		require.True(t, *r.Numbering, "%v", r.Counter)
		require.Zero(t, r.Deadlocks)
		require.Zero(t, r.Livelocks)
	}
}

func isNIC(g *topology.Graph, l *topology.Link) bool {
	return !l.A.Node.IsSwitch() || !l.B.Node.IsSwitch()
}

// HybridAdaptive offers what AdaptiveLink offers, so what is proven of that holds; here that it is
// found so too.
func TestHybridAdaptiveBearsAsMuchAsAdaptiveLink(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	for _, size := range []struct{ k, n int }{{2, 3}, {3, 2}, {2, 4}, {4, 2}}[:testenv.Levels(4, 2, 2)] {
		spec := fmt.Sprintf("kary-ntree:%d,%d", size.k, size.n)
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, spec)
			var dead subnet.Dead
			dead.AddLink(weft.LinkID(len(g.Links) - 1))
			fw, _, err := subnet.Firmware(t.Context(), "hybrid-adaptive", g)
			require.NoError(t, err)
			sets := verify.Sets{Kind: verify.Links, Max: size.k - 1}
			local := run(t, verify.Config{
				Graph: g, Firmware: firmware.AdaptiveLink{}.Firmware(), Sets: sets, NoSymmetry: true,
			})
			around := firmware.HybridAdaptive{Tables: adaptiveTables(t, g, &dead)}.Firmware()
			for _, fw := range []switching.Firmware{fw, around} {
				r := run(t, verify.Config{Graph: g, Firmware: fw, Sets: sets})
				require.True(t, r.Pass, "%v", r.Counter)
				require.Equal(t, local.FaultSets, r.FaultSets)
				require.Equal(t, local.States, r.States)
				require.Equal(t, local.CyclicSets, r.CyclicSets)
			}
		})
	}
}
