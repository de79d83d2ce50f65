package sweep

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/chart"
)

func TestAnIntervalIsDrawnOfThreeSamplesOrMore(t *testing.T) {
	for samples, want := range map[int]bool{2: false, 3: true} {
		o := options(t, &fake{})
		o.Samples = samples
		w, err := plotted(t).start(o)
		require.NoError(t, err)
		w.list()
		require.NoError(t, w.all(t.Context()))
		pictures, _ := w.table().pictures()
		drawn := slices.ContainsFunc(pictures[0].Curves, func(c chart.Curve) bool {
			return slices.ContainsFunc(c.Points, func(p chart.Point) bool { return !math.IsInf(p.High, 0) })
		})
		assert.Equal(t, want, drawn, samples)
		require.NoError(t, w.journal.close())
	}
}
