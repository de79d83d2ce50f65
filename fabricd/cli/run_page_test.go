package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/report"
	"github.com/weft-fabric/weft/harness/rig"
)

func pageIn(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, report.PageName))
	require.NoError(t, err)
	return string(data)
}

func TestRunWritesAReportThatSaysHowToRunItAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"my run.yaml": "name: x" + quick + "timeline: [{at: 50ms, cut: s0.0-s1.0}]\nexpect: {delivered_at_least: 1000000}\n"})
	file, out := filepath.Join(dir, "my run.yaml"), filepath.Join(dir, "out")
	text, errs, code := fabricd(t, "run", file, "--virtual", "--sim-seed", "7", "--json", "--report", out)
	assert.Equal(t, command.ExitFailed, code, errs)
	assert.Contains(t, errs, "report: "+filepath.Join(out, report.PageName)+"\n")
	html := pageIn(t, out)
	assert.Contains(t, html, "FAIL")
	assert.Contains(t, html, "fabricd run &#39;"+file+"&#39; --virtual --sim-seed 7 --report "+out)

	data, err := os.ReadFile(filepath.Join(out, report.JSONName))
	require.NoError(t, err)
	assert.JSONEq(t, text, string(data))

	// Again, live: the same scenario, so the report is replaced.
	_, _, code = fabricd(t, "run", file, "--report", out)
	assert.Equal(t, command.ExitFailed, code)
	assert.Contains(t, pageIn(t, out), "<td>live</td>")
}

func TestRunOfSeveralWritesAReportOfEach(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	_, errs, code := fabricd(t, "run", three(t), "--virtual", "--report", out)
	assert.Equal(t, command.ExitUnusable, code, errs)
	assert.Contains(t, pageIn(t, filepath.Join(out, "a-good")), "PASS")
	assert.Contains(t, pageIn(t, filepath.Join(out, "b-bad")), "FAIL")
	assert.Contains(t, pageIn(t, filepath.Join(out, "c-not")), "<b>Not judged:</b> at 50ms: impair s0.0-s1.0")
	assert.NoFileExists(t, filepath.Join(out, report.PageName))
}

func TestAnInterruptedRunLeavesAReport(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"x.yaml": "name: x" + quick + "timeline: [{at: 50ms, cut: s0.0-s1.0}]\nexpect: {}\n"})
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	errs := &rig.Signals{Word: "cut s0.0-s1.0", Cancel: cancel}
	var printed rig.Output
	out := filepath.Join(dir, "out")
	code := run(ctx, &printed, errs, "run", filepath.Join(dir, "x.yaml"), "--report", out)
	assert.Equal(t, command.ExitUnusable, code, errs.String())
	assert.Contains(t, errs.String(), "report: "+out)
	data, err := os.ReadFile(filepath.Join(out, report.JSONName))
	require.NoError(t, err)
	var r struct {
		Pass     bool
		Scenario string
		Error    string
		Faults   []struct{ What string }
	}
	require.NoError(t, json.Unmarshal(data, &r))
	assert.False(t, r.Pass)
	assert.Equal(t, "x", r.Scenario)
	assert.Contains(t, r.Error, "interrupted")
	require.Len(t, r.Faults, 1)
	assert.Contains(t, pageIn(t, out), "NOT FINISHED")
}

func TestAReportIsRefusedWhereItWouldDestroyAnother(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a.yaml": "name: a" + quick + "expect: {}\n", "b.yaml": "name: b" + quick + "expect: {}\n", "c.yaml": "name: b" + quick + "expect: {}\n",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	out := at("out")
	_, _, code := fabricd(t, "run", at("a.yaml"), "--virtual", "--report", out)
	require.Zero(t, code)
	before := pageIn(t, out)
	refused(t, "the folder holds another report: that in "+out+" is of a, this one is of b", "run", at("b.yaml"), "--virtual", "--report", out)
	assert.Equal(t, before, pageIn(t, out))
	refused(t, "are both called b, and would have one report", "run", at("b.yaml"), at("c.yaml"), "--report", at("both"))
	refused(t, "--shrink with --report", "run", "--shrink", at("b.yaml"), "--report", at("small"))
	refused(t, "not a directory", "run", at("b.yaml"), "--report", filepath.Join(at("a.yaml"), "below"))
}
