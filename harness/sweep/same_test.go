package sweep

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// measured is an experiment whose runs are real ones: two routings, with faults under load.
func measured(t testing.TB) *Experiment {
	t.Helper()
	e, err := loadFile("measured.yaml", []byte(`name: measured
about: x
base: {topology: "kary-ntree:2,3", load: 0.5, window: 300, fault_spacing: 50, warmup_batch: 50, warmup_most: 400}
axes:
  - {axis: routing, values: [deterministic-link, adaptive-link]}
  - {axis: faults, values: [0, 2]}
samples: 6
quick: {samples: 1}
checks: [{says: it falls, ref: x, value: accepted, where: {faults: 2}, against: {faults: 0}, below: 1}]
`))
	require.NoError(t, err)
	return e
}

// Runs are real ones here: neither cores nor workers nor the order in which runs end reach a
// result.
func TestEqualSeedsGiveEqualFilesOnOneCoreAndOnTwo(t *testing.T) { // not parallel: the number of cores is everybody's
	testenv.Unraced(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want map[string]string
	for _, c := range []struct{ cores, jobs int }{{1, 1}, {2, 2}, {1, 2}, {2, 1}, {1, 1}}[:testenv.Levels(5, 3, 2)] {
		runtime.GOMAXPROCS(c.cores)
		dir := t.TempDir()
		_, err := measured(t).Run(t.Context(), Options{Dir: dir, Jobs: c.jobs})
		require.NoError(t, err)
		got := contents(t, dir)
		if want == nil {
			want = got
			rows := readCSV(t, dir, "runs.csv")
			require.Len(t, rows, 24)
			assert.NotEqual(t, rows[0]["hash"], rows[1]["hash"], "samples differ")
		}
		assert.Equal(t, want, got, "%d cores, %d jobs", c.cores, c.jobs)
	}
	e := measured(t)
	e.Seed = 2
	dir := t.TempDir()
	_, err := e.Run(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	assert.NotEqual(t, want["runs.csv"], contents(t, dir)["runs.csv"], "another seed is another experiment")
}

// Where the process that is to be killed finds what to do.
const (
	killedDir  = "WEFT_SWEEP_DIR"
	killedRuns = "WEFT_SWEEP_RUNS" // after so many it stands still
)

// TestToBeKilled is the process of the next test.
func TestToBeKilled(t *testing.T) {
	dir := os.Getenv(killedDir)
	if dir == "" {
		t.Skip("run by TestAProcessThatWasKilledGoesOn")
	}
	most, err := strconv.Atoi(os.Getenv(killedRuns))
	require.NoError(t, err)
	var began atomic.Int64
	_, _ = measured(t).Run(t.Context(),
		Options{Dir: dir, Jobs: 2, Runner: func(ctx context.Context, c measure.Config) (measure.Result, error) {
			if began.Add(1) > int64(most) {
				<-ctx.Done() // until the kill
			}
			return measure.Run(ctx, c)
		}})
}

func TestAProcessThatWasKilledGoesOn(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	whole := t.TempDir()
	_, err := measured(t).Run(t.Context(), Options{Dir: whole})
	require.NoError(t, err)
	dir := t.TempDir()
	tried := attack.Tally(t, "an experiment killed while it runs")
	for done := 0; done < 21; done += 7 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestToBeKilled$")
		cmd.Env = append(os.Environ(), killedDir+"="+dir, killedRuns+"=7")
		require.NoError(t, cmd.Start())
		rig.Until(t, func() bool {
			data, _ := os.ReadFile(filepath.Join(dir, journalName))
			return bytes.Count(data, []byte("\n")) == 1+done+7
		})
		require.NoError(t, cmd.Process.Kill())
		tried.Add(1)
		require.Error(t, cmd.Wait())
	}
	r, err := measured(t).Run(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	assert.Equal(t, 21, r.Earlier)
	assert.Equal(t, contents(t, whole), contents(t, dir))
}

func TestATraceIsRunAsItIsAndAnewWhenItsFileHasChanged(t *testing.T) {
	t.Parallel()
	packets, err := os.ReadFile("testdata/packets.csv")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "p.csv")
	run := func(dir string, text []byte) (*Report, []map[string]string) {
		require.NoError(t, os.WriteFile(file, text, 0o600))
		e, err := loadFile("traced.yaml", []byte(`name: traced
about: x
base: {topology: "kary-ntree:2,2", traffic: "trace:`+file+`", warmup_skip: true, window: 1200}
axes: [{axis: routing, values: [adaptive-link, deterministic-link]}]
samples: 1
quick: {samples: 1}
`))
		require.NoError(t, err)
		r, err := e.Run(t.Context(), Options{Dir: dir})
		require.NoError(t, err)
		return r, readCSV(t, dir, "runs.csv")
	}
	dir := t.TempDir()
	_, rows := run(dir, packets)
	require.Len(t, rows, 2)
	for _, row := range rows {
		assert.Equal(t, formatFloat(4.0/1200), row["accepted"],
			"its four packets, the last of them 1,172 cycles after the first")
	}
	r, _ := run(dir, packets)
	assert.Equal(t, 2, r.Earlier)
	r, rows = run(dir, append(packets, []byte("601,n11,n00,1000\n")...))
	assert.Zero(t, r.Earlier, "other packets are other runs")
	assert.Equal(t, formatFloat(5.0/1200), rows[0]["accepted"])
}
