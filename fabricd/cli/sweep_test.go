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
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/sweep"
)

// tiny is an experiment that takes a moment; claim is what it must show.
func tiny(t *testing.T, claim string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`name: tiny
about: Two loads.
base: {topology: "kary-ntree:2,2", routing: adaptive-link, window: 500}
axes:
  - {axis: load, values: [0.1, 0.2]}
samples: 2
quick: {samples: 1}
plots:
  - {name: load, title: Load, x: load, y: accepted}
checks:
  - {says: more goes in and more comes out, ref: ours, value: accepted, where: {load: 0.2}, against: {load: 0.1}, `+claim+`, must: true}
`), 0o600))
	return path
}

func TestSweepRunsAnExperimentAndGoesOnFromWhatIsThere(t *testing.T) {
	t.Parallel()
	path, out := tiny(t, "above: 1"), t.TempDir()
	stdout, errs, code := fabricd(t, "sweep", path, "--quick", "--out", out)
	require.Zero(t, code, errs)
	assert.Contains(t, stdout, "tiny: 2 points, 1 sample, 2 runs, in ")
	assert.Contains(t, stdout, "more goes in and more comes out (claim of ours)")
	assert.Contains(t, stdout, "runs.csv, summary.csv, load.svg, load.png, comparison.md, README.md")
	readme, err := os.ReadFile(filepath.Join(out, "README.md"))
	require.NoError(t, err)
	assert.Contains(t, string(readme), "    fabricd sweep "+filepath.ToSlash(path)+" --quick\n")

	stdout, errs, code = fabricd(t, "sweep", path, "--samples", "3", "--out", out, "--jobs", "1", "--json")
	require.Zero(t, code, errs)
	var r sweep.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, 6, r.Runs)
	assert.Equal(t, 2, r.Earlier, "the quick form has the same networks here")
}

func TestSweepFailsWhenAClaimOfOursDoesNotHold(t *testing.T) {
	t.Parallel()
	_, errs, code := fabricd(t, "sweep", tiny(t, "above: 100"), "--quick", "--out", t.TempDir())
	assert.Equal(t, command.ExitFailed, code)
	assert.Empty(t, errs)
}

func TestSweepTellsHowManyRunsThereAre(t *testing.T) {
	t.Parallel()
	path := tiny(t, "above: 1")
	stdout, _, _ := fabricd(t, "sweep", path, "--dry-run")
	assert.Regexp(t, `^tiny: 2 points, 4 runs, about [0-9.]+m?s of CPU time, [0-9.]+m?s on free cores\n$`, stdout)
	stdout, _, _ = fabricd(t, "sweep", path, "--dry-run", "--samples", "1000", "--json")
	assert.Regexp(t, `^\{"experiment":"tiny","points":2,"runs":2000,"about_cpu_seconds":[0-9.]+,"about_seconds":[0-9.]+\}\n$`, stdout)
}

func TestSweepRefusesWhatItCannotRun(t *testing.T) {
	t.Parallel()
	path := tiny(t, "above: 1")
	refused(t, "sweep what? name one experiment file", "sweep")
	refused(t, "no such file", "sweep", "none.yaml")
	refused(t, "is a folder: name one experiment file in it", "sweep", t.TempDir())
	heal := filepath.Join("..", "..", "scenarios", "heal.yaml")
	refused(t, heal+" is a scenario, for it has expect: use fabricd run "+heal, "sweep", heal)
	refused(t, path+" is an experiment, for it has axes: use fabricd sweep "+path, "run", path)
	refused(t, "--samples -1", "sweep", path, "--samples", "-1")
	refused(t, "--jobs 1000: expected 0 to 256", "sweep", path, "--jobs", "1000")
	refused(t, "not a directory", "sweep", path, "--out", filepath.Join(path, "x"))
}

func TestAnInterruptedSweepSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs rig.Output
	code := run(ctx, &out, &errs, "sweep", tiny(t, "above: 1"), "--out", t.TempDir())
	assert.Equal(t, command.ExitUnusable, code)
	assert.Contains(t, errs.String(), "interrupted after 0 of 4 runs: the same command goes on from")
}

func TestSweepRunsAPartOfThePointsAndReportsOnAllFolders(t *testing.T) {
	t.Parallel()
	path, dir := tiny(t, "above: 1"), t.TempDir()
	stdout, errs, code := fabricd(t, "sweep", path, "--where", "load=0.2", "--out", filepath.Join(dir, "tiny"))
	require.Zero(t, code, errs)
	assert.Contains(t, stdout, "tiny: 1 point, 2 samples, 2 runs, in ")
	stdout, errs, code = fabricd(t, "sweep", "--report", dir)
	require.Zero(t, code, errs)
	assert.Equal(t, filepath.Join(dir, "README.md")+": 1 experiment\n", stdout)
	index, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	assert.Contains(t, string(index), "--where load=0.2` |")
	refused(t, "leave the experiment out", "sweep", path, "--report", dir)
	refused(t, "has no folder with results", "sweep", "--report", t.TempDir())
	refused(t, `--where: the choice "load" is not AXIS=VALUE`, "sweep", path, "--where", "load")
	refused(t, `unknown axis "laod": did you mean "load"?`, "sweep", path, "--where", "laod=0.1", "--dry-run")
}
