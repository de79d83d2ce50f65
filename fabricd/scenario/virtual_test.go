package scenario_test

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/virtual/world"
)

// virtually runs a scenario in virtual time, and returns its event stream too.
func virtually(t *testing.T, s *scenario.Scenario) (scenario.Result, []fabric.Event) {
	t.Helper()
	var f *fabric.Fabric
	r, err := scenario.Runner{
		Runtime:  func() fabric.Runtime { return world.New() },
		Progress: func(now *fabric.Fabric, _ time.Duration, _ string) { f = now },
	}.Run(t.Context(), s)
	require.NoError(t, err)
	require.NotNil(t, f)
	return r, f.Events().Since(0)
}

func TestShippedScenariosHoldInVirtualTime(t *testing.T) {
	t.Parallel()
	every := testenv.N(1, 10) // a goroutine alone has no races, and takes twenty times as long to be told so
	for i, path := range shipped(t) {
		if i%every != 3%every {
			continue
		}
		s := read(t, path)
		if s.OpenSM || len(s.Programs) > 0 {
			continue // they run by the clock of the machine: TestOpenSMManagesAScenario, and TestAScenarioStartsPrograms of cli
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			r, _ := virtually(t, s)
			assert.True(t, r.Pass, "%v", r.Failed)
			assert.GreaterOrEqual(t, r.VirtualSeconds, s.Duration.Seconds())
			assert.NotEmpty(t, r.EventHash)
			if s.Expect.DetectedWithin == "" {
				return
			}
			// Live, a busy machine gets longer.
			detector := s.Options.Liveness.Detector()
			within := (detector.Interval * weft.Time(detector.Multiplier+1)).Duration()
			for _, f := range r.Faults {
				for _, d := range f.Detected {
					assert.LessOrEqual(t, d.AfterSeconds, within.Seconds(), f.What)
				}
			}
		})
	}
}

// everything is all that can happen in a scenario, with all that is drawn: traffic, routes, losses,
// jitter, flaps.
const everything = `
name: everything
topology: kary-ntree:4,2
routing: adaptive-link
switch: {selection: random}
nic: {notices: 20ms}
liveness: {interval: 5ms, multiplier: 3, damping: {half_life: 50ms, suppress: 3, reuse: 1, max: 100ms}}
traffic: uniform:0.5
duration: 500ms
timeline:
  - {at: 20ms, cut: s0.0-s1.0, for: 100ms}
  - {at: 30ms, cut: s0.1-s1.1, silent: true, direction: to, for: 50ms}
  - {at: 40ms, flap: s0.2-s1.2, period: 10ms, jitter: 2ms, for: 100ms}
  - {at: 50ms, impair: s0.3-s1.3, loss: 40%, delay: 1ms, jitter: 500us}
  - {at: 60ms, crash: s0.2, for: 80ms}
  - {at: 70ms, cut: [n00-s1.0, s0.0-s1.1]}
  - {at: 80ms, send: {from: n01, to: n33, count: 20}}
  - {at: 90ms, traffic: pairwise:0.7}
  - {at: 200ms, restore: n00-s1.0}
  - {at: 300ms, heal: true}
expect: {}
`

// fingerprint is all there is to see of a run in virtual time, but how long it took.
func fingerprint(t *testing.T, s *scenario.Scenario) string {
	t.Helper()
	r, events := virtually(t, s)
	r.Seconds = 0
	data, err := json.Marshal(map[string]any{"result": r, "events": events})
	require.NoError(t, err)
	return string(data)
}

// Not parallel: it changes on how many cores everything runs.
func TestTheSameSeedIsTheSameRunOnOneCoreAndOnTwo(t *testing.T) {
	testenv.Unraced(t)
	s, err := scenario.Load(t.Context(), "test.yaml", []byte(everything))
	require.NoError(t, err)
	first, events := virtually(t, s)
	require.Positive(t, first.Ledger.LostWire)
	require.Positive(t, first.Ledger.LostCrash+first.Ledger.Discarded)
	require.Positive(t, first.Totals.Withheld, "of notices")
	require.Greater(t, len(events), 50)
	want := fingerprint(t, s)
	require.Contains(t, want, `"event_hash":"`+first.EventHash)
	for _, cores := range []int{1, 2} {
		was := runtime.GOMAXPROCS(cores)
		got := fingerprint(t, s)
		runtime.GOMAXPROCS(was)
		require.Equal(t, want, got, "on %d", cores)
	}
	s.Options.Seed = 2
	r, _ := virtually(t, s)
	require.NotEqual(t, first.EventHash, r.EventHash, "another seed is another run")
}

func TestWhatBlockedPacketsWaitForIsUpToTheScenario(t *testing.T) {
	t.Parallel()
	hash := func(settings string) string {
		s, err := scenario.Load(t.Context(), "test.yaml",
			[]byte("name: test\ntopology: kary-ntree:2,3\nrouting: adaptive-link\nduration: 200ms\ntraffic: uniform:1\n"+
				"link: {paced: true}\nswitch: {"+settings+"}\nexpect: {}\n"))
		require.NoError(t, err)
		r, _ := virtually(t, s)
		return r.EventHash
	}
	all := hash("waiting: all")
	require.Equal(t, all, hash("input_buffer: 2"), "unless given")
	require.NotEqual(t, all, hash("waiting: one"))
}
