package scenario_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// judged runs a scenario and returns which expectations broke.
func judged(t *testing.T, text string) scenario.Result {
	t.Helper()
	r, err := run(t, t.Context(), load(t, text), nil)
	require.NoError(t, err)
	return r
}

// In virtual time, where no machine is too busy to say hello: that silence is found out live too,
// other tests and shipped scenarios show.
func TestASilentCutIsDetectedByBothEndsInTimeOrTheScenarioFails(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	const cut = "\nduration: 3500ms\ntimeline: [{at: 50ms, cut: s0.00-s1.00, silent: true}, {at: 60ms, cut: " +
		"s0.11-s1.11, silent: true, direction: to}, {at: 3400ms, heal: true}]\n"
	r, _ := virtually(t, load(t, cut+"liveness: {interval: 100ms, multiplier: 5}\nexpect: {detected_within: 3s, "+
		"no_false_detection: true, lost_at_least: 1}\n"))
	assert.True(t, r.Pass, "%v", r.Failed)
	assert.Len(t, r.Faults[0].Detected, 2)

	r, _ = virtually(t, load(t, cut+"liveness: {interval: 20s}\nexpect: {detected_within: 3s}\n"))
	assert.Equal(t, []string{"detected_within"}, r.Broken)
	assert.Len(t, r.Failed, 2)
	assert.Contains(t, r.Failed[0], "detected_within 3s: cut s0.00-s1.00 silently at ")
	assert.Contains(t, r.Failed[0], ": 0 of 2 ends found out within it")
}

// Whatever is expected: the packet is discarded, and more packets could be.
func TestAFirmwareThatFailsFailsTheScenario(t *testing.T) {
	t.Parallel()
	route := func(*weft.Header, switching.Arrival, switching.View) switching.Decision { panic("my mistake") }
	s, err := scenario.Load(t.Context(), "fails.yaml", []byte(`
name: fails
topology: ring:4
routing: panics
duration: 1ms
timeline: [{at: 0s, send: {from: n0, to: n2}}]
expect: {discarded: 1}
`), switching.Firmware{Name: "panics", Route: route})
	require.NoError(t, err)
	r, _ := virtually(t, s)
	assert.Equal(t, []string{"firmware"}, r.Broken)
	require.Len(t, r.Failed, 1)
	assert.Regexp(t, "^at s0 the firmware failed on packet 0 of n0 to n2, which is discarded: my mistake; "+
		"ask it again: fabricd explain .* --routing 'panics' --switch s0 ", r.Failed[0])
}

func TestACutThatIsShorterThanTheTimeGivenNeedNotBeDetected(t *testing.T) {
	t.Parallel()
	r := judged(t, `
duration: 200ms
liveness: {interval: 20s}
timeline: [{at: 50ms, cut: s0.00-s1.00, silent: true, for: 50ms}]
expect: {detected_within: 500ms}
`)
	assert.True(t, r.Pass, "%v", r.Failed)
}

func TestReportsAreClosedAndTheyAndTheirNumbersAreInTheResult(t *testing.T) {
	t.Parallel()
	r := judged(t, `
duration: 300ms
timeline:
  - {at: 50ms, crash: s1.00, for: 100ms}
  - {at: 50ms, cut: s0.11-s1.11}
expect: {no_false_detection: true, duplicated: 0}
`)
	assert.True(t, r.Pass, "%v", r.Failed)
	require.Len(t, r.Faults, 2)
	assert.False(t, r.Faults[0].Open, "it was repaired")
	assert.True(t, r.Faults[1].Open, "it lasts")
	assert.Equal(t, []string{}, r.Broken)
}

func TestTooFewAndTooManyAreNamed(t *testing.T) {
	t.Parallel()
	r, _ := virtually(t, load(t, `
duration: 100ms
liveness: {interval: 50ms, multiplier: 50}
timeline: [{at: 20ms, impair: s0.00-s1.00, loss: 50%}]
expect: {lost_at_most: 0, reroutes_at_least: 1000000, delivered_at_least: 1000000, all_pairs_connected: false}
`))
	assert.Equal(t, []string{"lost_at_most", "reroutes_at_least", "delivered_at_least"}, r.Broken)
	assert.Regexp(t, `^lost_at_most 0: the fabric lost \d+ packets?\n`+
		`reroutes_at_least 1000000: there were \d+\ndelivered_at_least 1000000: \d+ were delivered$`,
		strings.Join(r.Failed, "\n"))
	r = judged(t, "\nduration: 100ms\nexpect: {lost_at_least: 1}\n")
	assert.Equal(t, []string{"lost_at_least 1: 0 were lost"}, r.Failed)
}

// Fewer packets because fewer are sent is no fault's doing: that would never be made good.
// In virtual time, where the machine is never too busy to carry as much as before.
func TestADegradationEndsWhereTheTrafficChanges(t *testing.T) {
	t.Parallel()
	r, _ := virtually(t, load(t, `
duration: 1200ms
timeline:
  - {at: 500ms, impair: s0.00-s1.00, delay: 1us}
  - {at: 800ms, traffic: none}
expect: {}
`))
	degradation := r.Faults[0].Degradation
	assert.Positive(t, degradation.Baseline)
	assert.False(t, degradation.Found && degradation.MadeGoodAfter == nil, "%v", degradation)
}

func TestARestoredLinkThatDampingHoldsDownIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r, _ := virtually(t, load(t, `
duration: 400ms
liveness: {interval: 10s, damping: {half_life: 10s, suppress: 1.5, reuse: 1, max: 20s}}
timeline:
  - {at: 50ms, cut: s0.00-s1.00}
  - {at: 100ms, restore: s0.00-s1.00}
  - {at: 150ms, cut: s0.00-s1.00}
  - {at: 200ms, restore: s0.00-s1.00}
expect: {lost_only_at_faults: true}
`))
	assert.True(t, r.Pass, "%v", r.Failed)
	assert.Less(t, r.VirtualSeconds, 8.0, "restoring gives up after 10 s")
}
