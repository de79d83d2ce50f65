package sweep

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/measure"
)

// A clock that goes on by what each run takes: 5 ms and 10 µs a cycle.
func TestTheEstimateIsOfWholeRunsFromTheirBeginnings(t *testing.T) {
	t.Parallel()
	const fixed, each = 5 * time.Millisecond, 10 * time.Microsecond
	clock, runs := time.Duration(0), 0
	o := Options{Jobs: 1, cpu: func() time.Duration { return clock }}
	o.Runner = func(_ context.Context, c measure.Config) (measure.Result, error) {
		runs++
		require.LessOrEqual(t, c.MostCycles, trialCycles)
		clock += fixed + each*time.Duration(c.MostCycles)
		return measure.Result{Cycles: int64(c.MostCycles)}, nil
	}
	e := measured(t) // 2 routings, with no faults and with 2
	takes, err := e.Estimate(t.Context(), o)
	require.NoError(t, err)
	const cycles = 6*2*(1.3*200+300) + 6*2*(2*1.3*200+2*50+300)
	assert.InDelta(t, (24*fixed + cycles*each).Seconds(), takes.CPU.Seconds(), 0.01*takes.CPU.Seconds())
	assert.Equal(t, takes.CPU, takes.Wall, "one job")
	assert.Equal(t, 8, runs)

	o.Samples = 60
	ten, err := e.Estimate(t.Context(), o)
	require.NoError(t, err)
	assert.InDelta(t, 10*takes.CPU.Seconds(), ten.CPU.Seconds(), 0.01*ten.CPU.Seconds())

	where, err := ParseWhere([]string{"faults=0", "routing=adaptive-link"})
	require.NoError(t, err)
	o.Where = where
	part, err := e.Estimate(t.Context(), o)
	require.NoError(t, err)
	assert.Less(t, part.CPU, ten.CPU/4, "one point of four, and a cheap one")

	o.Runner = func(context.Context, measure.Config) (measure.Result, error) {
		return measure.Result{}, context.Canceled
	}
	_, err = e.Estimate(t.Context(), o)
	require.ErrorIs(t, err, context.Canceled)
}

// The window begins when what is computed without the last fault is in force.
func TestAReconfigurationTakesItsTime(t *testing.T) {
	t.Parallel()
	c := measure.Config{FaultCount: 2, FaultSpacing: 50, Window: 300}
	at, without := cyclesOf(&c, ofNetwork), c
	without.FaultCount = 0
	none := cyclesOf(&without, ofNetwork)
	c.ReconfigureAfter, without.ReconfigureAfter = 1000, 1000
	assert.InDelta(t, at+1000, cyclesOf(&c, ofNetwork), 0)
	assert.InDelta(t, none, cyclesOf(&without, ofNetwork), 0, "nothing is reconfigured")
}

// A saturated torus is steady after 14,000 cycles, of which a trial sees 3,000.
func TestARunLastsLongerWhereItsTrialWasNotSteady(t *testing.T) {
	t.Parallel()
	c := measure.Config{Window: 2000, Warmup: measure.Warmup{Batch: 500, Batches: 4, Most: 12_000}}
	for name, of := range map[string]struct {
		change func(c *measure.Config)
		trial  measure.Result
		cycles float64
	}{
		"steady":                 {func(*measure.Config) {}, measure.Result{Stable: true}, 4600},
		"not steady":             {func(*measure.Config) {}, measure.Result{}, 8000},
		"no warm-up":             {func(c *measure.Config) { c.Warmup.Skip = true }, measure.Result{}, 2000},
		"ends before":            {func(c *measure.Config) { c.MostCycles = 7000 }, measure.Result{}, 7000},
		"deadlock":               {func(*measure.Config) {}, measure.Result{Deadlocked: true, Cycles: 1000}, 1000},
		"dead from the start":    {func(c *measure.Config) { c.FaultsBefore = true }, measure.Result{Faults: 2}, 8000},
		"not steady, two to die": {func(c *measure.Config) { c.FaultCount = 2 }, measure.Result{}, 14_000},
		"steady, one has died":   {func(c *measure.Config) { c.FaultCount = 2 }, measure.Result{Faults: 1}, 7200},
	} {
		c := c
		of.change(&c)
		assert.InDelta(t, of.cycles, cyclesOf(&c, ofNetwork)*lastsOf(&c, &of.trial), 1e-6, name)
	}
}
