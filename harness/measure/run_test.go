package measure

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
)

// Two goroutines on one processor and on two: the results, event hash and all, are those of runs
// one by one.
func TestEqualConfigurationsHaveEqualResults(t *testing.T) {
	cases := []Config{
		config(t, "kary-ntree:2,3", "adaptive-link", 0.9),
		config(t, "kary-ntree:2,3", DDRC, 0.5),
		config(t, "kary-ntree:4,2", "deterministic-link", 1),
		config(t, "kary-ntree:3,3", "misroute-vector", 0.7),
	}[:testenv.Levels(4, 2, 2)]
	want := make([]Result, len(cases))
	hashes := map[string]bool{}
	for i := range cases {
		cases[i].FaultCount, cases[i].Window = i%3, 1000
		want[i] = measured(t, cases[i])
		hashes[want[i].Hash] = true
	}
	require.Len(t, hashes, len(cases))
	for _, procs := range []int{1, 2} {
		before := runtime.GOMAXPROCS(procs)
		got, errs := make([]Result, len(cases)), make([]error, len(cases))
		var all sync.WaitGroup
		for i := range cases {
			all.Go(func() { got[i], errs[i] = Run(t.Context(), cases[i]) })
		}
		all.Wait()
		runtime.GOMAXPROCS(before)
		require.Equal(t, make([]error, len(cases)), errs)
		require.Equal(t, want, got)
	}
	other := cases[0]
	other.Seed++
	require.NotEqual(t, want[0].Hash, measured(t, other).Hash)
}

// Every packet that left a send queue is delivered, lost, discarded, or in a switch or on a wire,
// whatever dies meanwhile; and what the meter counted is what the cores did.
func TestEveryPacketIsAccountedFor(t *testing.T) {
	t.Parallel()
	for _, routing := range []string{
		"deterministic-link", DDRC, "adaptive-link", "updown",
		"source-routed",
	}[:testenv.Levels(5, 3, 1)] {
		for _, kind := range []string{LinkFaults, SwitchFaults} {
			c := config(t, "kary-ntree:3,3", routing, 0.9)
			c.FaultCount, c.FaultKind, c.FaultSpacing = 3, kind, 50
			c.WireDelay, c.RoutingDelay = 3*cycle, cycle
			c.Window, c.Warmup.Most = 500, 1000
			c = c.Filled()
			faults, err := drawFaults(&c)
			require.NoError(t, err)
			n, err := build(t.Context(), c)
			require.NoError(t, err)
			r := &run{network: n, ctx: t.Context(), faults: faults}
			require.NoError(t, r.run())

			m := r.meters.counts()
			require.Positive(t, m.delivered)
			require.Positive(t, m.lost(), "%s %s", routing, kind)
			inside, lostQueue, lostCrash, discarded := 0, uint64(0), uint64(0), uint64(0)
			for _, s := range r.switches {
				inside += s.Held()
				lostQueue += s.Stats().LostQueue
				lostCrash += s.Stats().LostCrash
				discarded += s.Stats().Discarded
			}
			for _, l := range r.graph.Links {
				for _, end := range []weft.End{l.A, l.B} {
					r.engine.Flying(r.port(end), func(f *weft.Frame) { inside += len(f.Packets) })
				}
			}
			require.Equal(t, inside, m.inside())
			require.Equal(t, []uint64{lostQueue, lostCrash, discarded}, []uint64{m.lostQueue, m.lostCrash, m.discarded})
			delivered, injected, queued := uint64(0), uint64(0), uint64(0)
			for _, x := range r.nics {
				delivered += x.Stats().Delivered
				injected += x.Stats().Injected
				queued += uint64(x.Snapshot().Queued)
				require.Zero(t, x.Stats().Wrong+x.Stats().Duplicated)
			}
			require.Equal(t, m.delivered, delivered)
			require.Equal(t, injected, m.entered+queued)
			require.InDelta(t, float64(m.lost())/3, r.result.LostPerFault, 1e-9)
			require.InDelta(t, float64(lostQueue)/3, r.result.LostQueuedPerFault, 1e-9)
			require.InDelta(t, float64(lostCrash)/3, r.result.LostCrashPerFault, 1e-9)
			require.InDelta(t, float64(m.lostWire)/3, r.result.LostWirePerFault, 1e-9)
			require.Equal(t, m.discarded, r.result.Discarded)
		}
	}
}

// One switch, wires of 3 cycles: the head is there after 3, routed after 2 more, sent 4 later, at
// the NIC after 3, and the tail follows in the 2 that the packet lasts.
func TestLatencyWithoutLoadIsTheSumOfTheDelays(t *testing.T) {
	t.Parallel()
	for spec, switches := range map[string]float64{"kary-ntree:2,1": 1, "irregular:2,1,1": 2} {
		c := config(t, spec, "", 0.001)
		c.Firmware = clockwise(c.Topology)
		c.WireDelay, c.RoutingDelay, c.CrossbarDelay = 3*cycle, 2*cycle, 4*cycle
		c.Window, c.Warmup.Skip = 200_000, true
		r := measured(t, c)
		want := (switches+1)*3 + switches*(2+4) + 2
		require.InDelta(t, want, r.LatencyP50, 0.02, spec)
		require.InDelta(t, want, r.NetworkLatencyP50, 0.02, spec)
		require.InDelta(t, want, r.LatencyMean, 0.2, "%s: two packets hardly ever meet", spec)
		require.InDelta(t, switches, r.HopsMean, 1e-9)
		require.InDelta(t, r.Offered, r.Accepted, 2e-4)
		require.False(t, r.Saturated)
	}
}

// Two NICs at one switch send to each other as much as their links take: half a packet a cycle
// each.
func TestAFlowGetsTheRateOfItsLink(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,1", "updown", 1)
	r := measured(t, c)
	require.InDelta(t, 1, r.Offered, 0.05)
	require.InDelta(t, 1, r.Accepted, 0.03)
	c.BytesPerCycle, c.NIC.PacketBytes = 256, 128
	require.InDelta(t, 4, measured(t, c).Accepted, 0.1, "links twice as fast, packets half as long")
}

func TestMoreLoadIsMoreThroughputUpToSaturation(t *testing.T) {
	t.Parallel()
	before := Result{}
	for _, load := range []float64{0.1, 0.2, 0.4, 0.7, 1} {
		r := measured(t, config(t, "kary-ntree:4,2", "deterministic-link", load))
		require.Greater(t, r.Accepted, before.Accepted*0.98, load)
		require.Greater(t, r.LatencyMean, before.LatencyMean, load)
		if load <= 0.4 {
			require.InDelta(t, load*8, r.Accepted, 0.05*load*8)
			require.False(t, r.Saturated)
			require.True(t, r.Stable)
		}
		require.LessOrEqual(t, r.LatencyP50, r.LatencyP95)
		require.LessOrEqual(t, r.LatencyP95, r.LatencyP99)
		require.LessOrEqual(t, r.LatencyP99, r.LatencyMax)
		require.Less(t, r.NetworkLatencyMean, r.LatencyMean)
		before = r
	}
	require.True(t, before.Saturated)
	require.Less(t, before.Accepted, before.Offered)
}

func TestDeadLinksBeforeTheFirstPacketLoseNothing(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:3,3", "deterministic-link", 0.2)
	c.FaultCount, c.FaultsBefore = 3, true
	r := measured(t, c)
	require.Zero(t, r.LostTotal)
	require.Zero(t, r.LostPerFault)
	require.Positive(t, r.Rerouted)
	require.Equal(t, 3, r.Faults)
	require.True(t, r.Connected)
	require.InDelta(t, r.Offered, r.Accepted, 0.1)

	c.Traffic.Load, c.FaultCount, c.CrossbarDelay = 1, 1, cycle
	c.Faults = []Fault{{Link: "s1.00-s2.00"}, {Link: "s1.01-s2.00", At: 100}}
	r = measured(t, c)
	require.Equal(t, 3, r.Faults)
	require.Positive(t, r.LostTotal)
	require.InDelta(t, float64(r.LostTotal)/2, r.LostPerFault, 1e-9, "per fault that came under load")
}

// Up/down tables computed anew lose what a dead link held, and with a delay what was sent to it
// meanwhile.
func TestReconfigurationAfterADelayDiscardsUntilThen(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:3,3", DDRC, 0.3)
	c.Faults = []Fault{{Link: "s1.00-s2.00"}}
	at := measured(t, c)
	require.LessOrEqual(t, at.Discarded, uint64(10))
	c.ReconfigureAfter = 1000
	late := measured(t, c)
	// A third of what comes for 3 of the NICs, and of what they send across.
	require.Greater(t, late.Discarded, at.Discarded+100)
	require.True(t, late.Connected)
	require.Zero(t, late.Rerouted)
	require.InDelta(t, late.Offered, late.Accepted, 0.2, "and then no more")
	require.InDelta(t, late.LostTotal+late.Discarded, late.MissingPerFault, 1e-9,
		"nothing is discarded before there is a fault")
}

// What a reconfiguration costs is the rate of the dead link times how long it takes, and the window
// is what is after it.
func TestTheWindowWaitsForTheLastReconfiguration(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	c := config(t, "kary-ntree:3,3", DDRC, 0.3)
	c.Faults = []Fault{{Link: "s1.00-s2.00"}, {Link: "s1.01-s2.01", At: 500}}
	c.Window = 1000
	c.ReconfigureAfter = 10_000
	r := measured(t, c)
	require.Greater(t, r.WarmupCycles, int64(10_500))
	require.InDelta(t, r.Offered, r.Accepted, 0.3, "nothing is discarded in the window")
	c.ReconfigureAfter = 20_000
	twice := measured(t, c)
	require.InDelta(t, 2, twice.MissingPerFault/r.MissingPerFault, 0.1)

	local := config(t, "kary-ntree:3,3", "deterministic-link", 0.3)
	local.Faults, local.Window, local.ReconfigureAfter = c.Faults, c.Window, c.ReconfigureAfter
	l := measured(t, local)
	require.Less(t, l.WarmupCycles, int64(10_500), "who needs no tables waits for none")
	require.Less(t, l.MissingPerFault, r.MissingPerFault/100)
}

func TestARunThatIsToBeShortIs(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,3", "adaptive-link", 0.5)
	c.MostCycles = 2700
	r := measured(t, c)
	require.EqualValues(t, 2700, r.Cycles)
	require.EqualValues(t, 2000, r.WarmupCycles)
	require.InDelta(t, r.Offered, r.Accepted, 0.3, "of the 700 cycles that were measured")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoTrafficIsMeasuredToo(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,2", "updown", 0)
	c.Traffic = nic.Traffic{}
	r := measured(t, c)
	require.True(t, r.Stable)
	require.Zero(t, r.Offered+r.Accepted+r.LatencyMean)
}

func ExampleRun() {
	fmt.Println(Config{}.Validate(context.Background()))
	// Output: unusable measurement: topology: none is given: give one, as kary-ntree:4,3
}
