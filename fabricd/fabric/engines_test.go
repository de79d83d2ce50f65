package fabric_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
)

const irregular64 = "irregular:64,128,1"

// irregularSpec is what tests of all engines load.
func irregularSpec() string {
	if testenv.Soak() {
		return irregular64
	}
	return "irregular:16,32,1"
}

// engines are the names of all that compute routes for g.
func engines(t *testing.T, g *topology.Graph) (names []string) {
	t.Helper()
	for _, e := range subnet.Entries() {
		if e.Routes != nil && e.Fits(g) {
			names = append(names, e.Name)
		}
	}
	require.Subset(t, names, []string{"lash", "updn", "updn-adaptive", "mroots", "d-mroots", "escape", "minimal-hop"})
	return names
}

// Every engine there is, on switches whose links are NATS subjects, 64 of them at soak: traffic
// flows, and then one packet of every pair arrives. In the end nothing is lost or discarded, and
// the ledger balances. Packets of minimal-hop can wait for one another for ever, so there are few
// of them.
func TestOverNATSEveryEngineCarriesTrafficOnIrregularSwitches(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	spec := irregularSpec()
	g := topologytest.Parse(t, spec)
	for _, name := range engines(t, g) {
		r, err := subnet.Routes(t.Context(), name, g)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			load, packets := "uniform:0.05", uint64(500)
			if name == "minimal-hop" {
				load, packets = "uniform:0.005", 100
			}
			h := harness.New(t, spec, live.OverNATS(), harness.FirmwareByName(name), harness.Traffic(load), shortQueues)
			more(h, packets)
			h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
			if name != "minimal-hop" {
				allPairs(t, h)
			}
			if r.Kind == layered.Deterministic && name != "mroots" && name != "mp-lash" { // whose sources choose
				assert.Zero(t, h.Fabric().Totals().Reordered,
					"one address, one layer and one way, so packets of a flow stay in order")
			}
		})
	}
}

// Full load is what shows a cycle that a low one hides: each of them but minimal-hop goes on for
// ever.
func TestAtSaturationEveryEngineButMinimalHopGoesOn(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	spec := irregularSpec()
	g := topologytest.Parse(t, spec)
	for _, name := range engines(t, g) {
		if name == "minimal-hop" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, spec, harness.Virtual(), harness.FirmwareByName(name), harness.Buffers(1, 1), atFullRate())
			more(h, uint64(testenv.Levels(10_000, 2000, 2000)))
			h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
		})
	}
}

// atFullRate has every NIC send as fast as its link is.
func atFullRate() harness.Option {
	return harness.Options(harness.Links(settings.Link{Rate: 256_000, Paced: true}), harness.NoLiveness(),
		harness.Traffic("uniform:1"), shortQueues)
}

// requireDependencies requires that the tables have the very cycle that packets wait in: some of
// them go from each channel into the next.
func requireDependencies(t *testing.T, r *layered.Routing, cycle fabric.Cycle) {
	t.Helper()
	var channels []layered.Channel
	for _, c := range cycle {
		s, err := r.Graph.SwitchByName(c.Switch)
		require.NoError(t, err)
		channels = append(channels,
			layered.Channel{From: weft.End{Node: s.Node(), Port: weft.PortID(c.Port)}, Layer: weft.VC(c.VC)})
	}
	all, err := survey.Users(t.Context(), r, channels)
	require.NoError(t, err)
	for i, users := range all {
		require.NotEmpty(t, users, "%v after %v", cycle[(i+1)%len(cycle)], cycle[i])
	}
}

// deadlocked waits until channels wait for one another for ever.
func deadlocked(h *harness.Harness) {
	h.Eventually(func() error {
		if len(h.Fabric().Deadlock()) == 0 {
			return fmt.Errorf("no deadlock, %d packets delivered", delivered(h))
		}
		return nil
	})
}

func TestMinimalHopDeadlocksAtSaturationAndSaysSo(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for name, option := range map[string]harness.Option{
		"virtual": harness.Options(harness.Virtual(), atFullRate()),
		"live":    saturating(64),
	} {
		t.Run(name, func(t *testing.T) {
			h := harness.New(t, irregular64, option, harness.FirmwareByName("minimal-hop"), harness.Buffers(1, 1))
			deadlocked(h)
			stuck := h.QuiesceStuck()
			require.NotEmpty(t, stuck.Cycle)
			assert.True(t, stuck.Ledger.Balanced)
			assert.Positive(t, stuck.Ledger.InFlight)
			assert.ErrorContains(t, stuck, "packets in switches wait for each other: ")
			r, err := subnet.Routes(t.Context(), "minimal-hop", h.Topology())
			require.NoError(t, err)
			requireDependencies(t, r, stuck.Cycle)
		})
	}
}
