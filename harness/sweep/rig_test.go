package sweep

import (
	"context"
	"encoding/csv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/harness/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a runner that needs no network: a result is a function of the configuration, and every
// run is counted.
type fake struct {
	mu   sync.Mutex
	runs map[string]int // guarded by mu; by routing, load, faults and seed
	all  int            // guarded by mu
}

func (f *fake) run(_ context.Context, c measure.Config) (measure.Result, error) {
	f.mu.Lock()
	if f.runs == nil {
		f.runs = map[string]int{}
	}
	f.runs[c.Routing+c.Traffic.String()+string(rune('0'+c.FaultCount))+formatFloat(float64(c.Seed))]++
	f.all++
	f.mu.Unlock()
	draw := rand.New(rand.NewPCG(c.Seed, uint64(c.FaultCount)))
	r := measure.Result{Connected: true, Stable: true, DeadlockAt: -1, Cycles: 100, Cycle: "a, \"b\"\nc"}
	r.Offered = c.Traffic.Load * 4
	r.Accepted = r.Offered * (1 - 0.05*float64(c.FaultCount)) * (0.95 + 0.1*draw.Float64())
	if c.Routing == "adaptive-link" {
		r.Accepted *= 1.1
	}
	r.LatencyMean = 10 / (1 - c.Traffic.Load) * (1 + draw.Float64())
	if c.Routing == "adaptive-link" && c.FaultCount == 2 && draw.IntN(3) == 0 {
		r.Deadlocked, r.DeadlockAt = true, int64(draw.IntN(100))
	}
	return r, nil
}

// plotted is the experiment of testdata/small.yaml.
func plotted(t testing.TB) *Experiment {
	t.Helper()
	e, err := Read(t.Context(), "testdata/small.yaml")
	require.NoError(t, err)
	return e
}

// small is plotted without its plots, which take most of the time of a run with a fake runner.
func small(t testing.TB) *Experiment {
	t.Helper()
	e := plotted(t)
	e.Plots = nil
	return e
}

// options are those of a run with f into a folder of its own.
func options(t testing.TB, f *fake) Options {
	return Options{Dir: t.TempDir(), Runner: f.run, Jobs: 2, Version: "v1", Command: "fabricd sweep small.yaml"}
}

// contents are all files of a folder but the journal, whose lines stand in the order in which runs
// ended.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == journalName {
			return err
		}
		data, err := os.ReadFile(path)
		m[strings.TrimPrefix(filepath.ToSlash(path[len(dir):]), "/")] = string(data)
		return err
	}))
	return m
}

// readCSV reads a file of a folder as maps by column.
func readCSV(t testing.TB, dir, name string) (list []map[string]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	require.NoError(t, err)
	for _, r := range rows[1:] {
		m := map[string]string{}
		for i, c := range r {
			m[rows[0][i]] = c
		}
		list = append(list, m)
	}
	return list
}
