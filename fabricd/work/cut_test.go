package work_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/work"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestEveryPieceIsDealtOnceAndTheDearestFirst(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	costs := make([]float64, 5000)
	var pieces []int
	for i := range costs {
		if costs[i] = math.Exp(3 * r.NormFloat64()); i%3 > 0 {
			pieces = append(pieces, i)
		}
	}
	batches := work.Deal(pieces, func(i int) float64 { return costs[i] })
	seen, last := map[int]bool{}, math.Inf(1)
	for _, b := range batches {
		for _, p := range b {
			assert.False(t, seen[p])
			seen[p] = true
			assert.Less(t, costs[p], 2*last)
			last = costs[p]
		}
	}
	assert.Len(t, seen, len(pieces))
	assert.Greater(t, len(batches), 30)
}

func TestABatchIsCutByWhatItTakes(t *testing.T) {
	t.Parallel()
	costs := []float64{4, 4, 4, 4, 1, 1, 1, 1}
	assert.Equal(t, 1, work.Take(costs, 0), "nothing is known of the rate")
	assert.Equal(t, 2, work.Take(costs, 1))
	assert.Equal(t, 8, work.Take(costs, 0.01))
	assert.Equal(t, 1, work.Take(costs, 100), "one at least")
	assert.Equal(t, 2, work.Halve(costs))
	assert.Equal(t, 1, work.Halve([]float64{100, 1, 1}))
	assert.Equal(t, 2, work.Halve([]float64{1, 1, 100}))
	assert.Equal(t, 1, work.Halve([]float64{5, 5}))
}

// A thousand workers: a twentieth of them ten times slower than the rest, some that become so, a
// tenth that die; pieces whose costs differ a hundred times and are not what was said of them. Nine
// of ten are at work until 98% is done.
func TestAThousandWorkersAreBusyToTheEnd(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 7))
		costs, takes := make([]float64, 200_000), make([]float64, 200_000)
		for i := range costs {
			costs[i] = min(30, math.Exp(r.NormFloat64()))
			takes[i] = costs[i] * math.Exp(0.5*r.NormFloat64())
		}
		slow, dies := make([]float64, 1000), make([]float64, 1000)
		for w := range slow {
			slow[w] = 1
			switch {
			case w%20 == 0:
				slow[w] = 10
			case w%20 == 1:
				slow[w] = -200 // fast until then
			}
			if w%10 == 5 {
				dies[w] = 1 + 250*r.Float64()
			}
		}
		d := work.Farm{
			Workers: 1000, Trip: 0.005, Lost: 20,
			Seconds: func(w, p int, at float64) float64 {
				switch s := slow[w]; {
				case s > 0:
					return s * takes[p]
				case at < -s:
					return takes[p]
				}
				return 10 * takes[p]
			},
			Dies: func(w int) float64 { return dies[w] },
		}.Run(costs)
		for p, end := range d.Ends {
			if !assert.Positive(t, end, fmt.Sprint("piece ", p)) {
				return
			}
		}
		t.Logf("busy %.3f, %.0f s, %d twice", d.Busy, d.Seconds, d.Twice)
		assert.GreaterOrEqual(t, d.Busy, 0.90)
	}
}
