package scenario_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a scenario over links in memory.
func run(t *testing.T, ctx context.Context, s *scenario.Scenario,
	progress func(f *fabric.Fabric, at time.Duration, step string),
) (scenario.Result, error) {
	t.Helper()
	m := wire.NewMemory()
	defer m.Close()
	return scenario.Runner{Transport: m, Progress: progress}.Run(ctx, s)
}

func read(t *testing.T, path string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Read(t.Context(), path)
	require.NoError(t, err)
	return s
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, list, pattern)
	return list
}

// shipped are the scenarios that come with Weft.
func shipped(t *testing.T) []string {
	t.Helper()
	return slices.Concat(files(t, "../../scenarios/*.yaml"), files(t, "../../scenarios/faults/*.yaml"),
		files(t, "../../scenarios/opensm/*.yaml"), files(t, "../../scenarios/programs/*.yaml"))
}

func TestShippedScenariosAreValid(t *testing.T) {
	t.Parallel()
	for _, path := range shipped(t) {
		s := read(t, path)
		assert.Equal(t, strings.TrimSuffix(filepath.Base(path), ".yaml"), s.Name)
		assert.NotEmpty(t, s.About, s.Name)
	}
}

func TestTheShortCopiesClaimWhatTheShippedScenariosDo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"heal", "heal-deterministic"} {
		short, shipped := read(t, "testdata/short-"+name+".yaml"), read(t, "../../scenarios/"+name+".yaml")
		require.Len(t, short.Timeline, len(shipped.Timeline))
		for i, a := range shipped.Timeline {
			assert.Equal(t, a.Text, short.Timeline[i].Text)
			assert.Equal(t, a.At/10, short.Timeline[i].At)
		}
		assert.Equal(t, shipped.Routing, short.Routing)
		assert.Equal(t, shipped.Options.Traffic, short.Options.Traffic)
		want := shipped.Expect
		want.DeliveredAtLeast /= 10
		assert.Equal(t, want, short.Expect)
	}
}

func TestShippedScenariosPass(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, name := range []string{"heal", "heal-deterministic"}[:testenv.N(2, 1)] {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := read(t, "testdata/short-"+name+".yaml")
			s.Options.Liveness.Interval = "off" // a busy machine is too slow for the default
			r, err := run(t, t.Context(), s, nil)
			require.NoError(t, err)
			assert.True(t, r.Pass, "%v", r.Failed)
			assert.Empty(t, r.Failed)
			assert.NotNil(t, r.Failed, "an empty list in JSON, not null")
			assert.Len(t, r.Faults, 3)
			assert.True(t, r.Ledger.Balanced)
			assert.EqualValues(t, 1, r.SimSeed)
			assert.Equal(t, "short-"+name, r.Scenario)
		})
	}
}

func TestEveryVerbDoesWhatItSaysAtItsTime(t *testing.T) {
	t.Parallel()
	var steps []string
	var last time.Duration
	s := read(t, "testdata/every-verb.yaml")
	s.Options.Liveness.Interval = "off" // a busy machine is too slow for the default
	r, err := run(t, t.Context(), s, func(f *fabric.Fabric, at time.Duration, step string) {
		assert.GreaterOrEqual(t, at, last)
		last = at
		if step == "" {
			return
		}
		assert.GreaterOrEqual(t, at, s.Timeline[len(steps)].At, step)
		steps = append(steps, step)
		var down []string
		for _, l := range f.LinkStates() {
			if l.State != fabric.LinkUp {
				down = append(down, l.Link)
			}
		}
		switch step {
		case "cut s0.00-s1.00":
			assert.Equal(t, []string{"s0.00-s1.00"}, down)
		case "crash s1.00":
			assert.Len(t, down, 4)
		default:
			assert.Empty(t, down, step)
		}
	})
	require.NoError(t, err)
	assert.True(t, r.Pass, "%v", r.Failed)
	assert.Equal(t, []string{
		"send 2 packets n000 to n111", "traffic uniform:0.5", "cut s0.00-s1.00", "restore s0.00-s1.00", "crash s1.00",
		"restore s1.00", "cut s0.00-s1.00",
		"heal all", "traffic none",
	}, steps)
	assert.Len(t, r.Faults, 3)
	for _, f := range r.Faults {
		assert.Positive(t, f.RestoredAt, f.Target)
	}
}

func TestNoticesAreOnWhenAScenarioSaysSo(t *testing.T) {
	t.Parallel()
	r, _ := virtually(t, read(t, "testdata/notices.yaml"))
	assert.True(t, r.Pass, "%v", r.Failed)
	assert.NotZero(t, r.Ledger.Discarded)
	assert.NotZero(t, r.Totals.Notices)
	assert.NotZero(t, r.Totals.Withheld)
}

func TestEveryExpectationThatDoesNotHoldIsNamedInWords(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	s, err := scenario.Load(t.Context(), "fails.yaml", []byte(`
name: fails
topology: kary-ntree:2,3
routing: updown
link: {rate: 2560000}
traffic: uniform:0.5
duration: 100ms
timeline:
  - {at: 30ms, cut: s0.00-s1.00}
  - {at: 60ms, crash: s1.11}
expect:
  lost_at_most: 0
  discarded: 0
  lost_only_at_faults: true
  all_pairs_connected: true
  reroutes_at_least: 1000000
  delivered_at_least: 1000000
`))
	require.NoError(t, err)
	r, _ := virtually(t, s) // where packets come within 40 ms, however busy the machine is
	assert.False(t, r.Pass)
	all := strings.Join(r.Failed, "\n")
	for _, want := range []string{
		"all_pairs_connected: of 56 pairs ", "discarded 0: ", `by "2: the down link is dead"`,
		"lost_only_at_faults: ", "reroutes_at_least 1000000: there were ", "delivered_at_least 1000000: ",
	} {
		assert.Contains(t, all, want)
	}
	assert.True(t, r.Ledger.Balanced)
}

func TestAnInterruptedRunIsAnErrorAndLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := read(t, "../../scenarios/heal.yaml")
	_, err := run(t, ctx, s, func(*fabric.Fabric, time.Duration, string) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "interrupted")
}

func TestMalformedScenariosAreRefusedWithFileLineAndWhatWasExpected(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			s, err := scenario.Load(t.Context(), filepath.Base(path), data)
			require.Error(t, err)
			assert.Nil(t, s)
			golden := strings.TrimSuffix(path, ".yaml") + ".txt"
			if testenv.Update() {
				require.NoError(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
			}
			want, readErr := os.ReadFile(golden)
			require.NoError(t, readErr)
			assert.Equal(t, string(want), err.Error()+"\n")
			for line := range strings.Lines(err.Error()) {
				assert.Regexp(t, `^([a-z-]+\.yaml:\d+:\d+: |and \d+ more$)`, strings.TrimSuffix(line, "\n"))
			}
		})
	}
}

func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	_, err := scenario.Read(t.Context(), "testdata/none.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "testdata/none.yaml")
}

// That its routing is not computed then is no mistake of the file.
func TestAScenarioIsNotReadOnceItsContextHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := scenario.Load(ctx, "cut.yaml",
		[]byte("name: cut\ntopology: ring:4\nrouting: lash\nduration: 1s\nexpect: {}\n"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "cut.yaml is not read to its end")
	var at *document.Error
	require.False(t, errors.As(err, &at), "%v", err)
}

func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{
		"testdata/*.yaml", "testdata/bad/*.yaml", "../../scenarios/*.yaml",
		"../../scenarios/faults/*.yaml", "../../scenarios/opensm/*.yaml",
	} {
		list, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, path := range list {
			data, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scenario.Load(t.Context(), "fuzz.yaml", data)
		if (s == nil) == (err == nil) {
			t.Fatalf("a scenario %v and an error %v", s, err)
		}
		if e, ok := errors.AsType[*document.Error](err); ok && e.Pos.File != "fuzz.yaml" {
			t.Fatalf("%v is about %s", err, e.Pos.File)
		}
		if err == nil && (s.Options.Topology == nil || s.Options.Firmware.Route == nil) {
			t.Fatal("a scenario without topology or firmware is valid")
		}
	})
}
