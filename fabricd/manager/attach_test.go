package manager_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestInVirtualTimeARoundTakesItsDelaysExactlyAndIsTheSameAgain(t *testing.T) {
	t.Parallel()
	run := func() (report fault.Reconfiguration, hash uint64) {
		h := harness.New(t, "kary-ntree:2,3", harness.Virtual(), harness.FirmwareByName("ftree"), harness.Seed(7),
			harness.Traffic("uniform:0.3"),
			harness.Managed("ddrc", manager.Delays{
				Detect: time.Millisecond, Compute: 2 * time.Millisecond,
				Distribute: 3 * time.Millisecond,
			}))
		h.Cut("s1.00", "s2.00")
		h.Pause(100 * time.Millisecond)
		report = *h.Fabric().Faults()[0].Reconfiguration
		h.Heal()
		h.Pause(100 * time.Millisecond)
		h.RequireLedger()
		hash, ok := h.Fabric().Hash()
		require.True(t, ok)
		return report, hash
	}
	r, hash := run()
	assert.Empty(t, r.Error)
	assert.Equal(t, []float64{0.002, 0.003}, []float64{r.ComputeSeconds, r.DistributeSeconds})
	assert.InDelta(t, 0.001, r.DetectSeconds, 0.0001, "and the time until an end tells")
	assert.InDelta(t, 0.006, r.InForceSeconds, 0.0001)
	assert.Positive(t, r.SettledSeconds)
	assert.True(t, r.Acyclic)
	again, same := run()
	assert.Equal(t, r, again)
	assert.Equal(t, hash, same)
}

// Emptying the fabric takes as long as its packets need, and is told apart from telling the NICs
// what to write.
func TestInVirtualTimeDrainingIsAPhaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for method, static := range map[string]bool{"direct": true, "direct:mode=dynamic": false} {
		h := harness.New(t, "torus:4x4", harness.Virtual(), harness.FirmwareByName("duato:mechanisms=I+D"), harness.Seed(7),
			harness.Traffic("uniform:0.3"),
			harness.Links(settings.Link{Delay: "2ms"}),
			harness.Managed(method, manager.Delays{
				Detect: time.Millisecond, Compute: time.Millisecond,
				Distribute: 3 * time.Millisecond,
			}))
		h.Cut("s0.0", "s0.1")
		h.Pause(100 * time.Millisecond)
		r := h.Fabric().Faults()[0].Reconfiguration
		require.NotNil(t, r)
		assert.Equal(t, []float64{0.001, 0.003}, []float64{r.ComputeSeconds, r.DistributeSeconds}, method)
		assert.InDelta(t, r.InForceSeconds, r.DetectSeconds+r.ComputeSeconds+r.DrainSeconds+r.DistributeSeconds, 1e-9, method)
		if static {
			assert.Greater(t, r.DrainSeconds, 0.001, "packets cross several links of 2 ms, and the NICs have been held for one")
		} else {
			assert.Zero(t, r.DrainSeconds)
		}
		h.RequireLedger()
	}
}

// Packets carry their routes: new ones are generated with them, and old ones whose link has died
// are discarded on the way.
func TestInVirtualTimeSourceRoutesAreReplacedToo(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,3", harness.Virtual(), harness.FirmwareByName("ddrc-source"),
		harness.Traffic("uniform:0.3"), harness.Managed("ddrc", manager.Delays{}))
	h.Cut("s1.00", "s2.00")
	h.Pause(200 * time.Millisecond)
	r := h.Fabric().Faults()[0].Reconfiguration
	require.NotNil(t, r)
	assert.Empty(t, r.Error)
	assert.Positive(t, r.Entries)
	assert.True(t, r.Acyclic)
	was := h.Fabric().Ledger()
	assert.Positive(t, was.Lost+was.Discarded, "until there were new routes")
	h.Pause(3 * time.Second) // an old packet that was discarded after the tables were in force is waited for 2 s
	now := h.Fabric().Ledger()
	assert.Greater(t, now.Delivered, was.Delivered)
	assert.Equal(t, was.Lost+was.Discarded, now.Lost+now.Discarded, "no packet goes there any more")
	assert.Positive(t, h.Fabric().Faults()[0].Reconfiguration.SettledSeconds)
	h.RequireLedger()
}

// The same seed, and so the same packets: what a cut costs is what the link held, with and without
// a manager.
func TestInVirtualTimeHybridLosesJustWhatLocalReRoutingLoses(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for _, pair := range [][2]string{{"deterministic-link", "hybrid"}, {"adaptive-link", "hybrid-adaptive"}} {
		run := func(routing string, more ...harness.Option) (lost uint64, stretch float64) {
			h := harness.New(t, "kary-ntree:4,3",
				append(more, harness.Virtual(), harness.FirmwareByName(routing), harness.Seed(3),
					harness.Links(settings.Link{Paced: true}), harness.Traffic("uniform:0.4"))...)
			h.Pause(50 * time.Millisecond)
			for _, end := range []string{"s1.00", "s1.11", "s1.23"} {
				h.Cut(end, "s2."+end[3:])
			}
			h.Pause(60 * time.Millisecond) // new tables
			was := h.Fabric().Totals()
			h.Pause(100 * time.Millisecond)
			now, ledger := h.Fabric().Totals(), h.Fabric().Ledger()
			hops := now.MeanHops*float64(now.Delivered) - was.MeanHops*float64(was.Delivered)
			shortest := now.MeanHops*float64(now.Delivered)/now.Stretch - was.MeanHops*float64(was.Delivered)/was.Stretch
			return ledger.Lost + ledger.Discarded, hops / shortest
		}
		local, longer := run(pair[0])
		hybrid, shortest := run(pair[1], harness.Managed("ddrc", manager.Delays{}))
		assert.Equal(t, local, hybrid, pair)
		assert.Positive(t, local, pair)
		assert.Greater(t, longer, 1.001, pair)
		assert.InDelta(t, 1, shortest, 1e-4, pair)
	}
}

func TestInVirtualTimeAStaticReconfigurationLosesNothing(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "irregular:10,20,3", harness.Virtual(), harness.FirmwareByName("updn"),
		harness.Traffic("uniform:0.3"), harness.Requeue(), harness.Managed("engine", manager.Delays{}))
	h.Pause(10 * time.Millisecond)
	static := 0
	for _, l := range h.Topology().Links {
		if !l.BetweenSwitches() || static > 1 {
			continue
		}
		h.Cut(h.Topology().Switches[l.A.Node.Index].Name, h.Topology().Switches[l.B.Node.Index].Name)
		h.Pause(100 * time.Millisecond)
		h.Heal()
		h.Pause(100 * time.Millisecond)
		faults := h.Fabric().Faults()
		c := faults[len(faults)-1].Reconfiguration
		require.NotNil(t, c)
		require.Empty(t, c.Error)
		if c.Static {
			static++
		}
	}
	assert.Positive(t, static)
	assert.False(t, h.Fabric().Held())
	h.RequireLedger()
}

func TestALiveFabricInMemoryIsManagedToo(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "mesh:3x3", harness.FirmwareByName("xy"), harness.Managed("dqr", manager.Delays{}))
	h.Cut("s0.0", "s1.0")
	h.Eventually(func() error {
		if r := h.Fabric().Faults()[0].Reconfiguration; r == nil || r.InForceSeconds == 0 {
			return errForgotten
		}
		return nil
	})
	assert.Zero(t, h.Fabric().Faults()[0].Reconfiguration.Unroutable)
	assert.True(t, h.Fabric().Faults()[0].Reconfiguration.Acyclic)
	for _, src := range h.Topology().NICs {
		for _, dst := range h.Topology().NICs {
			if src != dst {
				h.RequireDelivered(h.Send(src.Name, dst.Name))
			}
		}
	}
	h.RequireLedger()
}

// Links of a switch that crashed take two seconds to settle, for packets wait in its NIC.
func TestInVirtualTimePairsThatRepairedLinksJoinGetTheirPathsBackOnceOlderPacketsAreGone(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	h := harness.New(t, "mesh:5x5", harness.Virtual(), harness.FirmwareByName("xy"), harness.Traffic("uniform:0.1"),
		harness.Managed("dqr", manager.Delays{}))
	h.Crash("s3.3")
	h.Pause(500 * time.Millisecond)
	h.Heal()
	h.Pause(3 * time.Second)
	var told []string
	for _, e := range h.Fabric().Events().Since(0) {
		if e.Kind == fabric.EventReconfigured {
			told = append(told, e.Detail)
		}
	}
	require.GreaterOrEqual(t, len(told), 2)
	assert.Contains(t, told[0], "pairs without a path, of which no live links join 48")
	assert.NotContains(t, told[len(told)-1], "without a path")
	before := h.Fabric().Ledger().Discarded
	h.Pause(500 * time.Millisecond)
	assert.Equal(t, before, h.Fabric().Ledger().Discarded, "every pair has a path")
}
