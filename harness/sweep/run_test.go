package sweep

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestAllCombinationsAreRunInTheOrderOfTheAxes(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	var f fake
	o := options(t, &f)
	r, err := small(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 18, r.Points)
	assert.Equal(t, 72, r.Runs)
	assert.Equal(t, 72, f.all)
	rows := readCSV(t, o.Dir, "runs.csv")
	require.Len(t, rows, 72)
	i := 0
	for _, method := range []string{"DDLR", "ADLR", "DDRC"} {
		for _, load := range []string{"saturated", "0.3"} {
			for _, faults := range []string{"0", "1", "2"} {
				for _, sample := range []string{"0", "1", "2", "3"} {
					got := []string{rows[i]["method"], rows[i]["load"], rows[i]["faults"], rows[i]["sample"]}
					assert.Equal(t, []string{method, load, faults, sample}, got)
					assert.Equal(t, "0", rows[i]["measured_faults"], "the faults that happened are another column")
					assert.Equal(t, "a, \"b\"\nc", rows[i]["cycle"])
					i++
				}
			}
		}
	}
}

func TestNamedLoadsAreThoseOfTheTopology(t *testing.T) {
	t.Parallel()
	e := small(t)
	assert.InDelta(t, 0.6, e.full.points[0].config.Traffic.Load, 0)
	assert.InDelta(t, 0.3, e.full.points[3].config.Traffic.Load, 0)
}

// Whatever is compared sees the same packets and faults; samples, topologies and kinds of faults
// have seeds of their own.
func TestSeedsDependOnWhatIsDoneToTheNetworkOnly(t *testing.T) {
	t.Parallel()
	e := small(t)
	seed := e.full.points[0].seed(1, 0)
	for i := range e.full.points {
		assert.Equal(t, seed, e.full.points[i].seed(1, 0))
	}
	seen := map[uint64]bool{seed: true}
	other := func(change func(s *Settings)) {
		pt := point{set: e.full.points[0].set.copied()}
		change(&pt.set.Settings)
		s := pt.seed(1, 0)
		assert.False(t, seen[s])
		seen[s] = true
	}
	other(func(s *Settings) { s.Topology = new("kary-ntree:4,3") })
	other(func(s *Settings) { s.Traffic = new("pairwise") })
	other(func(s *Settings) { s.FaultKind = new("switch") })
	other(func(s *Settings) { s.FaultsBefore = new(true) })
	for n := range 100 {
		for _, x := range []uint64{e.full.points[0].seed(1, n+1), e.full.points[0].seed(2, n)} {
			assert.False(t, seen[x])
			seen[x] = true
		}
	}
	same := func(change func(s *Settings)) {
		pt := point{set: e.full.points[0].set.copied()}
		change(&pt.set.Settings)
		assert.Equal(t, seed, pt.seed(1, 0), "a default that is written out is the same")
	}
	same(func(s *Settings) { s.Traffic = new("uniform") })
	same(func(s *Settings) { s.FaultKind = new(measure.LinkFaults) })
	same(func(s *Settings) { s.FaultsBefore = new(false) })
}

func TestFilesAreTheSameForOneWorkerAndManyAndAfterInterruptions(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	var f fake
	o := options(t, &f)
	o.Jobs = 1
	_, err := plotted(t).Run(t.Context(), o)
	require.NoError(t, err)
	want := contents(t, o.Dir)
	for _, name := range []string{
		"runs.csv", "summary.csv", "comparison.md", "README.md", "throughput.svg",
		"throughput.png", "split-saturated.svg", "split-0-3.png", "dead.svg",
	} {
		assert.NotEmpty(t, want[name], name)
	}

	o = options(t, &f)
	o.Jobs = 7
	_, err = plotted(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, want, contents(t, o.Dir))

	o = options(t, &f)
	for stop := 5; ; stop += 34 { // Ctrl-C again and again
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(done, total int) {
			assert.Equal(t, 72, total)
			if done >= stop {
				cancel()
			}
		}
		_, err = plotted(t).Run(ctx, o)
		cancel()
		if err == nil {
			break
		}
		require.ErrorIs(t, err, ErrInterrupted)
		assert.ErrorContains(t, err, "the same command goes on from "+o.Dir)
	}
	assert.Equal(t, want, contents(t, o.Dir))
}

func TestAnInterruptedRunSaysWhichSamplesAreWhole(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	var f fake
	o := options(t, &f)
	o.Jobs = 1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(done, _ int) {
		if done == 40 {
			cancel()
		}
	}
	_, err := small(t).Run(ctx, o)
	require.ErrorContains(t, err, "--samples 2 makes tables and plots of what is there")
	o.Samples, o.Progress = 2, nil
	before := f.all
	r, err := small(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, before, f.all, "nothing was run anew")
	assert.Equal(t, 36, r.Earlier)
}

func TestMoreSamplesAndMorePointsRepeatNoRun(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	var f fake
	o := options(t, &f)
	o.Samples = 2
	_, err := small(t).Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, 36, f.all)
	text, err := os.ReadFile("testdata/small.yaml")
	require.NoError(t, err)
	more, err := loadFile("small.yaml", bytes.Replace(text, []byte("from: 0, to: 2"), []byte("from: 0, to: 3"), 1))
	require.NoError(t, err)
	o.Samples = 3
	r, err := more.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 36, r.Earlier)
	assert.Equal(t, 24*3, f.all)
	for run, n := range f.runs {
		assert.Equal(t, 1, n, run)
	}
	rows := readCSV(t, o.Dir, "runs.csv")
	assert.Len(t, rows, 72)
}

// A process can be killed at any byte that it writes.
func TestARunThatWasKilledAtAnyByteGoesOn(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	e := small(t)
	var f fake
	whole := options(t, &f)
	whole.Quick = true
	_, err := e.Run(t.Context(), whole)
	require.NoError(t, err)
	want := contents(t, whole.Dir)
	journal, err := os.ReadFile(filepath.Join(whole.Dir, journalName))
	require.NoError(t, err)
	lines := bytes.Count(journal, []byte("\n"))
	require.Equal(t, 1+8, lines)
	p := &e.quick
	dir := t.TempDir()
	path := filepath.Join(dir, journalName)
	step := testenv.Levels(1, 23, 23) // each is a file that is synchronized
	for n := 0; n <= len(journal); n += step {
		require.NoError(t, os.WriteFile(path, journal[:n], 0o600))
		j, err := openJournal(dir, e.header(p, "v1"))
		require.NoError(t, err, "%d bytes", n)
		assert.Len(t, j.done, max(0, bytes.Count(journal[:n], []byte("\n"))-1), "%d bytes", n)
		require.NoError(t, j.close())
	}
	for _, n := range []int{0, 1, len(journal) / 2, len(journal) - 1} {
		var again fake
		o := options(t, &again)
		o.Quick = true
		require.NoError(t, os.WriteFile(filepath.Join(o.Dir, journalName), journal[:n], 0o600))
		_, err := e.Run(t.Context(), o)
		require.NoError(t, err)
		assert.Equal(t, 8-max(0, bytes.Count(journal[:n], []byte("\n"))-1), again.all, "%d bytes", n)
		assert.Equal(t, want, contents(t, o.Dir), "%d bytes", n)
	}
}

// full is a file on a disk that has room for so many bytes.
type full struct {
	*os.File
	room int
}

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		n, _ := f.File.Write(p[:f.room])
		f.room -= n
		return n, errFull
	}
	f.room -= len(p)
	return f.File.Write(p)
}

func TestAFullDiskIsNamedAndWhatWasDoneIsKept(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	e := small(t)
	var f fake
	o := options(t, &f)
	o.Jobs = 1
	o.open = func(path string) (file, error) {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		return &full{file, 3000}, err
	}
	_, err := e.Run(t.Context(), o)
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, "the same command goes on")
	noted, err := os.ReadFile(filepath.Join(o.Dir, journalName))
	require.NoError(t, err)
	done := bytes.Count(noted, []byte("\n")) - 1
	require.Positive(t, done)
	before := f.all
	o.open = nil
	r, err := e.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, done, r.Earlier)
	assert.Equal(t, 72-done, f.all-before)
}

func TestAFileThatCannotBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	e := small(t)
	var f fake
	o := options(t, &f)
	o.Quick = true
	require.NoError(t, os.MkdirAll(filepath.Join(o.Dir, "summary.csv", "x"), 0o755)) // stands where a file should go
	_, err := e.Run(t.Context(), o)
	require.ErrorContains(t, err, "write "+filepath.Join(o.Dir, "summary.csv")+": it is a folder: make room or mend that")
	require.NoError(t, os.RemoveAll(filepath.Join(o.Dir, "summary.csv")))
	_, err = e.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 8, f.all, "no run was repeated")
	for name := range contents(t, o.Dir) {
		assert.False(t, strings.HasPrefix(name, "."), name)
	}
}

func TestOneFolderIsForOneRunAtATime(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	e := small(t)
	var f fake
	o := options(t, &f)
	inner := o
	o.Runner = func(ctx context.Context, c measure.Config) (measure.Result, error) {
		_, err := e.Run(ctx, inner)
		assert.ErrorContains(t, err, "is in use by another run: wait for its end")
		return f.run(ctx, c)
	}
	o.Samples = 1
	_, err := e.Run(t.Context(), o)
	require.NoError(t, err)
}

func TestAnExperimentThatHasChangedIsNoticed(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	text, err := os.ReadFile("testdata/small.yaml")
	require.NoError(t, err)
	var f fake
	o := options(t, &f)
	o.Quick = true
	_, err = small(t).Run(t.Context(), o)
	require.NoError(t, err)
	change := func(was, is string) error {
		e, err := loadFile("small.yaml", bytes.Replace(text, []byte(was), []byte(is), 1))
		require.NoError(t, err)
		e.Plots = nil
		_, err = e.Run(t.Context(), o)
		return err
	}
	require.NoError(t, change("A small", "A very small"))
	for is, want := range map[string]string{
		"window: 60":                  "window was 50 and is 60",
		"window: 50, input_buffer: 4": "input_buffer was not given and is 4",
	} {
		err := change("window: 50", is)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "name another folder with --out, or remove the file")
	}
	require.ErrorContains(t, change("window: 100", "window: 100\nseed: 3"), "seed was 1 and is 3")
	before := f.all
	require.NoError(t, change("load: 0.6}", "load: 0.7}"), "what a name means is part of each run, not of all")
	assert.Equal(t, before+4, f.all, "the runs at that load are made anew")

	e := small(t)
	o.Version = "v2"
	r, err := e.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Contains(t, r.Notes[0], "runs were made by version v1 of the program, and this is v2")
	assert.Nil(t, r.Again)
}

// Some runs that another version has made are made once more, and what differs is told with its
// place; how long something took does not count.
func TestRunsOfAnotherVersionAreMadeOnceMore(t *testing.T) {
	t.Parallel()
	var f fake
	o := options(t, &f)
	o.Quick = true
	_, err := small(t).Run(t.Context(), o)
	require.NoError(t, err)
	runs := f.all
	o.Again = 5
	r, err := small(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, runs, f.all, "none is of another version")
	assert.Nil(t, r.Again)

	o.Version = "v2"
	r, err = small(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, runs+5, f.all)
	assert.Equal(t, &Again{5, "v2"}, r.Again)
	assert.Empty(t, r.Notes)
	o.Again = 0
	r, err = small(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, &Again{5, "v2"}, r.Again, "it is known from before")
	assert.Contains(t, contents(t, o.Dir)[readmeName], "Version v1 (5 runs made once more by v2: the same). ")

	o.Again, o.Version = 1000, "v3"
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = small(t).Run(ctx, o)
	require.ErrorIs(t, err, ErrInterrupted)
	require.ErrorContains(t, err, "the same command goes on")

	o.Version = "v2"
	o.Runner = func(ctx context.Context, c measure.Config) (measure.Result, error) {
		r, err := f.run(ctx, c)
		if c.FaultCount == 2 {
			r.Accepted++
		}
		return r, err
	}
	_, err = small(t).Run(t.Context(), o)
	require.ErrorContains(t, err, "and this version, v2, makes another: accepted was ")
	require.ErrorContains(t, err, "remove the file to make all anew")
	s, err := small(t).Settle(o)
	require.NoError(t, err)
	require.ErrorContains(t, s.Stage(t.Context()), "makes another: accepted was ")
	require.NoError(t, s.Close())
}

func TestADamagedJournalIsNamed(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	var f fake
	o := options(t, &f)
	o.Quick = true
	_, err := small(t).Run(t.Context(), o)
	require.NoError(t, err)
	path := filepath.Join(o.Dir, journalName)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	second := bytes.IndexByte(data, '\n') + 20
	bad := bytes.Clone(data)
	bad[second] ^= 1
	require.NoError(t, os.WriteFile(path, bad, 0o600))
	_, err = small(t).Run(t.Context(), o)
	require.ErrorContains(t, err, path+":2: the checksum is wrong: the file is damaged: remove it")
	require.NoError(t, os.WriteFile(path, []byte("something else\nthat is no journal\n"), 0o600))
	_, err = small(t).Run(t.Context(), o)
	require.ErrorContains(t, err, path+":1: the checksum is wrong")
}

func TestAFailedRunSaysWhichItWas(t *testing.T) {
	t.Parallel()
	var f fake
	o := options(t, &f)
	o.Jobs = 2
	failure := errors.New("unusable")
	o.Runner = func(ctx context.Context, c measure.Config) (measure.Result, error) {
		if c.Routing == "ddrc" {
			return measure.Result{}, failure
		}
		return f.run(ctx, c)
	}
	_, err := small(t).Run(t.Context(), o)
	require.ErrorIs(t, err, failure)
	require.ErrorContains(t, err, "sample 0 of method DDRC, load saturated, faults ")
	o.Runner = func(context.Context, measure.Config) (measure.Result, error) { panic("oh") }
	_, err = small(t).Run(t.Context(), o)
	require.ErrorContains(t, err, "sample 0 of method ") // of whichever of the two came first
	require.ErrorContains(t, err, "panic: oh")
}

func TestPointsThatAreTheSameNetworkAreRunOnce(t *testing.T) {
	t.Parallel()
	e, err := loadFile("twins.yaml", []byte(`name: twins
about: x
base: {topology: "kary-ntree:2,2", load: 0.5}
axes: [{axis: method, of: [{name: a, routing: adaptive-link}, {name: b, routing: adaptive-link}]}]
samples: 3
quick: {samples: 1}
`))
	require.NoError(t, err)
	var f fake
	o := options(t, &f)
	r, err := e.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 3, f.all)
	assert.Equal(t, 3, r.Runs)
	assert.Len(t, readCSV(t, o.Dir, "runs.csv"), 6)
}
