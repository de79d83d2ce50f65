package fault

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const bin = 10 * time.Millisecond

// flat is n bins of the same.
func flat(n int, packets uint64) []uint64 { return slices.Repeat([]uint64{packets}, n) }

func TestDegradationOfSteadyTraffic(t *testing.T) {
	for _, c := range []struct {
		name    string
		bins    []uint64
		at, end int
		want    Degradation
	}{
		{
			"none", flat(300, 10), 100, 300,
			Degradation{Baseline: 1000, Lowest: 1000},
		},
		{
			"a stop of 200 ms, 30 ms after the fault",
			slices.Concat(flat(103, 10), flat(20, 0), flat(177, 10)), 100, 300,
			Degradation{
				Found: true, Baseline: 1000, Lowest: 0, Depth: 100, LowestAfter: new(0.03),
				MadeGoodAfter: new(0.23),
			},
		},
		{
			"half of it for 300 ms",
			slices.Concat(flat(100, 10), flat(30, 5), flat(170, 10)), 100, 300,
			Degradation{
				Found: true, Baseline: 1000, Lowest: 500, Depth: 50, LowestAfter: new(0.),
				MadeGoodAfter: new(0.3),
			},
		},
		{
			"a single bin",
			slices.Concat(flat(100, 10), flat(1, 0), flat(199, 10)), 100, 300,
			Degradation{
				Found: true, Baseline: 1000, Lowest: 800, Depth: 20, LowestAfter: new(0.),
				MadeGoodAfter: new(0.01),
			},
		},
		{
			"never made good",
			slices.Concat(flat(100, 10), flat(200, 6)), 100, 300,
			Degradation{Found: true, Baseline: 1000, Lowest: 600, Depth: 40, LowestAfter: new(0.)},
		},
		{
			"back for 90 ms and gone again is not made good",
			slices.Concat(flat(100, 10), flat(20, 0), flat(9, 10), flat(20, 0)), 100, 149,
			Degradation{Found: true, Baseline: 1000, Lowest: 0, Depth: 100, LowestAfter: new(0.)},
		},
		{
			"back twice for 90 ms is not either",
			slices.Concat(flat(100, 10), flat(20, 0), flat(9, 10), flat(5, 0), flat(9, 10)), 100, 143,
			Degradation{Found: true, Baseline: 1000, Lowest: 0, Depth: 100, LowestAfter: new(0.)},
		},
		{
			"back for 100 ms is",
			slices.Concat(flat(100, 10), flat(20, 0), flat(10, 10), flat(20, 0)), 100, 150,
			Degradation{
				Found: true, Baseline: 1000, Lowest: 0, Depth: 100, LowestAfter: new(0.),
				MadeGoodAfter: new(0.2),
			},
		},
		{
			"what comes after the end is not looked at",
			slices.Concat(flat(200, 10), flat(100, 0)), 100, 200,
			Degradation{Baseline: 1000, Lowest: 1000},
		},
		{
			"what came more than a second before is not looked at",
			slices.Concat(flat(500, 100), flat(100, 10), flat(100, 10)), 600, 700,
			Degradation{Baseline: 1000, Lowest: 1000},
		},
		{
			"more than before is no dip",
			slices.Concat(flat(100, 10), flat(100, 20)), 100, 200,
			Degradation{Baseline: 1000, Lowest: 2000},
		},
		{
			"a packet less is no dip",
			slices.Concat(flat(100, 10), flat(1, 9), flat(99, 10)), 100, 200,
			Degradation{Baseline: 1000, Lowest: 980},
		},
		{"no traffic before", slices.Concat(flat(100, 0), flat(100, 10)), 100, 200, Degradation{}},
		{"no traffic at all", flat(200, 0), 100, 200, Degradation{}},
		{"nothing before", flat(200, 10), 0, 200, Degradation{}},
		{"too little before", flat(200, 10), 9, 200, Degradation{}},
		{"nothing since", flat(100, 10), 100, 100, Degradation{Baseline: 1000, Lowest: 1000}},
		{
			"too little since", slices.Concat(flat(100, 10), flat(4, 0)), 100, 104,
			Degradation{Baseline: 1000, Lowest: 1000},
		},
		{"no bins", nil, 0, 0, Degradation{}},
		{"a place outside of the bins", flat(10, 1), 11, 20, Degradation{}},
		{"a negative place", flat(10, 1), -1, 20, Degradation{}},
	} {
		got := MeasureDegradation(c.bins, bin, c.at, c.end)
		assert.InDelta(t, c.want.Depth, got.Depth, 1e-9, c.name)
		got.Depth = c.want.Depth
		assert.Equal(t, c.want, got, c.name)
	}
	assert.Equal(t, Degradation{}, MeasureDegradation(flat(200, 10), 0, 100, 200), "bins without a width")
	assert.Equal(t, Degradation{}, MeasureDegradation([]uint64{10, 20, 0, 0}, time.Second/2, 2, 4),
		"two bins before tell nothing of noise")
}

func TestBinsOfAnyWidthGiveTheSameDegradation(t *testing.T) {
	for _, width := range []time.Duration{
		time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond,
		50 * time.Millisecond, 100 * time.Millisecond,
	} {
		n := int(time.Second / width) // a second
		packets := uint64(width / (100 * time.Microsecond))
		bins := slices.Concat(flat(n, packets), flat(n/5*2, 0), flat(n, packets))
		got := MeasureDegradation(bins, width, n, len(bins))
		assert.Equal(t, Degradation{
			Found: true, Baseline: 10_000, Lowest: 0, Depth: 100, LowestAfter: new(0.),
			MadeGoodAfter: new(float64(n/5*2) * width.Seconds()),
		}, got, width)
	}
}

// poisson draws from a Poisson distribution by counting exponential gaps.
func poisson(r *rand.Rand, mean float64) (n uint64) {
	for t := r.ExpFloat64(); t < mean; t += r.ExpFloat64() {
		n++
	}
	return n
}

func noisy(r *rand.Rand, n int, mean float64) []uint64 {
	bins := make([]uint64, n)
	for i := range bins {
		bins[i] = poisson(r, mean)
	}
	return bins
}

// What is not there must not be found: fewer than 1% of runs without a fault show a degradation,
// however low the rate, long the run and short the time before.
func TestNoiseIsHardlyEverTakenForADegradation(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		mean          float64
		before, after int // bins
	}{
		{0.5, 100, 200},
		{3, 100, 200},
		{20, 100, 200},
		{1, 100, 1500},
		{20, 30, 200},
		{20, 10, 100},
		{40, 100, 200},
	} {
		found := 0
		const draws = 1000
		for range draws {
			if MeasureDegradation(noisy(r, c.before+c.after, c.mean), bin, c.before, c.before+c.after).Found {
				found++
			}
		}
		assert.Less(t, found, draws/100, "%+v", c)
	}
}

// Traffic that comes in bursts longer than a bin is noisier than its bins alone tell.
func TestBurstsAreHardlyEverTakenForADegradation(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	const draws = 500
	for range draws {
		var bins []uint64
		for len(bins) < 1100 {
			bins = append(bins, noisy(r, 5, 5+15*r.Float64())...)
		}
		if MeasureDegradation(bins, bin, 100, 1100).Found {
			found++
		}
	}
	assert.Less(t, found, draws/100)
}

// And what is there must be: a degradation to half in Poisson traffic, with when it was made good
// to 50 ms.
func TestADegradationInNoiseIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found, timely := 0, 0
	const draws = 300
	for range draws {
		bins := slices.Concat(noisy(r, 100, 40), noisy(r, 30, 20), noisy(r, 170, 40))
		d := MeasureDegradation(bins, bin, 100, 300)
		if !d.Found {
			continue
		}
		found++
		require.InDelta(t, 4000, d.Baseline, 400)
		require.InDelta(t, 50, d.Depth, 25)
		if d.MadeGoodAfter != nil && math.Abs(*d.MadeGoodAfter-0.3) <= 0.05 {
			timely++
		}
		require.Less(t, *d.LowestAfter, 0.3)
	}
	assert.Equal(t, draws, found)
	assert.Greater(t, timely, draws*9/10)
}

func TestADegradationIsToldInALine(t *testing.T) {
	assert.Equal(t, "not compared, too little before", Degradation{}.String())
	assert.Equal(t, "1000 packets/s before, no dip", Degradation{Baseline: 1000, Lowest: 980}.String())
	d := Degradation{Found: true, Baseline: 1000, Lowest: 600, Depth: 40, LowestAfter: new(0.02)}
	assert.Equal(t, "fell by 40% of 1000 packets/s after 20 ms, not made good yet", d.String())
	d.MadeGoodAfter = new(0.12)
	assert.Equal(t, "fell by 40% of 1000 packets/s after 20 ms, made good after 120 ms", d.String())
}

// Whatever the bins, the figures can be written as JSON and make sense together.
func FuzzMeasureDegradation(f *testing.F) {
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 20, 38, int64(bin))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaa!!!!!!!!!!!!!!!!!!"), 20, 38, int64(bin))
	f.Fuzz(func(t *testing.T, data []byte, at, end int, width int64) {
		bins := make([]uint64, len(data))
		for i, b := range data {
			bins[i] = uint64(b) << (b % 40)
		}
		d := MeasureDegradation(bins, time.Duration(width), at, end)
		for _, v := range []float64{d.Baseline, d.Lowest, d.Depth} {
			assert.False(t, math.IsNaN(v) || math.IsInf(v, 0) || v < 0, "%+v", d)
		}
		assert.LessOrEqual(t, d.Depth, 100.)
		assert.Equal(t, d.Found, d.LowestAfter != nil)
		assert.Equal(t, d.Found, d.Lowest < d.Baseline && d.Depth > 0)
		if d.MadeGoodAfter != nil {
			assert.Greater(t, *d.MadeGoodAfter, *d.LowestAfter)
		}
	})
}
