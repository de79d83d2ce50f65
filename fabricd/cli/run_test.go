package cli_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		"b-bad.yml":   "name: b-bad" + quick + "timeline: [{at: 50ms, cut: s0.0-s1.0}]\nexpect: {discarded: 0, delivered_at_least: 1000000}\n",
		"c-not.yaml":  "name: c-not" + quick + "timeline: [{at: 20ms, impair: s0.0-s1.0, delay: 2ms, jitter: 2ms}, {at: 50ms, impair: s0.0-s1.0, delay: 1ms}]\nexpect: {}\n",
		"notes.txt":   "no scenario",
	})
}

func TestRunOfOneScenarioEndsWithTheReportsInFull(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"x.yaml": "name: x" + quick + "timeline: [{at: 50ms, cut: [s0.0-s1.0, s0.1-s1.1], for: 50ms}]\nexpect: {duplicated: 0}\n"})
	out, errs, code := fabricd(t, "run", filepath.Join(dir, "x.yaml"))
	require.Zero(t, code, errs)
	assert.Contains(t, out, "fault 1: cut s0.0-s1.0, for 50ms\n  when           ")
	assert.Contains(t, out, "fault 2: cut s0.1-s1.1, for 50ms\n")
	assert.Contains(t, out, "  detected       by s0.0 port 0 after ")
	assert.Regexp(t, `ledger: \d+ injected = .* balanced\n`, out)
	assert.Regexp(t, `PASS x \(\d+\.\d s\)\n$`, out)
	assert.Contains(t, errs, "cut s0.0-s1.0, s0.1-s1.1, for 50ms\n")

	out, _, code = fabricd(t, "run", filepath.Join(dir, "x.yaml"), "--json", "--sim-seed", "7")
	require.Zero(t, code)
	var r scenario.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r), "one object")
	assert.True(t, r.Pass)
	assert.EqualValues(t, 7, r.SimSeed)
	assert.Len(t, r.Faults, 2)
}

func TestRunOfAFolderPrintsATableAndWritesJUnitXML(t *testing.T) {
	t.Parallel()
	dir := three(t)
	file := filepath.Join(t.TempDir(), "out.xml")
	out, errs, code := fabricd(t, "run", dir, filepath.Join(dir, "a-good.yaml"), "--junit", file)
	assert.Equal(t, command.ExitUnusable, code)
	lines := strings.Split(out, "\n")
	assert.Regexp(t, `^scenario +result +seconds +injected +delivered +lost +discarded +rerouted +failed$`, lines[0])
	assert.Regexp(t, `^a-good +pass +\d+\.\d +\d+ +\d+ +0 +0 +\d+ *$`, lines[1])
	assert.Regexp(t, `^b-bad +FAIL +\d+\.\d +\d+ +\d+ +\d+ +[1-9]\d* +\d+ +discarded, delivered_at_least$`, lines[2])
	assert.Regexp(t, `^c-not +UNUSABLE +at 50ms: impair s0.0-s1.0, delay 1ms: `, lines[3])
	assert.Regexp(t, `^1 of 3 passed, 0 not run, in \d+\.\d s$`, lines[4])
	assert.Contains(t, out, "\nb-bad: discarded 0: ")
	assert.Contains(t, errs, "[1/3] a-good PASS (")
	assert.Contains(t, errs, "[2/3] b-bad FAIL (")
	assert.Contains(t, errs, "fabricd: "+filepath.Join(dir, "c-not.yaml")+": at 50ms: impair")

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var suites junit.Testsuites
	require.NoError(t, xml.Unmarshal(text, &suites))
	assert.Equal(t, []int{3, 1, 1, 0}, []int{suites.Tests, suites.Failures, suites.Errors, suites.Skipped})
	cases := suites.Suites[0].Testcases
	assert.Nil(t, cases[0].Failure)
	assert.Contains(t, cases[0].SystemOut.Data, "ledger: ")
	assert.Equal(t, "discarded, delivered_at_least", cases[1].Failure.Message)
	assert.Contains(t, cases[1].Failure.Data, "delivered_at_least 1000000: ")
	assert.Contains(t, cases[2].Error.Message, "jitter 2ms is more than the delay")
}

func TestRunOfSeveralWithJSONPrintsALineEach(t *testing.T) {
	t.Parallel()
	out, _, code := fabricd(t, "run", "--json", three(t))
	assert.Equal(t, command.ExitUnusable, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3)
	for i, want := range []struct {
		name string
		pass bool
	}{{"a-good", true}, {"b-bad", false}, {"c-not", false}} {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &v))
		assert.Equal(t, want.name, v["scenario"])
		assert.Equal(t, want.pass, v["pass"])
	}
	assert.Contains(t, lines[2], `"error":"at 50ms: impair`)
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

func TestRunRefusesWhatIsNoScenarioBeforeItRunsAny(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a.yaml": "name: a" + quick + "expect: {}\n",
		"b.yaml": "name: b" + quick + "timeline: [{at: 1ms, cut: s9-s8}]\nexpect: {}\n",
		"c.yaml": "name: c\n",
	})
	refused(t, "b.yaml:8:", "run", dir)
	refused(t, "--virtual with --live: a run is one or the other", "run", dir, "--virtual", "--live")
	refused(t, `c.yaml:1:1: missing field "topology"`, "run", dir)
	refused(t, "holds no scenario: expected files that end in .yaml", "run", t.TempDir())
	refused(t, "no such file", "run", filepath.Join(dir, "d.yaml"))
	a := filepath.Join(dir, "a.yaml")
	refused(t, "--tries without --shrink", "run", a, "--tries", "2")
	refused(t, "--shrink reduces one scenario, found 2", "run", a, a, "--shrink")
	refused(t, "--tries 0: expected 1 to 1000", "run", a, "--shrink", "--tries", "0")
	refused(t, "--shrink with --junit", "run", a, "--shrink", "--junit", "x.xml")
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
	assert.Regexp(t, `a-good +pass`, out.String())
	assert.Regexp(t, `b-bad +not run`, out.String())
	assert.Contains(t, out.String(), "1 of 3 passed, 2 not run")
	assert.Contains(t, errs.String(), "interrupted")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), `skipped="2"`)
}

func TestShrinkWritesTheSmallestScenarioThatFails(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	dir := folder(t, map[string]string{"bad.yaml": "name: bad" + quick + `timeline:
  - {at: 20ms, impair: [s0.1-s1.1, s0.1-s1.0], delay: 1ms}
  - {at: 30ms, cut: s0.0-s1.0, for: 100ms}
expect: {discarded: 0, all_pairs_connected: true}
`})
	small := filepath.Join(dir, "small.yaml")
	out, errs, code := fabricd(t, "run", "--shrink", filepath.Join(dir, "bad.yaml"), "--out", small, "--tries", "1")
	require.Equal(t, command.ExitFailed, code, errs)
	assert.Contains(t, out, "reduced to 1 step, ")
	assert.Contains(t, out, small)
	assert.Contains(t, out, "failed: discarded 0: ")
	assert.Contains(t, errs, "run 1: as it is: fails; smallest so far: 2 steps, 150ms\n")
	s, err := scenario.Read(small)
	require.NoError(t, err)
	assert.Equal(t, "bad-shrunk", s.Name)
	assert.Contains(t, s.About, "Reduced from bad (bad.yaml) in ")
	assert.Contains(t, s.About, "\ndiscarded 0: ")
	require.Len(t, s.Timeline, 1)
	assert.Equal(t, "cut s0.0-s1.0", s.Timeline[0].Text)
}

func TestShrinkOfAScenarioThatPassesLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := three(t)
	small := filepath.Join(dir, "small.yaml")
	out, errs, code := fabricd(t, "run", "--shrink", filepath.Join(dir, "a-good.yaml"), "--out", small, "--tries", "2")
	require.Zero(t, code, errs)
	assert.Equal(t, "a-good: the scenario passes in 2 runs: there is nothing to shrink\n", out)
	assert.NoFileExists(t, small)
	out, _, code = fabricd(t, "run", "--shrink", filepath.Join(dir, "a-good.yaml"), "--out", small, "--tries", "2", "--json")
	require.Zero(t, code)
	assert.Contains(t, out, `"pass":true`)
}
