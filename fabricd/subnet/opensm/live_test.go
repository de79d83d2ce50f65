package opensm_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

// Tables that OpenSM made: lash with its layers, and torus-2QoS, whose packets change lanes on the
// way.
var made = map[string]struct{ topology, files string }{
	"lash": {"irregular:16,32,2", "testdata/lash16-lfts.dump.gz,path-sl=testdata/lash16-path-sl.txt.gz"},
	"torus-2QoS": {
		"testdata/torus5.net",
		"testdata/torus5-lfts.dump.gz,sl2vl=testdata/torus5-sl2vl.dump.gz,path-sl=testdata/torus5-path-sl.txt",
	},
}

// Live, each packet goes the way that OpenSM's tables say, in the lane that they say.
func TestPacketsGoByTablesOfOpenSM(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for name, m := range made {
		g := topologytest.Parse(t, m.topology)
		r, err := opensm.Open(t.Context(), g, m.files)
		require.NoError(t, err)
		h := harness.New(t, m.topology, harness.FirmwareByName("tables:"+m.files))
		lanes, changed := map[weft.VC]bool{}, 0
		for _, src := range g.NICs {
			for _, dst := range g.NICs[:8] {
				if src.ID == dst.ID {
					continue
				}
				path := h.RequireDelivered(h.Send(src.Name, dst.Name))
				want := expected(t, r, src.ID, dst.ID)
				require.Len(t, path.Hops, len(want), "%s: %s to %s", name, src.Name, dst.Name)
				for i, hop := range path.Hops {
					require.Equal(t, want[i], step{hop.Switch, hop.Out, hop.InVC, hop.OutVC}, "%s: %s to %s", name, src.Name, dst.Name)
					lanes[hop.InVC] = true
					if hop.InVC != hop.OutVC {
						changed++
					}
				}
			}
		}
		h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
		assert.Len(t, lanes, r.Layers)
		assert.Equal(t, name == "torus-2QoS", changed > 0)
	}
}

// step is what a switch does with a packet.
type step struct {
	at    weft.SwitchID
	out   weft.PortID
	in, o weft.VC
}

// expected is the way of a packet by tables.
func expected(t *testing.T, r *layered.Routing, src, dst weft.NICID) (way []step) {
	t.Helper()
	at, in := r.Graph.SwitchOf(src)
	a := r.Assignment.Addresses(at, dst)
	require.Len(t, a, 1)
	for vc := a[0].VC; len(way) <= len(r.Graph.Switches); {
		hop := r.Tables.Choices(at, dst, a[0].Path, in, vc)[0]
		out := hop.VC
		if out == tables.SameVC {
			out = vc
		}
		way = append(way, step{at, hop.Port, vc, out})
		to, _, ok := r.Graph.Peer(weft.End{Node: at.Node(), Port: hop.Port})
		require.True(t, ok)
		if !to.Node.IsSwitch() {
			return way
		}
		at, in, vc = weft.SwitchID(to.Node.Index), to.Port, out
	}
	t.Fatal("round and round")
	return nil
}

// Under load nothing is lost and nothing gets stuck: at saturation in virtual time, and live.
func TestFabricsUnderLoadForwardByTablesOfOpenSM(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, m := range made {
		for _, more := range [][]harness.Option{
			{harness.Virtual(), harness.Seed(1), harness.Traffic("uniform:1")},
			{harness.Traffic("uniform:0.1")},
		} {
			h := harness.New(t, m.topology, append(slices.Clone(more), harness.FirmwareByName("tables:"+m.files))...)
			h.Eventually(func() error {
				if h.Fabric().Ledger().Delivered < uint64(testenv.Levels(5_000, 1_000, 1_000)) {
					return errors.New("few packets yet")
				}
				return nil
			})
			h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
		}
	}
}
