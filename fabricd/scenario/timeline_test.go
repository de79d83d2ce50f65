package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/harness/testenv"
)

// head is a scenario up to its timeline.
const head = `
name: short
topology: kary-ntree:2,3
routing: adaptive-link
traffic: uniform:0.5
`

// load reads head and the rest. Unless the rest has it there is no liveness: many tests at once are
// more than two cores can bear, and ends then take each other for dead.
func load(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	if !strings.Contains(text, "liveness:") {
		text = "liveness: {interval: off}\n" + text
	}
	s, err := scenario.Load(t.Context(), "test.yaml", []byte(head+text))
	require.NoError(t, err)
	return s
}

func TestEveryStepIsTheOrderThatItNames(t *testing.T) {
	t.Parallel()
	const link = "s0.00-s1.00"
	zero := fault.Impair{
		Loss: new(fault.Percent), Delay: new(fault.Duration), Jitter: new(fault.Duration),
		Rate: new(fault.Rate),
	}
	some := zero
	some.Loss = new(fault.Percent(5))
	for step, want := range map[string][]fault.Spec{
		"cut: s0.00-s1.00": {{Do: fault.VerbCut, A: link}},
		"cut: s1.00-s0.00, silent: true, for: 2s": {{
			Do: fault.VerbCut, A: link, Silent: true,
			For: fault.Duration(2 * time.Second),
		}},
		"cut: s0.00-s1.00, direction: to":   {{Do: fault.VerbCut, A: link, Direction: fault.To}},
		"cut: s1.00-s0.00, direction: to":   {{Do: fault.VerbCut, A: link, Direction: fault.From}},
		"cut: s1.00-s0.00, direction: from": {{Do: fault.VerbCut, A: link, Direction: fault.To}},
		"cut: s1.00-s0.00, direction: both": {{Do: fault.VerbCut, A: link, Direction: fault.Both}},
		"cut: [s0.00-s1.00, s2.00-n000]": {
			{Do: fault.VerbCut, A: link},
			{Do: fault.VerbCut, A: "s2.00-n000"},
		},
		"flap: s0.00-s1.00, period: 1s": {{
			Do: fault.VerbFlap, A: link,
			Flap: &fault.Flap{Period: fault.Duration(time.Second)},
		}},
		"impair: s0.00-s1.00, loss: 10%": {{
			Do: fault.VerbImpair, A: link,
			Impair: &fault.Impair{Loss: new(fault.Percent(10))},
		}},
		"impair: s0.00-s1.00, rate: 100kB/s": {{
			Do: fault.VerbImpair, A: link,
			Impair: &fault.Impair{Rate: new(fault.Rate(100_000))},
		}},
		"impair: s0.00-s1.00, clear: true":           {{Do: fault.VerbImpair, A: link, Impair: &zero}},
		"impair: s0.00-s1.00, clear: true, loss: 5%": {{Do: fault.VerbImpair, A: link, Impair: &some}},
		"crash: s1.00, for: 5s": {{
			Do: fault.VerbCrash, A: "s1.00",
			For: fault.Duration(5 * time.Second),
		}},
		"restore: [s1.00, s0.00-s1.00]": {
			{Do: fault.VerbRestore, A: "s1.00"},
			{Do: fault.VerbRestore, A: link},
		},
		"restore: s0.00-s1.00, direction: from": {{Do: fault.VerbRestore, A: link, Direction: fault.From}},
		"restart: s1.00":                        {{Do: fault.VerbRestart, A: "s1.00"}},
		"heal: true":                            {{Do: fault.VerbHeal}},
		"impair: s0.00-s1.00, delay: 5ms, jitter: 1ms": {{
			Do: fault.VerbImpair, A: link,
			Impair: &fault.Impair{
				Delay:  new(fault.Duration(5 * time.Millisecond)),
				Jitter: new(fault.Duration(time.Millisecond)),
			},
		}},
		"flap: s0.00-s1.00, period: 1s, duty: 30%, count: 2": {{
			Do: fault.VerbFlap, A: link,
			Flap: &fault.Flap{Period: fault.Duration(time.Second), Duty: new(fault.Percent(30)), Count: 2},
		}},
	} {
		s := load(t, "duration: 10s\ntimeline:\n  - {at: 1s, "+step+"}\nexpect: {}\n")
		assert.Equal(t, want, s.Timeline[0].Faults, step)
		assert.Nil(t, s.Timeline[0].Traffic, step)
		for _, spec := range s.Timeline[0].Faults {
			assert.NoError(t, spec.Validate(), step)
		}
	}
}

func TestAStepIsPrintedAsOneLine(t *testing.T) {
	t.Parallel()
	s := load(t, `
duration: 10s
timeline:
  - {at: 1s, cut: [s1.00-s0.00, s0.01-s1.01], silent: true, for: 2s}
  - {at: 1s, cut: s1.00-s0.00, direction: to}
  - {at: 1s, impair: s0.00-s1.00, loss: 10%}
expect: {}
`)
	assert.Equal(t, "cut s0.00-s1.00, s0.01-s1.01 silently, for 2s", s.Timeline[0].Text)
	assert.Equal(t, "cut s0.00-s1.00, s1.00 to s0.00", s.Timeline[1].Text)
	assert.Equal(t, "impair s0.00-s1.00, loss 10%", s.Timeline[2].Text)
}

func TestStepsOfOneTimeHappenAtOneInstant(t *testing.T) {
	t.Parallel()
	s := load(t, `
duration: 150ms
timeline:
  - {at: 50ms, cut: [s0.00-s1.00, s0.01-s1.01]}
  - {at: 50ms, crash: s0.11}
  - {at: 50ms, traffic: none}
  - {at: 50ms, cut: s2.00-n000}
  - {at: 100ms, restore: s0.00-s1.00}
  - {at: 100ms, heal: true}
expect: {}
`)
	var down []int
	r, err := run(t, t.Context(), s, func(f *fabric.Fabric, _ time.Duration, step string) {
		if step != "" {
			down = append(down, len(f.LinksDown()))
		}
	})
	require.NoError(t, err)
	assert.True(t, r.Pass, "%v", r.Failed)
	assert.Equal(t, []int{4, 4, 4, 5, 0, 0}, down,
		"both steps of faults are told of when both are done; traffic and what follows it are steps of their own")
	assert.Len(t, r.Faults, 4)
}

func TestAStepThatTheFabricRefusesSaysWhichAndNothingOfItsInstantIsDone(t *testing.T) {
	t.Parallel()
	s := load(t, `
duration: 100ms
liveness: {interval: 50ms}
timeline:
  - {at: 10ms, cut: s0.01-s1.01}
  - {at: 10ms, impair: s0.00-s1.00, rate: 1B/s}
expect: {}
`)
	_, err := run(t, t.Context(), s, nil)
	require.ErrorContains(t, err, "at 10ms: impair s0.00-s1.00, rate 1 B/s: a packet of 256 bytes would take ")
}

func TestLivenessAndRequeueAreOptionsOfTheFabric(t *testing.T) {
	t.Parallel()
	s := load(t, "duration: 1s\nexpect: {}\nliveness: {interval: 20ms, multiplier: 5, damping: {half_life: 1s, "+
		"suppress: 2.5, reuse: 1, max: 10s}}\n")
	c := s.Options.Liveness.Detector()
	assert.Equal(t, 20*time.Millisecond, c.Interval.Duration())
	assert.Equal(t, 5, c.Multiplier)
	assert.Equal(t, time.Second, c.Damping.HalfLife.Duration())
	assert.Equal(t, 10*time.Second, c.Damping.Max.Duration())
	assert.InDelta(t, 2.5, c.Damping.Suppress, 0)
	assert.False(t, s.Options.Liveness.Interval.Off())
	for _, off := range []string{"off", "0", "0s"} {
		s := load(t, "duration: 1s\nexpect: {}\nliveness: {interval: "+off+"}\n")
		assert.True(t, s.Options.Liveness.Interval.Off(), off)
	}
	s = load(t, "duration: 1s\nexpect: {}\nliveness: {multiplier: 4}\n")
	assert.Zero(t, s.Options.Liveness.Interval, "the fabric's own")
	assert.Equal(t, 4, s.Options.Liveness.Multiplier)
}

func TestAScenarioIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for _, path := range append(shipped(t), files(t, "testdata/*.yaml")...) {
		f := read(t, path).File
		text, err := format.Write(f)
		require.NoError(t, err)
		again := filepath.Join(t.TempDir(), "again.yaml")
		require.NoError(t, os.WriteFile(again, text, 0o600))
		assert.Equal(t, f, read(t, again).File, path)
	}
}

func TestTheSettingsOfAScenarioAreSavedAndReadAgain(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for _, path := range append(shipped(t), files(t, "testdata/*.yaml")...) {
		f := read(t, path).File
		saved := f
		saved.Settings = f.Settings.Short()
		text, err := format.Write(saved)
		require.NoError(t, err)
		s, err := scenario.Load(t.Context(), "saved.yaml", text)
		require.NoError(t, err, string(text))
		_, g, err := document.Load[format.FabricFile]("saved.yaml", text)
		require.NoError(t, err, string(text))
		require.True(t, g.Settings.Filled() == f.Settings.Filled(), "%s: %s", path, text)
		want := read(t, path).Options
		require.Equal(t, want.Switch, s.Options.Switch, path)
		require.Equal(t, want.NIC, s.Options.NIC, path)
		require.Equal(t, want.Link, s.Options.Link, path)
		require.Equal(t, want.Liveness, s.Options.Liveness, path)
		require.Equal(t, want.Traffic, s.Options.Traffic, path)
		require.Equal(t, want.Seed, s.Options.Seed, path)
	}
}
