package sweep

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// undecided is small with statements about one point: its mean latency is 10/0.7*1.5, which is 21.43.
func undecided(t *testing.T, bounds ...float64) *Experiment {
	t.Helper()
	e := small(t)
	e.Checks = nil
	for _, b := range bounds {
		where := map[string]Some{"method": {"DDLR"}, "load": {"0.3"}, "faults": {"0"}}
		e.Checks = append(e.Checks, Check{Says: "s", Ref: "r", Value: "latency_mean", Where: where, AtLeast: &b})
	}
	return e
}

func samplesOf(t *testing.T, dir string) map[int]int {
	t.Helper()
	n := map[int]int{}
	for _, r := range readCSV(t, dir, summaryName) {
		x, err := strconv.Atoi(r["runs"])
		require.NoError(t, err)
		n[len(n)] = x
	}
	return n
}

func TestSamplesAreSpentWhereAVerdictIsOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bounds []float64
		holds  []string
		most   int // samples of the point
	}{
		{[]float64{10}, []string{Holds}, 16},
		{[]float64{10, 40}, []string{Holds, HoldsNot}, 16},
		{[]float64{10, 20.6}, []string{Holds, Holds}, 256},
		{[]float64{21.43}, []string{"unsure"}, 300},
	} {
		f := &fake{}
		o := options(t, f)
		o.Samples, o.UntilDecided = 300, true
		r, err := undecided(t, c.bounds...).Run(t.Context(), o)
		require.NoError(t, err)
		for i, h := range c.holds {
			assert.Contains(t, r.Findings[i].Holds, h)
		}
		points, more := samplesOf(t, o.Dir), 0
		for _, n := range points {
			assert.LessOrEqual(t, n, c.most)
			if n > firstSamples {
				more++
			}
		}
		if c.most == firstSamples {
			assert.Zero(t, more)
		} else {
			assert.Equal(t, 1, more, "only the point that it is about: %v", points)
		}
		require.Len(t, r.Notes, 1)
		assert.Contains(t, r.Notes[0], "samples were spent where a verdict was open, 16 to ")
		made := f.all
		again, err := undecided(t, c.bounds...).Run(t.Context(), o)
		require.NoError(t, err)
		assert.Equal(t, made, f.all, "nothing is made twice")
		assert.Equal(t, again.Runs, again.Earlier)
	}
}

// Whoever looks again and again and stops when it is clear would be wrong far more often than in 5% of
// all cases, were it not for wider intervals.
func TestLookingAgainAndAgainIsPaidFor(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 1, looks(10))
	assert.Equal(t, 1, looks(16))
	assert.Equal(t, 6, looks(500))
	assert.InDelta(t, 1, stretch(1), 1e-9)
	assert.InDelta(t, 2.638/1.960, stretch(6), 1e-3)
	r := rand.New(rand.NewPCG(testenv.Seed(t, 1), 0))
	wrong, naive, all := 0, 0, 2000
	for range all {
		var list []float64
		paid, free := false, false
		for n := firstSamples; n <= 512; n *= 2 {
			for len(list) < n {
				list = append(list, r.NormFloat64())
			}
			excludes := func(e estimate) bool { return e.low > 0 || e.high < 0 }
			free = free || excludes(mean(list))
			paid = paid || excludes(mean(list).wider(stretch(looks(512))))
		}
		wrong, naive = wrong+b2i(paid), naive+b2i(free)
	}
	share := func(n int) float64 { return float64(n) / float64(all) }
	assert.Less(t, share(wrong), 0.05, "whoever is sure is wrong so often")
	assert.Greater(t, share(naive), 0.09, "and would be, with intervals as they are for one look")
}
