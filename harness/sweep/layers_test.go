package sweep

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/chart"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/testenv"
)

// ofLayersText is an experiment on trees that differ by sample: of 4, 12 and 32 switches.
const ofLayersText = `
name: mine
about: Layers.
measure: layers
base: {topology: "kary-ntree:{2*switches},{sample}"}
axes:
  - {axis: routing, values: [deterministic-table]}
  - {axis: switches, values: [1, 2]}
samples: 3
quick: {samples: 1}
plots:
  - {name: range, title: Range, x: switches, y: max_link_load, bars: range}
checks:
  - {says: the largest, ref: R, value: max_link_load, take: largest, where: {switches: 2}, at_most: 60}
  - {says: the least, ref: R, value: max_link_load, take: least, where: {switches: 2}, at_least: 1}
  - {says: the spread, ref: R, value: max_link_load, take: spread, where: {switches: 2}, at_most: 1}
  - {says: no cycle, ref: R, value: acyclic, at_least: 1, must: true}
`

func TestLayersAreThoseOfTheGraphOfTheSample(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	e, err := loadFile("mine.yaml", []byte(ofLayersText))
	require.NoError(t, err)
	dir := t.TempDir()
	r, err := e.Run(t.Context(), Options{Dir: dir, Jobs: 2})
	require.NoError(t, err)
	rows := readCSV(t, dir, "runs.csv")
	require.Len(t, rows, 6)
	for i, want := range []struct{ graph, most, mean string }{
		// Of each leaf switch the pairs with NICs of others are spread evenly over its links
		// upwards, and again one tier above.
		{"kary-ntree:2,1", "0", "0"}, // one switch
		{"kary-ntree:2,2", "2", "2"},
		{"kary-ntree:2,3", "6", "5"},
		{"kary-ntree:4,1", "0", "0"},
		{"kary-ntree:4,2", "12", "12"},
		{"kary-ntree:4,3", "60", "54"},
	} {
		assert.Equal(t, want.graph, rows[i]["graph"])
		assert.Equal(t, "true", rows[i]["acyclic"])
		assert.Equal(t, "true", rows[i]["connected"])
		assert.Equal(t, "1", rows[i]["addresses"])
		assert.Equal(t, want.most, rows[i]["max_link_load"], want.graph)
		assert.Equal(t, want.mean, rows[i]["mean_link_load"], want.graph)
	}
	var verdicts []string
	for _, f := range r.Findings {
		verdicts = append(verdicts, f.Ours+" "+f.Holds)
	}
	assert.Equal(t, []string{"60 yes", "0 no", "60 no"}, verdicts[:3], "of these samples it is known exactly")
	line := readCSV(t, dir, "summary.csv")[1]
	assert.Equal(t, []string{"24", "0", "60"},
		[]string{line["max_link_load"], line["max_link_load_least"], line["max_link_load_largest"]})
}

func TestWhatIsTakenOfSamples(t *testing.T) {
	t.Parallel()
	table := &table{e: &Experiment{}, plan: &plan{points: make([]point, 1)}, rows: [][]row{{}}, level: usual}
	column := columnAt("max_link_load")
	for _, n := range []float64{7, 3, 5} {
		table.rows[0] = append(table.rows[0], rowOf(measure.Result{MaxLinkLoad: n}))
	}
	for what, want := range map[string]float64{takeLeast: 3, takeLargest: 7, takeSpread: 4} {
		got := table.take(what, 0, column)
		assert.Equal(t, estimate{value: want, low: want, high: want, n: 3}, got, what)
	}
	assert.InDelta(t, 5, table.take("", 0, column).value, 0)
	assert.Greater(t, table.take(takeMean, 0, column).high, 5.0)
}

func TestPairsCanBeDrawnAnewForEachLoad(t *testing.T) {
	t.Parallel()
	e := small(t)
	a, b := e.full.points[0], e.full.points[3] // two loads
	assert.Equal(t, a.seed(1, 0), b.seed(1, 0))
	a.set, b.set = a.set.copied(), b.set.copied()
	a.set.DrawByLoad, b.set.DrawByLoad = new(true), new(true)
	assert.NotEqual(t, a.seed(1, 0), b.seed(1, 0))
	assert.NotEqual(t, e.full.points[0].seed(1, 0), a.seed(1, 0))
}

func TestRunsOfASampleHaveItsGraph(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(`
name: mine
about: Trees by sample.
base: {topology: "kary-ntree:2,{sample}", routing: updown}
axes:
  - {axis: load, values: [0.1, 0.2]}
samples: 3
quick: {samples: 1}
`))
	require.NoError(t, err)
	var mu sync.Mutex
	specs := map[string]int{}
	seeds := map[uint64]bool{}
	keys := map[string]bool{}
	o := Options{Dir: t.TempDir(), Runner: func(_ context.Context, c measure.Config) (measure.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		specs[c.Topology.Spec]++
		seeds[c.Seed] = true
		return measure.Result{Connected: true}, nil
	}}
	_, err = e.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"kary-ntree:2,1": 2, "kary-ntree:2,2": 2, "kary-ntree:2,3": 2}, specs)
	assert.Len(t, seeds, 3)
	for s := range 3 {
		for i := range e.full.points {
			keys[e.full.points[i].key(e.Measure, s, 1)] = true
		}
	}
	assert.Len(t, keys, 6, "a run is named by its graph, too")
}

func TestAGraphThatCannotBeMadeIsNamedWithItsSample(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(`
name: mine
about: The third tree is too large.
base: {topology: "kary-ntree:{40*sample},2", routing: updown, load: 0.5}
axes:
  - {axis: vcs, values: [1]}
samples: 9
quick: {samples: 1}
`))
	require.NoError(t, err)
	runner := func(context.Context, measure.Config) (measure.Result, error) { return measure.Result{}, nil }
	_, err = e.Run(t.Context(), Options{Dir: t.TempDir(), Jobs: 1, Runner: runner})
	require.ErrorContains(t, err, "sample 3 of vcs 1: ")
	require.ErrorContains(t, err, "160")
}

func TestNumberedFilesAreReadForEachSample(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "switches: {a: {ports: 2}}\n"
	require.NoError(t, os.WriteFile("1.yaml", []byte(text), 0o600))
	s := settled{Settings: Settings{Topology: new("{sample}.yaml")}}
	pt := point{set: s}
	before := pt.key("x", 0, 1)
	require.NoError(t, os.WriteFile("1.yaml", []byte(text+"# changed\n"), 0o600))
	assert.NotEqual(t, before, pt.key("x", 0, 1), "a run of another file is another run")
}

func TestWhatWasMadeLastIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	var r recent[int]
	var made atomic.Int64
	fresh := func(n int) func() (int, error) {
		return func() (int, error) { made.Add(1); return n, nil }
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			v, err := r.get("a", fresh(1))
			assert.NoError(t, err)
			assert.Equal(t, 1, v)
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, made.Load(), "whoever asks meanwhile waits")
	for i := range remembered {
		_, _ = r.get(string(rune('b'+i)), fresh(i))
	}
	assert.Len(t, r.of, remembered)
	_, _ = r.get("a", fresh(1))
	assert.EqualValues(t, remembered+2, made.Load(), "the oldest are forgotten")
}

// Of the largest graph LASH needs more layers than of the smallest; Up*/Down* has as many.
func TestRoutingsHaveAsManyLayersAsAnotherNeeds(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	e, err := loadFile("mine.yaml", []byte(`
name: mine
about: As many virtual channels.
base: {topology: "irregular:{16*sample},{32*sample},1", layers_of: lash, load: 0.3, window: 200, warmup_skip: true}
axes:
  - axis: method
    of:
      - {name: LASH, routing: lash}
      - {name: updn, routing: "updn:tree=dfs"}
samples: 4
quick: {samples: 1}
`))
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = e.Run(t.Context(), Options{Dir: dir, Jobs: 2})
	require.NoError(t, err)
	rows := readCSV(t, dir, "runs.csv")
	require.Len(t, rows, 8)
	seen := map[string]bool{}
	for i := range 4 {
		assert.Equal(t, rows[i]["layers"], rows[i+4]["layers"], rows[i]["graph"])
		assert.Equal(t, rows[i]["seed"], rows[i+4]["seed"])
		assert.NotEqual(t, "0", rows[i]["accepted"])
		seen[rows[i]["layers"]] = true
	}
	assert.Greater(t, len(seen), 1, "graphs need different numbers of layers")
}

func TestASampleThatNeedsMoreLayersThanGivenIsNamed(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(`
name: mine
about: The first graph needs two layers, the last more.
base: {topology: "irregular:{16*sample},{32*sample},1", routing: lash, vcs: 2, load: 0.3, window: 200, warmup_skip: true}
axes:
  - {axis: waiting, values: [all]}
samples: 4
quick: {samples: 1}
`))
	require.NoError(t, err)
	_, err = e.Run(t.Context(), Options{Dir: t.TempDir(), Jobs: 1})
	require.Error(t, err)
	assert.Regexp(t,
		`^sample [1-3] of waiting all: lash needs [3-9] virtual channels on irregular:\d\d,\d+,1, and vcs is 2$`, err.Error())
}

func TestBarsReachFromTheLeastToTheLargestSample(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(ofLayersText))
	require.NoError(t, err)
	table := &table{e: e, plan: &e.full, rows: make([][]row, len(e.full.points)), level: usual}
	for _, n := range []float64{7, 3, 5} {
		table.rows[1] = append(table.rows[1], rowOf(measure.Result{MaxLinkLoad: n, Connected: true}))
	}
	pictures, _ := table.pictures()
	assert.Equal(t, []chart.Point{{X: 2, Y: 5, Low: 3, High: 7}}, pictures[0].Curves[0].Points)
}

func TestSeedsAreThoseOfTheTopologyThatIsWritten(t *testing.T) {
	t.Parallel()
	seed := func(s Settings, sample int) uint64 {
		pt := point{set: settled{Settings: s}}
		return pt.seed(1, sample)
	}
	plain := seed(Settings{Topology: new("irregular:8,16,3")}, 2)
	assert.Equal(t, plain, seed(Settings{Topology: new("irregular:8,16,{sample}")}, 2))
	assert.Equal(t, plain, seed(Settings{Topology: new("irregular:{switches},{2*switches},{sample}"), Switches: new(8)},
		2))
	assert.NotEqual(t, plain,
		seed(Settings{Topology: new("irregular:{switches},{2*switches},{sample}"), Switches: new(9)}, 2))
}
