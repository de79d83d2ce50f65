package measure

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
)

// A link dies once: what is named is not drawn beside it, so that losses are divided by the links
// that died.
func TestWhatIsNamedIsNotDrawnOnceMore(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,3", "updown", 0.1)
	for _, kind := range []string{LinkFaults, SwitchFaults} {
		c.FaultKind, c.Faults, c.FaultCount = kind, nil, 6
		six := draw(t, c)
		named := Fault{Link: c.Topology.Links[six[2].ID].Name}
		if six[2].Switch {
			named = Fault{Switch: c.Topology.Switches[six[2].ID].Name}
		}
		c.Faults, c.FaultCount = []Fault{named}, 5
		seen := map[string]bool{}
		for _, d := range draw(t, c) {
			is := fmt.Sprint(d.Element)
			require.False(t, seen[is], "%s dies twice", is)
			seen[is] = true
		}
		require.Len(t, seen, 6)
		all, err := c.Faultable()
		require.NoError(t, err)
		c.FaultCount = len(all)
		require.ErrorContains(t, c.Validate(t.Context()), "too many", "with the named one there are not so many left")
		c.Faults = append(c.Faults, named)
		c.FaultCount = 0
		require.ErrorContains(t, c.Validate(t.Context()), "dies twice")
	}
}

// A run that a bound ends before the last fault counts those that it has seen.
func TestOnlyWhatHasDiedIsCounted(t *testing.T) {
	t.Parallel()
	for _, routing := range []string{"deterministic-link", DDRC} {
		c := config(t, "kary-ntree:2,2", routing, 0.5)
		c.Warmup.Skip = true
		c.Faults = []Fault{{Link: "s0.0-s1.0", At: 100}, {Link: "s0.1-s1.0", At: 900}}
		c.MostCycles = 500
		r := measured(t, c)
		require.Equal(t, 1, r.Faults, routing)
		require.InDelta(t, float64(r.LostTotal), r.LostPerFault, 1e-9, routing)
		require.False(t, r.Connected, "%s: with all faults there", routing)
	}
}

// A warm-up ends with a batch, and the window that follows is as long as it is to be.
func TestANetworkThatIsNeverSteadyHasItsWholeWindow(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,2", "updown", 0.5)
	c.FaultCount, c.Window = 1, 2000
	c.Warmup = Warmup{Batch: 400, Most: 900, Batches: 100}
	r := measured(t, c)
	require.False(t, r.Stable)
	require.EqualValues(t, 2000, r.Cycles-r.WarmupCycles)
}

// In a part of the window in which nothing is delivered latency is not zero: it is not known.
func TestPartsOfTheWindowWithoutPacketsSayNothingAboutLatency(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,2", "updown", 0.004)
	c.Traffic.Arrivals.Process = nic.Periodic
	c.Window, c.Warmup.Skip = 500, true
	r := measured(t, c)
	require.Positive(t, r.Accepted)
	require.InDelta(t, r.LatencyMax, r.LatencyMean, 1e-3, "no packet waits")
	require.InDelta(t, 0, r.LatencyHalfWidth, 1e-3)
}

// Few NICs that offer more than their destination takes fill their send queues as surely as many.
func TestAFewSendersSaturateToo(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:4,3", "updown", 0.8)
	c.Traffic.Pattern, c.Traffic.From = "incast", 2
	r := measured(t, c)
	require.True(t, r.Saturated)
	require.True(t, r.Stable, "it is as steady as it gets")
	require.Less(t, r.WarmupCycles, int64(4000))
}

// Latencies are as exact in short cycles as in long ones.
func TestPercentilesDoNotDependOnHowLongACycleIs(t *testing.T) {
	t.Parallel()
	want := measured(t, config(t, "kary-ntree:2,3", "updown", 0.5))
	c := config(t, "kary-ntree:2,3", "updown", 0.5)
	c.Cycle = weft.Nanosecond / 2
	got := measured(t, c)
	for i, p := range [][2]float64{
		{want.LatencyP50, got.LatencyP50},
		{want.LatencyP95, got.LatencyP95},
		{want.LatencyP99, got.LatencyP99},
		{want.NetworkLatencyP50, got.NetworkLatencyP50},
		{want.NetworkLatencyP99, got.NetworkLatencyP99},
	} {
		require.InEpsilon(t, p[0], p[1], 0.02, "percentile %d", i)
	}
}

// asked is a context that counts how often somebody asks whether it is over.
type asked struct {
	context.Context
	n atomic.Int64
}

func (a *asked) Err() error {
	a.n.Add(1)
	return a.Context.Err()
}

// In a large network a thousand cycles take a minute: whoever interrupts it does not wait so long.
func TestAnInterruptIsHeardWithinAHundredCycles(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,2", "updown", 0.1)
	c.Window, c.Warmup.Skip = 10_000, true
	ctx := &asked{Context: t.Context()}
	_, err := Run(ctx, c)
	require.NoError(t, err)
	require.GreaterOrEqual(t, ctx.n.Load(), int64(100))
}

func TestAHuntLastsAsLongAsItIsToInAll(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,2", "deterministic-link", 0.3)
	c.Hunt, c.MostCycles, c.FaultCount, c.FaultSpacing = true, 4000, 2, 300
	r := measured(t, c)
	require.EqualValues(t, 4000, r.Cycles)
	require.EqualValues(t, 2300, r.WarmupCycles, "the first warm-up, and the faults")
	require.Positive(t, r.Accepted)
}
