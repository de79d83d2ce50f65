package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/harness/virtual/world"
)

const tenFaults = `
name: ten
about: One of ten faults matters.
topology: kary-ntree:2,3
routing: updown
switch: {input_buffer: 3}
liveness: {interval: off}
link: {rate: 1000000}
traffic: uniform:0.3
duration: 400ms
timeline:
  - {at: 50ms, impair: [s0.00-s1.00, s0.01-s1.01, n000-s2.00], delay: 1ms, jitter: 1ms}
  - {at: 60ms, impair: s0.10-s1.00, rate: 500kB/s}
  - {at: 70ms, impair: s1.00-s2.00, direction: to, loss: 1%, for: 100ms}
  - {at: 80ms, cut: s0.10-s1.10, for: 200ms}
  - {at: 80ms, impair: s1.01-s2.01, delay: 2ms}
  - {at: 100ms, impair: [s1.10-s2.10, s1.11-s2.11], loss: 2%}
  - {at: 150ms, impair: s0.11-s1.11, delay: 1ms}
  - {at: 350ms, heal: true}
expect:
  discarded: 0
  lost_only_at_faults: false
  delivered_at_least: 10
`

func parseFile(t *testing.T, text string) format.File {
	t.Helper()
	_, f, err := document.Load[format.File]("test.yaml", []byte(text))
	require.NoError(t, err)
	return f
}

// virtual runs a scenario in virtual time. Live, on a busy machine, a run of 400 ms may cross no
// link while it is cut.
func virtual(ctx context.Context, s *scenario.Scenario) (scenario.Result, error) {
	return scenario.Runner{Runtime: func() fabric.Runtime { return world.New() }}.Run(ctx, s)
}

func TestOfTenFaultsTheOneThatMattersIsLeft(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	var told []scenario.ShrinkProgress
	o, err := scenario.Shrinker{
		Run: virtual, Tries: 1,
		Progress: func(p scenario.ShrinkProgress) { told = append(told, p) },
	}.Shrink(t.Context(), parseFile(t, tenFaults))
	require.NoError(t, err)
	assert.Empty(t, o.Stopped)
	require.Len(t, o.File.Timeline, 1, "fails: %q", o.Result.Failed)
	step := o.File.Timeline[0]
	step.At = ""
	assert.Equal(t, format.Step{Cut: format.Names{"s0.10-s1.10"}}, step, "and without its parameters")
	assert.Equal(t, format.Expect{Discarded: new(uint64(0))}, o.File.Expect)
	assert.Contains(t, o.Result.Failed[0], "discarded 0: ")
	assert.Zero(t, o.File.Switch)
	assert.Zero(t, o.File.Liveness)
	assert.NotEqual(t, "uniform:0.3", o.File.Traffic)
	assert.NotEmpty(t, o.File.Traffic)

	text, err := format.Write(o.File)
	require.NoError(t, err)
	_, err = scenario.Load(t.Context(), "again.yaml", text)
	require.NoError(t, err, "it is a scenario")
	assert.Equal(t, o.Runs, told[len(told)-1].Runs)
	assert.Equal(t, "as it is", told[0].Trial)
}

// pretend judges a scenario without running it: fails says which expectations break.
func pretend(fails func(s *scenario.Scenario) []string) func(context.Context, *scenario.Scenario) (scenario.Result,
	error) {
	return func(_ context.Context, s *scenario.Scenario) (scenario.Result, error) {
		broken := fails(s)
		return scenario.Result{Pass: len(broken) == 0, Broken: broken}, nil
	}
}

func faults(s *scenario.Scenario) (list []fault.Spec) {
	for _, a := range s.Timeline {
		list = append(list, a.Faults...)
	}
	return list
}

const flaps = `
name: flaps
topology: kary-ntree:2,3
routing: updown
traffic: uniform:0.64
duration: 8s
timeline:
  - {at: 1s, flap: [s0.00-s1.00, s0.01-s1.01], period: 100ms, duty: 30%, jitter: 5ms, silent: true, count: 3}
  - {at: 2s, traffic: "uniform:0.2"}
  - {at: 4s, crash: s0.00, for: 1s}
  - {at: 6s, heal: true}
expect: {discarded: 0, in_order: true, lost_at_most: 0}
`

func TestParametersTrafficAndTimeShrinkAsFarAsItStillFails(t *testing.T) {
	t.Parallel()
	o, err := scenario.Shrinker{Run: pretend(func(s *scenario.Scenario) []string {
		flapping, loaded := false, s.Options.Traffic.Load >= 0.1
		for _, f := range faults(s) {
			flapping = flapping || f.Do == fault.VerbFlap && f.Silent && f.A == "s0.01-s1.01"
		}
		if flapping && loaded && s.Duration >= 500*time.Millisecond {
			return []string{"in_order"}
		}
		return nil
	})}.Shrink(t.Context(), parseFile(t, flaps))
	require.NoError(t, err)
	want := parseFile(t, strings.Split(flaps, "traffic:")[0]+`
traffic: uniform:0.16
duration: 500ms
timeline: [{at: 125ms, flap: s0.01-s1.01, period: 100ms, silent: true}]
expect: {in_order: true}
`)
	assert.Less(t, o.File.Duration.Time(), time.Second)
	want.Duration, want.Timeline[0].At = o.File.Duration, o.File.Timeline[0].At
	assert.Equal(t, want, o.File)
}

func TestACandidateFailsOnlyOnWhatTheOriginalFailedOn(t *testing.T) {
	t.Parallel()
	o, err := scenario.Shrinker{Run: pretend(func(s *scenario.Scenario) []string {
		if len(faults(s)) == 4 {
			return []string{"discarded"}
		}
		return []string{"in_order", "ledger"}
	})}.Shrink(t.Context(), parseFile(t, flaps))
	require.NoError(t, err)
	assert.Len(t, o.File.Timeline, 4, "all faults, but not the traffic")
	assert.Equal(t, []string{"discarded"}, o.Result.Broken)
}

func TestOneFailureInSoManyTriesIsAFailure(t *testing.T) {
	t.Parallel()
	runs := 0
	seldom := func(s *scenario.Scenario) []string {
		if runs++; runs%3 == 0 && len(faults(s)) > 0 && faults(s)[len(faults(s))-1].Do == fault.VerbHeal {
			return []string{"discarded"}
		}
		return nil
	}
	o, err := scenario.Shrinker{Run: pretend(seldom), Tries: 3}.Shrink(t.Context(), parseFile(t, flaps))
	require.NoError(t, err)
	require.Len(t, o.File.Timeline, 1)
	assert.True(t, o.File.Timeline[0].Heal)
	assert.Equal(t, runs, o.Runs)

	runs = 0
	_, err = scenario.Shrinker{Run: pretend(seldom), Tries: 2}.Shrink(t.Context(), parseFile(t, flaps))
	require.ErrorIs(t, err, scenario.ErrPasses)
	assert.ErrorContains(t, err, "in 2 runs")
}

func TestRunsAreBounded(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for most := 1; most < 30; most++ {
		runs := 0
		o, err := scenario.Shrinker{MaxRuns: most, Tries: 2, Run: pretend(func(s *scenario.Scenario) []string {
			runs++
			if len(faults(s)) > 1 {
				return []string{"discarded"}
			}
			return nil
		})}.Shrink(t.Context(), parseFile(t, flaps))
		require.NoError(t, err)
		assert.LessOrEqual(t, runs, most)
		assert.Equal(t, runs, o.Runs)
		if runs == most {
			assert.Equal(t, fmt.Sprintf("its %d runs are spent", most), o.Stopped)
		}
		assert.Greater(t, len(o.File.Timeline), 1-len(o.File.Timeline[0].Flap), "what it returns fails")
	}
}

func TestInterruptedItReturnsTheBestSoFar(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	o, err := scenario.Shrinker{Run: func(ctx context.Context, s *scenario.Scenario) (scenario.Result, error) {
		if runs++; runs == 4 {
			cancel()
			return scenario.Result{}, ctx.Err()
		}
		return scenario.Result{Broken: []string{"discarded"}}, nil
	}}.Shrink(ctx, parseFile(t, flaps))
	require.NoError(t, err)
	assert.Equal(t, "interrupted", o.Stopped)
	assert.Equal(t, 4, runs)
	assert.Nil(t, o.File.Expect.LostAtMost, "the first reduction is kept")

	o, err = scenario.Shrinker{
		Budget: time.Millisecond,
		Run: func(ctx context.Context, s *scenario.Scenario) (scenario.Result, error) {
			<-ctx.Done()
			return scenario.Result{Broken: []string{"discarded"}}, nil
		},
	}.Shrink(t.Context(), parseFile(t, flaps))
	require.NoError(t, err)
	assert.Equal(t, "its budget of 1ms is spent", o.Stopped)
}

func TestWhatCannotBeShrunkSaysWhy(t *testing.T) {
	t.Parallel()
	_,
		err := scenario.Shrinker{Run: pretend(func(*scenario.Scenario) []string {
		return []string{"reroutes_at_least"}
	})}.Shrink(t.Context(), parseFile(t, flaps))
	require.ErrorContains(t, err,
		"it fails reroutes_at_least alone: with fewer faults or less traffic that fails all the more")
	broken := errors.New("no fabric")
	_, err = scenario.Shrinker{Run: func(context.Context, *scenario.Scenario) (scenario.Result, error) {
		return scenario.Result{}, broken
	}}.Shrink(t.Context(), parseFile(t, flaps))
	require.ErrorIs(t, err, broken)
	f := parseFile(t, flaps)
	f.Topology = "nothing"
	_, err = scenario.Shrinker{Run: virtual}.Shrink(t.Context(), f)
	require.ErrorContains(t, err, `unknown topology "nothing"`)
}

func TestTooFewDeliveredKeepsTrafficAndTime(t *testing.T) {
	t.Parallel()
	o, err := scenario.Shrinker{Run: pretend(func(s *scenario.Scenario) []string {
		for _, f := range faults(s) {
			if f.Do == fault.VerbCrash {
				return []string{"delivered_at_least"}
			}
		}
		return nil
	})}.Shrink(t.Context(), parseFile(t, flaps))
	require.NoError(t, err)
	assert.Equal(t, format.Duration("8s"), o.File.Duration)
	assert.Equal(t, "uniform:0.64", o.File.Traffic)
	assert.Equal(t, []format.Step{{At: "4s", Crash: format.Names{"s0.00"}}}, o.File.Timeline)
}
