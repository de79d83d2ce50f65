package chart_test

import (
	"bytes"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"

	"github.com/weft-fabric/weft/harness/chart"
)

func sample() chart.Chart {
	inf := math.Inf(1)
	return chart.Chart{
		Title: "T", X: "x", Y: "y",
		Curves: []chart.Curve{
			{Name: "one", Points: []chart.Point{
				{X: 0, Y: 1, Low: 0.5, High: 1.5},
				{X: 1, Y: 2, Low: -inf, High: inf},
				{X: 2, Y: math.NaN()},
			}},
			{Name: "two", Style: 1, Color: 9, Points: []chart.Point{{X: 0, Y: 0, Low: 0, High: 0}}},
			{Name: "none"},
			{Name: "stairs", Steps: true, Points: []chart.Point{{X: 0, Y: 0.1}, {X: 2, Y: 0.2}}},
		},
		Verticals: []chart.Vertical{{At: 5, Label: "limit"}},
	}
}

func TestEqualChartsAreEqualFiles(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"svg", "png"} {
		for _, change := range []func(*chart.Chart){
			func(*chart.Chart) {},
			func(c *chart.Chart) { c.LogY = true },
			func(c *chart.Chart) { c.LogX = true },
			func(c *chart.Chart) { c.FromZero, c.Percent = true, true },
		} {
			c := sample()
			change(&c)
			var a, b bytes.Buffer
			require.NoError(t, c.Write(&a, format))
			require.NoError(t, c.Write(&b, format))
			assert.NotEmpty(t, a.Bytes())
			assert.True(t, bytes.Equal(a.Bytes(), b.Bytes()), format)
		}
	}
}

func TestACurveWithoutANameIsNotInTheLegend(t *testing.T) {
	t.Parallel()
	lines := func(name string, steps bool) int { // drawn in the colour of the curve
		var b bytes.Buffer
		c := chart.Chart{Curves: []chart.Curve{{Name: name, Steps: steps, Points: []chart.Point{{0, 1, 1, 1}, {1, 2, 2, 2}}}}}
		require.NoError(t, c.Write(&b, "svg"))
		return bytes.Count(b.Bytes(), []byte("#0072B2"))
	}
	for _, steps := range []bool{false, true} {
		assert.Less(t, lines("", steps), lines("one", steps))
		assert.NotZero(t, lines("", steps))
	}
}

func TestAChartWithNothingToDrawIsAnError(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t,
		chart.Chart{Curves: []chart.Curve{{Name: "x", Points: []chart.Point{{Y: math.NaN()}}}}}.Write(&bytes.Buffer{}, "svg"),
		chart.ErrEmpty)
	require.ErrorIs(t, chart.Chart{
		LogY:   true,
		Curves: []chart.Curve{{Points: []chart.Point{{Y: 0}}}},
	}.Write(&bytes.Buffer{}, "svg"), chart.ErrEmpty)
	require.ErrorIs(t, chart.Chart{
		LogX:   true,
		Curves: []chart.Curve{{Points: []chart.Point{{Y: 1}}}},
	}.Write(&bytes.Buffer{}, "svg"), chart.ErrEmpty)
	require.Error(t, sample().Write(&bytes.Buffer{}, "bmp"))
	require.ErrorContains(t, sample().Save(filepath.Join(t.TempDir(), "none", "x.svg")), "x.svg")
}

func labels(ticks []plot.Tick) (list []string) {
	for _, t := range ticks {
		list = append(list, t.Label)
	}
	return list
}

func TestTicksAreRoundNumbersWithinTheAxis(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to float64
		most     int
		finest   float64
		want     []string
	}{
		{0, 10, 11, 1, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
		{0, 20, 11, 1, []string{"0", "2", "4", "6", "8", "10", "12", "14", "16", "18", "20"}},
		{0, 2, 11, 1, []string{"0", "1", "2"}},
		{0, 18.01, 8, 0, []string{"0", "5", "10", "15"}},
		{0.1, 1, 11, 0, []string{"0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"}},
		{0, 200000, 11, 1, []string{
			"0", "20,000", "40,000", "60,000", "80,000", "100,000", "120,000", "140,000", "160,000",
			"180,000", "200,000",
		}},
		{-0.013, 0.011, 8, 0, []string{"-0.010", "-0.005", "0.000", "0.005", "0.010"}},
		{-3000, 3000, 4, 0, []string{"-2000", "0", "2000"}},
		{7, 7, 4, 0, []string{"7.000000"}},
	} {
		assert.Equal(t, c.want, labels(chart.Ticks(c.from, c.to, c.most, c.finest)), "%v to %v", c.from, c.to)
	}
	for _, tick := range chart.LogTicks(14, 2100) {
		assert.True(t, tick.Value >= 14 && tick.Value <= 2100, tick.Value)
	}
	assert.Equal(t, []string{"20", "50", "100", "200", "500", "1000", "2000"},
		slices.DeleteFunc(labels(chart.LogTicks(14, 2100)), func(s string) bool { return s == "" }))
	assert.Equal(t, []string{"0.01", "0.1", "1", "10", "100"},
		slices.DeleteFunc(labels(chart.LogTicks(0.01, 101)), func(s string) bool { return s == "" }))
	assert.Empty(t, chart.LogTicks(0, 1))
}

// Two samples have an interval of twelve times their difference.
func TestWideIntervalsDoNotMakeCurvesFlat(t *testing.T) {
	t.Parallel()
	marks := func(half float64, whole bool) string {
		c := chart.Chart{
			Whole: whole,
			Curves: []chart.Curve{{
				Name:   "x",
				Points: []chart.Point{{X: 0, Y: 10, Low: 10, High: 10}, {X: 1, Y: 20, Low: 20 - half, High: 20 + half}},
			}},
		}
		var b bytes.Buffer
		require.NoError(t, c.Write(&b, "svg"))
		return b.String()
	}
	for _, half := range []float64{1, 500} {
		assert.Contains(t, marks(half, false), ">10</text>")
		assert.Contains(t, marks(half, false), ">20</text>")
	}
	assert.Contains(t, marks(500, true), ">400</text>", "but when they are asked for whole")
}

func TestTheLabelOfALineStandsWhereNoCurveIs(t *testing.T) {
	t.Parallel()
	height := func(at float64) string {
		c := chart.Chart{FromZero: true, Verticals: []chart.Vertical{{At: 1, Label: "limit"}}, Curves: []chart.Curve{
			{Name: "low", Points: []chart.Point{{X: 0, Y: 5}, {X: 5, Y: 5}}},
			{Name: "x", Points: []chart.Point{{X: 0, Y: at}, {X: 5, Y: at}, {X: 9, Y: 10}}},
		}}
		var b bytes.Buffer
		require.NoError(t, c.Write(&b, "svg"))
		m := regexp.MustCompile(`y="([-0-9.]+)"[^>]*>limit<`).FindStringSubmatch(b.String())
		require.NotNil(t, m)
		return m[1]
	}
	assert.Equal(t, height(6), height(7))
	assert.NotEqual(t, height(6), height(10), "below, where a curve is at the top")
}
