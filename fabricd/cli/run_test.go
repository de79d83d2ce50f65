package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// quick has no liveness: many tests at once are more than two cores can bear, and ends then take
// each other for dead.
const quick = `
topology: kary-ntree:2,2
routing: updown
link: {rate: 1000000}
liveness: {interval: off}
traffic: uniform:0.3
duration: 150ms
`

// folder holds scenarios by name.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// three are a scenario that passes, one that fails and one that cannot be run.
func three(t *testing.T) string {
	return folder(t, map[string]string{
		"a-good.yaml": "name: a-good" + quick + "expect: {discarded: 0}\n",
		"b-bad.yml": "name: b-bad" + quick +
			"timeline: [{at: 50ms, cut: s0.0-s1.0}]\nexpect: {discarded: 0, delivered_at_least: 1000000}\n",
		"c-not.yaml": "name: c-not" + quick + "timeline: [{at: 20ms, impair: s0.0-s1.0, delay: 2ms, jitter: 2ms}, {at: " +
			"50ms, impair: s0.0-s1.0, delay: 1ms}]\nexpect: {}\n",
		"notes.txt": "no scenario",
	})
}

func TestRunExitsWith1WhenAnExpectationDoesNotHold(t *testing.T) {
	t.Parallel()
	dir := three(t)
	for _, args := range [][]string{{"b-bad.yml"}, {"a-good.yaml", "b-bad.yml"}} {
		paths := []string{"run"}
		for _, name := range args {
			paths = append(paths, filepath.Join(dir, name))
		}
		_, errs, code := fabricd(t, paths...)
		assert.Equal(t, command.ExitFailed, code, errs)
	}
}

func TestScenariosThatRunAtOnceOnOneServerDoNotMeet(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	url := natstest.Start(t, natstest.Newest, "").URL
	dir := folder(t, map[string]string{
		"a.yaml": "name: a" + quick + "expect: {discarded: 0}\n", "b.yaml": "name: b" + quick + "expect: {discarded: 0}\n",
	})
	out, errs, code := fabricd(t, "run", dir, "--jobs", "2", "--server", url)
	require.Equal(t, command.ExitOK, code, errs)
	assert.Contains(t, out, "2 of 2 passed, 0 not run")
}

func TestRunThatIsInterruptedSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	dir := three(t)
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	errs := &rig.Signals{Word: "[2/3] b-bad", Cancel: cancel}
	var out rig.Output
	file := filepath.Join(t.TempDir(), "out.xml")
	code := run(ctx, &out, errs, "run", dir, "--junit", file)
	assert.Equal(t, command.ExitUnusable, code)
	assert.Regexp(t, `^scenario +result +seconds +injected +delivered +lost +discarded +rerouted +failed\n`+
		`a-good +pass .*\nb-bad +not run *\nc-not +not run *\n1 of 3 passed, 2 not run, in [\d.]+ s\n$`, out.String())
	assert.Regexp(t, `^\[1/3\] a-good\n\[1/3\] a-good PASS \([\d.]+ s\)\n\[2/3\] b-bad\nfabricd: interrupted\n$`,
		errs.String())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Regexp(t, `^<testsuites time="[\d.]+" tests="3" skipped="2">\n`, string(text))
}

func TestShrinkWritesTheSmallestScenarioThatFails(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	dir := folder(t, map[string]string{"bad.yaml": "name: bad" + quick + `timeline:
  - {at: 20ms, impair: [s0.1-s1.1, s0.1-s1.0], delay: 1ms}
  - {at: 30ms, cut: s0.0-s1.0, for: 100ms}
expect: {discarded: 0, all_pairs_connected: true}
`})
	small := filepath.Join(dir, "small.yaml")
	// a busy machine may deliver nothing while it is dead
	out, errs, code := fabricd(t, "run", "--shrink", filepath.Join(dir, "bad.yaml"), "--out", small, "--tries", "3")
	require.Equal(t, command.ExitFailed, code, errs)
	const broken = `discarded 0: the fabric discarded \d+ packets?: \d+ by "2: the down link is dead"`
	assert.Regexp(t, `^reduced to 1 step, \S+, in \d+ runs: `+small+`\nfailed: `+broken+`\n$`, out)
	assert.Regexp(t,
		`^run 1: as it is: fails; smallest so far: 2 steps, 150ms\n(run \d+: .*; smallest so far: \d steps?, \w+\n)+$`, errs)
	s, err := scenario.Read(t.Context(), small)
	require.NoError(t, err)
	assert.Equal(t, "bad-shrunk", s.Name)
	assert.Regexp(t, `^Reduced from bad \(bad.yaml\) in \d+ runs. It fails:\n`+broken+`$`, s.About)
	require.Len(t, s.Timeline, 1)
	assert.Equal(t, "cut s0.0-s1.0", s.Timeline[0].Text)
}
