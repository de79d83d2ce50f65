package chart_test

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/chart"
)

func sample() chart.Chart {
	inf := math.Inf(1)
	return chart.Chart{
		Title: "T", X: "x", Y: "y",
		Curves: []chart.Curve{
			{Name: "one", Points: []chart.Point{{X: 0, Y: 1, Low: 0.5, High: 1.5}, {X: 1, Y: 2, Low: -inf, High: inf}, {X: 2, Y: math.NaN()}}},
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
	require.ErrorIs(t, chart.Chart{Curves: []chart.Curve{{Name: "x", Points: []chart.Point{{Y: math.NaN()}}}}}.Write(&bytes.Buffer{}, "svg"), chart.ErrEmpty)
	require.ErrorIs(t, chart.Chart{LogY: true, Curves: []chart.Curve{{Points: []chart.Point{{Y: 0}}}}}.Write(&bytes.Buffer{}, "svg"), chart.ErrEmpty)
	require.ErrorIs(t, chart.Chart{LogX: true, Curves: []chart.Curve{{Points: []chart.Point{{Y: 1}}}}}.Write(&bytes.Buffer{}, "svg"), chart.ErrEmpty)
	require.Error(t, sample().Write(&bytes.Buffer{}, "bmp"))
	require.ErrorContains(t, sample().Save(filepath.Join(t.TempDir(), "none", "x.svg")), "x.svg")
}
