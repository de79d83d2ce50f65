package sweep

import (
	"context"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestEveryFieldOfAResultIsAColumn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i, c := range columns {
		assert.NotEmpty(t, c.name, "field %d", i)
		assert.False(t, seen[c.name], c.name)
		seen[c.name] = true
		assert.Contains(t, []reflect.Kind{
			reflect.Float64, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Bool,
			reflect.String,
		}, c.kind, c.name)
	}
	for _, name := range []string{"connected", "stable", "deadlocked", "deadlock_at", "cycles"} {
		assert.True(t, seen[name], "%s has a meaning here", name)
	}
}

func TestACellReadsBackAsWhatItWas(t *testing.T) {
	t.Parallel()
	r := measure.Result{
		Accepted: 0.1 + 0.2, Offered: math.NaN(), LatencyMax: 1e300, LostTotal: math.MaxUint64,
		Connected: true, DeadlockAt: -1, Cycle: "x,y",
	}
	cells := rowOf(r)
	require.NoError(t, cells.check())
	assert.Equal(t, 0.1+0.2, cells.number(columnAt("accepted")))
	assert.True(t, math.IsNaN(cells.number(columnAt("offered"))))
	assert.Equal(t, "18446744073709551615", cells[columnAt("lost_total")])
	assert.Equal(t, 1.0, cells.number(columnAt("connected")))
	assert.True(t, cells.is("connected"))
	assert.False(t, cells.is("stable"))
	cells[columnAt("accepted")] = "x"
	assert.EqualError(t, cells.check(), `accepted is "x"`)
	assert.EqualError(t, cells[1:].check(), fmt.Sprintf("%d cells, expected %d", len(columns)-1, len(columns)))
}

// The values are those of tables of Student's t, and of Wilson's interval computed by hand.
func TestIntervalsAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	e := usual.mean([]float64{1, 2, 3, 4, 5})
	assert.InDelta(t, 3, e.value, 1e-12)
	assert.InDelta(t, 2.776*math.Sqrt(2.5/5), e.half(), 0.001)
	assert.False(t, usual.mean([]float64{1}).bounded())
	assert.True(t, math.IsNaN(usual.mean(nil).value))
	s := usual.share(1, 10)
	assert.InDelta(t, 0.0179, s.low, 0.0001)
	assert.InDelta(t, 0.4042, s.high, 0.0001)
	s = usual.share(0, 500)
	assert.Zero(t, s.low)
	assert.InDelta(t, 0.0076, s.high, 0.0001)
	assert.InDelta(t, 1, usual.share(7, 7).high, 0)
	assert.False(t, usual.share(0, 0).bounded())
	d := usual.difference([]float64{1, 2, 3}, []float64{0, 1, 2})
	assert.InDelta(t, 1, d.value, 1e-12)
	assert.InDelta(t, 0, d.half(), 1e-12, "what is paired differs by the same every time")
	for value, want := range map[float64][2]float64{0: {-0.0076, 0.0076}, 1: {0.9847, 1}, -1: {-1, -0.9847}} {
		d = usual.alike(value, 500)
		assert.InDelta(t, want[0], d.low, 0.0001, "500 of 500 pairs differ by %v", value)
		assert.InDelta(t, want[1], d.high, 0.0001, "500 of 500 pairs differ by %v", value)
	}
	r := usual.ratio([]float64{2, 4, 6}, []float64{1, 2, 3})
	assert.InDelta(t, 2, r.value, 1e-12)
	assert.InDelta(t, 0, r.half(), 1e-9)
	r = usual.ratio([]float64{1, 2, 3}, []float64{3, 2, 1})
	assert.InDelta(t, 1, r.value, 1e-12)
	assert.InDelta(t, 4.303*math.Sqrt(4.0/3)/2, r.half(), 0.001)
}

// tableOf is a table with results of our own: by point, by sample.
func tableOf(t *testing.T, results ...[]measure.Result) *table {
	t.Helper()
	e := plotted(t)
	tab := &table{e: e, plan: &e.quick, level: usual} // ADLR at two loads and 0 and 2 faults
	require.Len(t, results, len(tab.plan.points))
	for _, list := range results {
		var rows []row
		for _, r := range list {
			rows = append(rows, rowOf(r))
		}
		tab.rows = append(tab.rows, rows)
	}
	return tab
}

func ok(accepted float64) measure.Result {
	return measure.Result{Accepted: accepted, Connected: true, Stable: true, DeadlockAt: -1, Cycles: 100}
}

func bad(accepted float64) measure.Result {
	r := ok(accepted)
	r.Deadlocked, r.DeadlockAt = true, 30
	return r
}

func sampleTable(t *testing.T) *table {
	return tableOf(t,
		[]measure.Result{ok(10), ok(12), ok(11)}, []measure.Result{ok(5), bad(900), ok(7)},
		[]measure.Result{ok(4), ok(4), ok(4)}, []measure.Result{bad(0), bad(0), bad(0)})
}

func TestMeansLeaveOutWhatIsExcludedAndSharesDoNot(t *testing.T) {
	t.Parallel()
	rows := sampleTable(t).summaryCSV()
	at := func(row int, name string) string {
		for i, c := range rows[0] {
			if c == name {
				return rows[row][i]
			}
		}
		t.Fatal(name)
		return ""
	}
	assert.Equal(t, "3", at(2, "runs"))
	assert.Equal(t, "2", at(2, "included"))
	assert.Equal(t, "1", at(2, "deadlocked_runs"))
	assert.Equal(t, "6", at(2, "accepted"))
	assert.Equal(t, "0.3333333333333333", at(2, "deadlocked"))
	assert.Equal(t, "NaN", at(4, "accepted"), "no run is left")
	assert.Empty(t, at(4, "accepted_low"))
	assert.Equal(t, "1", at(4, "deadlocked"))
	assert.Equal(t, "11", at(1, "accepted"))
	assert.Equal(t, "NaN", at(1, "deadlock_at"), "none had one")
	assert.NotContains(t, rows[0], "cycle", "text has no mean")
}

func TestTheMeanTimeOfADeadlockIsOfTheRunsThatHadOne(t *testing.T) {
	t.Parallel()
	e := sampleTable(t).estimate(1, columnAt(deadlockAt))
	assert.Equal(t, 30.0, e.value, "-1 is no time")
	assert.Equal(t, 1, e.n)
}

func TestRunsThatMeasuredNoTrafficAreTold(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	var f fake
	e, o := small(t), options(t, &f)
	o.Quick, o.Runner = true, func(ctx context.Context, c measure.Config) (measure.Result, error) {
		r, err := f.run(ctx, c)
		if c.Traffic.Load == 0.3 {
			r.Offered = 0
		}
		return r, err
	}
	r, err := e.Run(t.Context(), o)
	require.NoError(t, err)
	want := "no packet was generated in the window of 2 of 8 runs" // of those that means count
	require.Len(t, r.Notes, 1)
	assert.Contains(t, r.Notes[0], want)
	assert.Contains(t, contents(t, o.Dir)["README.md"], "Note: "+want)
	e.Measure, o.Dir = ofConnectivity, t.TempDir()
	r, err = e.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Empty(t, r.Notes, "connectivity is measured without traffic")
}

func TestChecksCompareSampleBySample(t *testing.T) {
	t.Parallel()
	tab := sampleTable(t)
	num := func(x float64) *float64 { return &x }
	saturated := map[string]Some{"load": {"saturated"}}
	for _, c := range []struct {
		check  Check
		holds  string
		ours   string
		points int
	}{
		{Check{
			Value: "accepted", Where: map[string]Some{"faults": {"0"}, "load": {"saturated"}}, AtLeast: num(10),
			AtMost: num(12),
		}, "yes, unsure", "11.0 ± 2.5", 1},
		{Check{Value: "accepted", Where: map[string]Some{"faults": {"0"}, "load": {"0.3"}}, Above: num(4)}, "no", "4 ± 0", 1},
		{
			Check{Value: "accepted", Where: map[string]Some{"faults": {"2"}, "load": {"0.3"}}, Above: num(4)},
			"not run",
			"no run counts", 0,
		},
		// Samples 0 and 2 are left: 5/10 and 7/11.
		{
			Check{Value: "accepted", Where: saturated, Against: map[string]Value{"faults": "0"}, Below: num(1)},
			"yes, unsure",
			"0.57 ± 0.86", 1,
		},
		{Check{
			Value: "accepted", Where: saturated, Against: map[string]Value{"faults": "0"}, As: asDifference, Per: "faults",
			Below: num(-1),
		}, "yes, unsure", "-2.2 ± 3.2", 1},
		{Check{
			Value: "accepted", Where: saturated, Against: map[string]Value{"faults": "0"}, As: asPercent, Below: num(0),
			Above: num(-100),
		}, "yes, unsure", "-43 ± 86", 1},
		{
			Check{Value: "deadlocked", Where: map[string]Some{"faults": {"0"}}, AtMost: num(0.6)},
			"yes",
			"0% (0% to 56.1% of 3 runs) at load saturated, the worst of 2 points; holds at 2", 2,
		},
		{
			Check{Value: "accepted", Where: map[string]Some{"faults": {"0"}}, Of: ofAny, AtMost: num(4)},
			"yes",
			"4 ± 0 at load 0.3, the best of 2 points; holds at 1", 2,
		},
		{
			Check{Value: "accepted", Where: map[string]Some{"faults": {"0"}}, AtMost: num(4)},
			"no",
			"11.0 ± 2.5 at load saturated, the worst of 2 points; holds at 1", 2,
		},
		{
			Check{Value: "accepted", Where: map[string]Some{"faults": {"0"}}, Of: ofMean, Scale: num(2), AtMost: num(20)},
			"yes",
			"15.0 ± 2.5", 2,
		},
	} {
		f := tab.finding(c.check)
		assert.Equal(t, c.ours, f.Ours)
		assert.Equal(t, c.points, f.Points, c.ours)
		assert.Equal(t, c.holds, f.Holds, c.ours)
	}
}

func TestAClaimOfOursThatDoesNotHoldIsCounted(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	var f fake
	o := options(t, &f)
	e := small(t)
	e.Checks[2].Where = map[string]Some{"method": {"ADLR"}}
	o.Samples = 20
	r, err := e.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Failed)
	assert.Equal(t, "yes", r.Findings[0].Holds)
	text := contents(t, o.Dir)["comparison.md"]
	assert.Contains(t, text, "| adaptive is better [1] | yes | 1.1 ± ")
	assert.Contains(t, text, "[2] ours")
	readme := contents(t, o.Dir)["README.md"]
	assert.Contains(t, readme, "    fabricd sweep small.yaml\n\nVersion v1.")
	assert.Regexp(t, `Means leave out runs that were deadlocked or disconnected: [1-9]`, readme)
}

func TestPlotsHaveTheirCurvesAndLines(t *testing.T) {
	t.Parallel()
	tab := sampleTable(t)
	list, empty := tab.pictures()
	assert.Empty(t, empty)
	var names []string
	for _, p := range list {
		names = append(names, p.name)
	}
	assert.Equal(t, []string{"throughput", "split-saturated", "split-0-3", "curve", "dead"}, names)
	p := list[0]
	require.Len(t, p.Curves, 2)
	assert.Equal(t, "ADLR, saturated", p.Curves[0].Name)
	assert.Equal(t, "ADLR, load 0.3", p.Curves[1].Name)
	assert.Equal(t, 1, p.Curves[0].Color, "as in the full form, where DDLR is first")
	assert.NotEqual(t, p.Curves[0].Style, p.Curves[1].Style)
	require.Len(t, p.Curves[0].Points, 2)
	assert.Len(t, p.Curves[1].Points, 1, "where no run is left there is no point")
	assert.InDelta(t, 6, p.Curves[0].Points[1].Y, 1e-9)
	assert.InDelta(t, 2, p.Curves[0].Points[1].X, 0)
	require.Len(t, p.Verticals, 1)
	dead := list[4].Curves[0]
	assert.True(t, dead.Steps)
	last := dead.Points[len(dead.Points)-1]
	assert.InDelta(t, 100, last.X, 0)
	assert.InDelta(t, 4.0/12, last.Y, 1e-9, "of all points of that name: one run of the second, all three of the fourth")
	assert.Equal(t, []string{"cycles", "share of runs, deadlock_at"}, []string{list[4].X, list[4].Y})
}

func TestPlotsAreFilesThatProgramsRead(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	var f fake
	o := options(t, &f)
	r, err := small(t).Run(t.Context(), o)
	require.NoError(t, err)
	for _, name := range r.Files {
		data, err := os.Open(filepath.Join(o.Dir, name))
		require.NoError(t, err)
		switch filepath.Ext(name) {
		case ".png":
			_, err = png.Decode(data)
			require.NoError(t, err, name)
		case ".svg":
			d, text := xml.NewDecoder(data), ""
			for {
				tok, err := d.Token()
				if err == io.EOF {
					break
				}
				require.NoError(t, err, name)
				if chars, ok := tok.(xml.CharData); ok {
					text += string(chars)
				}
			}
			if name == "throughput.svg" {
				for _, want := range []string{
					"Throughput", "dead links", "packets per cycle", "DDLR, saturated", "DDRC, load 0.3",
					"k-1",
				} {
					assert.Contains(t, text, want)
				}
			}
		}
		require.NoError(t, data.Close())
	}
}

// What verify counts for all sets, single runs find for some.
func TestConnectivityIsThatOfTheChecker(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	text := `name: c
about: x
measure: connectivity
base: {topology: "kary-ntree:2,3"}
axes:
  - {axis: routing, values: [deterministic-link, ddrc]}
  - {axis: faults, values: [0, 1, 4]}
samples: 40
quick: {samples: 2}
`
	e, err := loadFile("c.yaml", []byte(text))
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = e.Run(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	rows := readCSV(t, dir, "summary.csv")
	require.Len(t, rows, 6)
	for i, want := range []string{"1", "1", "", "1", "1", ""} {
		if want != "" {
			assert.Equal(t, want, rows[i]["connected"])
		} else {
			assert.NotEqual(t, "1", rows[i]["connected"], "four of sixteen links")
			assert.NotEqual(t, "0", rows[i]["connected"])
		}
	}
	runs := readCSV(t, dir, "runs.csv")
	assert.Equal(t, "4", runs[len(runs)-1]["measured_faults"])
}

func TestFileNamesAreHarmless(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "kary-ntree-4-3", fileName("kary-ntree:4,3"))
	assert.False(t, strings.ContainsAny(fileName("../../etc/x"), "./"))
}

func TestANoIsSureOnlyWhereNoValueOfTheIntervalWouldDo(t *testing.T) {
	t.Parallel()
	num := func(x float64) *float64 { return &x }
	none := make([]measure.Result, 10)
	for i := range none {
		none[i] = ok(1)
	}
	tab := tableOf(t, none, none, none, none)
	for _, c := range []struct {
		least, most float64
		holds       string
	}{
		{0.03, 0.12, "no, unsure"}, // none of ten: 0 to 0.2775, which has all of what is claimed
		{0.2, 0.5, "no, unsure"},
		{0.3, 0.5, "no"},
		{0, 0.2, "yes, unsure"},
		{0, 0.3, "yes"},
	} {
		f := tab.finding(Check{Value: "deadlocked", AtLeast: num(c.least), AtMost: num(c.most)})
		assert.Equal(t, c.holds, f.Holds, "%v to %v", c.least, c.most)
	}
	assert.Equal(t, "no", tab.finding(Check{Value: "accepted", Above: num(1)}).Holds, "1 ± 0")
	assert.Equal(t, "yes", tab.finding(Check{Value: "accepted", AtMost: num(1)}).Holds)
}

// Two points with the same samples say no more than one of them; two that err against each other
// say more.
func TestTheMeanOfPointsErrsAsTheirSamplesDoTogether(t *testing.T) {
	t.Parallel()
	of := func(list ...float64) estimate {
		e := usual.mean(list)
		e.samples = []int{0, 1, 2, 3}[:len(list)]
		return e
	}
	a, b := of(1, 2, 4, 9), of(9, 8, 6, 1)
	assert.InDelta(t, a.half(), usual.combined([]estimate{a, a}).half(), 1e-12)
	assert.InDelta(t, a.half(), usual.combined([]estimate{a, a.scaled(1, 5)}).half(), 1e-12)
	assert.InDelta(t, 0, usual.combined([]estimate{a, b}).half(), 1e-12)
	assert.InDelta(t, 5, usual.combined([]estimate{a, b}).value, 1e-12)
	other := of(1, 2, 4, 9)
	other.samples = []int{4, 5, 6, 7}
	together := usual.combined([]estimate{a, other})
	assert.InDelta(t, a.half()/measure.StudentT(3, measure.Usual)/math.Sqrt2,
		together.half()/measure.StudentT(7, measure.Usual)*math.Sqrt(7.0/6), 1e-12, "independent samples")
	assert.False(t, usual.combined([]estimate{a, of(3)}).bounded(), "of one sample nothing is known")
	s := usual.combined([]estimate{usual.share(0, 10), usual.share(5, 10)})
	assert.InDelta(t, (usual.share(0, 10).high+usual.share(5, 10).high)/2, s.high, 1e-12)
	r := usual.ratio([]float64{1, 2, 3, 4}, []float64{4, 3, 3, 4})
	r.samples = a.samples
	assert.InDelta(t, 3*r.half(), usual.combined([]estimate{r.scaled(3, 1), r.scaled(3, 2)}).half(), 1e-12)
}

// How many times nothing something is is not known, and no claim holds of it.
func TestARatioToNothingIsNone(t *testing.T) {
	t.Parallel()
	assert.True(t, math.IsNaN(usual.ratio([]float64{1, 2}, []float64{0, 0}).value))
	tab := tableOf(t, []measure.Result{ok(0), ok(0)}, []measure.Result{ok(5), ok(6)}, []measure.Result{ok(4), ok(4)},
		[]measure.Result{ok(4), ok(4)})
	one := 1.0
	f := tab.finding(Check{
		Value: "accepted", Where: map[string]Some{"load": {"saturated"}},
		Against: map[string]Value{"faults": "0"}, Above: &one,
	})
	assert.Equal(t, NotRun, f.Holds)
}

// A run that its bound ended in the warm-up has measured nothing. It says nothing about throughput,
// least of all that there was none.
func TestARunWithoutAWindowIsNoPartOfMeans(t *testing.T) {
	t.Parallel()
	none := ok(0)
	none.WarmupCycles = none.Cycles
	tab := tableOf(t, []measure.Result{ok(10), none, ok(12)}, []measure.Result{none}, []measure.Result{ok(4)},
		[]measure.Result{ok(4)})
	assert.InDelta(t, 11, tab.estimate(0, columnAt("accepted")).value, 1e-12)
	tab.e.Exclude = []string{}
	assert.InDelta(t, 11, tab.estimate(0, columnAt("accepted")).value, 1e-12, "whatever else is left out")
	assert.InDelta(t, 1, tab.estimate(0, columnAt("connected")).value, 1e-12, "shares are of all runs")
	assert.Equal(t, "Means leave out runs that ended before their window: 2 of 6.", excludedText(tab))
	tab.e.Exclude = []string{deadlocked}
	assert.Equal(t, "Means leave out runs that were deadlocked or ended before their window: 2 of 6.", excludedText(tab))
	none.Cycles, none.WarmupCycles = 0, 0
	assert.True(t, tab.included(rowOf(none)), "connectivity has no time")
}

// The worst value may be certain where a better one is not: the verdict is as sure as the least
// sure of what it needs.
func TestAVerdictIsAsSureAsAllThatItNeeds(t *testing.T) {
	t.Parallel()
	near, wide, none := []measure.Result{ok(10.5), ok(10.5), ok(10.6)}, []measure.Result{ok(9), ok(12), ok(12)},
		[]measure.Result{bad(0)}
	tab := tableOf(t, near, none, wide, none)
	ten, twenty := 10.0, 20.0
	zero := map[string]Some{"faults": {"0"}}
	for _, c := range []struct {
		check Check
		holds string
	}{
		{Check{Value: "accepted", Where: zero, Above: &ten}, "yes, unsure"},
		{Check{Value: "accepted", Where: zero, Above: &ten, Of: ofAny}, "yes"},
		{Check{Value: "accepted", Where: zero, Above: &twenty}, "no"},
		{Check{Value: "accepted", Where: zero, Above: &twenty, Of: ofAny}, "no"},
		{Check{Value: "accepted", Where: zero, Below: &ten, Of: ofAny}, "no, unsure"},
		{Check{Value: "accepted", Where: zero, Below: &ten}, "no"},
		{Check{Value: "accepted", Where: zero, Below: &ten, Of: ofMean}, "no, unsure"},
	} {
		assert.Equal(t, c.holds, tab.finding(c.check).Holds, "%+v", c.check)
	}
	f := tab.finding(Check{Value: "accepted", Where: map[string]Some{"load": {"saturated"}}, Above: &ten})
	assert.Equal(t, "10.53 ± 0.14; no run counts at 1 more", f.Ours, "what is left out is said")
	f = tab.finding(Check{Value: "accepted", Where: map[string]Some{"faults": {"2"}}, Above: &ten})
	assert.Equal(t, []string{NotRun, "no run counts"}, []string{f.Holds, f.Ours})
}

func TestAPointIsFoundByWhatItDiffersIn(t *testing.T) {
	t.Parallel()
	e := small(t)
	tab := &table{e: e, plan: &e.full, level: usual}
	for i := range e.full.points {
		at := map[string]Value{}
		for k, a := range e.full.axes {
			at[a.name] = e.full.points[i].at[k]
		}
		for _, from := range []int{0, i, len(e.full.points) - 1} {
			require.Equal(t, i, tab.beside(from, at))
		}
	}
	assert.Equal(t, -1, tab.beside(0, map[string]Value{"faults": "99"}))
}
