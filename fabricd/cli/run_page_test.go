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
	"github.com/weft-fabric/weft/harness/testenv"
)

func pageIn(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, report.PageName))
	require.NoError(t, err)
	return string(data)
}

func TestRunWritesAReportThatSaysHowToRunItAgain(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	dir := folder(t, map[string]string{"my run.yaml": "name: x" + quick +
		"timeline: [{at: 50ms, cut: s0.0-s1.0}]\nexpect: {delivered_at_least: 1000000}\n"})
	file, out := filepath.Join(dir, "my run.yaml"), filepath.Join(dir, "out")
	text, errs, code := fabricd(t, "run", file, "--virtual", "--sim-seed", "7", "--json", "--report", out)
	assert.Equal(t, command.ExitFailed, code, errs)
	assert.Equal(t, " ?s cut s0.0-s1.0\nreport: "+filepath.Join(out, report.PageName)+"\n", timeless(errs))
	assert.Contains(t, pageIn(t, out), "fabricd run &#39;"+file+"&#39; --virtual --sim-seed 7 --report "+out)

	data, err := os.ReadFile(filepath.Join(out, report.JSONName))
	require.NoError(t, err)
	assert.JSONEq(t, text, string(data))

	// Again, live: the same scenario, so the report is replaced.
	_, _, code = fabricd(t, "run", file, "--report", out)
	assert.Equal(t, command.ExitFailed, code)
	assert.Contains(t, pageIn(t, out), "<td>live</td>")
}

func TestReportsOfSeveralScenariosAreInFoldersOfPlainNames(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"a.yaml": "name: ../a b/c.1_x" + quick + "expect: {}\n",
		"b.yaml": "name: Ä" + quick + "expect: {}\n",
	})
	out := filepath.Join(dir, "out")
	_, errs, code := fabricd(t, "run", filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml"), "--virtual", "--report",
		out)
	require.Zero(t, code, errs)
	for _, name := range []string{"a-b-c.1_x", "scenario"} {
		assert.Contains(t, pageIn(t, filepath.Join(out, name)), "PASS")
	}
}

func TestAnInterruptedRunLeavesAReport(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"x.yaml": "name: x" + quick +
		"timeline: [{at: 50ms, cut: s0.0-s1.0}]\nexpect: {}\n"})
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	errs := &rig.Signals{Word: "cut s0.0-s1.0", Cancel: cancel}
	var printed rig.Output
	out := filepath.Join(dir, "out")
	code := run(ctx, &printed, errs, "run", filepath.Join(dir, "x.yaml"), "--report", out)
	assert.Equal(t, command.ExitUnusable, code, errs.String())
	assert.Equal(t, " ?s cut s0.0-s1.0\nreport: "+filepath.Join(out, report.PageName)+"\nfabricd: interrupted\n",
		timeless(errs.String()))
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
	assert.Equal(t, "interrupted: context canceled", r.Error)
	require.Len(t, r.Faults, 1)
	assert.Contains(t, pageIn(t, out), "NOT FINISHED")
}
