package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
	"github.com/weft-fabric/weft/harness/measure"
)

// level is how often a confidence interval may miss.
type level float64

// usual is the level of tables and plots, whose intervals are of 95%.
const usual level = measure.Usual

// estimate is a value with its confidence interval, which is from minus to plus infinity when there
// are too few samples for one.
type estimate struct {
	value, low, high float64
	n                int

	// What each sample adds to n times the error of a value that is no share, and which samples
	// these are: values of other points with the same samples err together, see combined.
	parts   []float64
	samples []int
}

// bounded reports whether there is an interval.
func (e estimate) bounded() bool { return !math.IsInf(e.low, 0) && !math.IsInf(e.high, 0) }

// half is half the width of the interval of a mean.
func (e estimate) half() float64 { return (e.high - e.low) / 2 }

// scaled is e times f plus a.
func (e estimate) scaled(f, a float64) estimate {
	low, high := float64(e.low*f)+a, float64(e.high*f)+a
	s := estimate{value: float64(e.value*f) + a, low: min(low, high), high: max(low, high), n: e.n, samples: e.samples}
	for _, x := range e.parts {
		s.parts = append(s.parts, float64(x*f))
	}
	return s
}

// unknown is a value of which samples do not say how far it may be off.
func unknown(value float64, n int) estimate {
	return estimate{value: value, low: math.Inf(-1), high: math.Inf(1), n: n}
}

// known is a value that is known exactly.
func known(value float64, n int) estimate {
	return estimate{value: value, low: value, high: value, n: n}
}

// around is the estimate of that value, of samples that are independent and add these parts to its
// error. Products are rounded for themselves (float64(...)), so that machines that could multiply
// and add at once come to the same digits.
func (v level) around(value float64, parts []float64) estimate {
	n, sum := len(parts), 0.0
	for _, x := range parts {
		sum += float64(x * x)
	}
	if n < 2 || math.IsNaN(sum) {
		return unknown(value, n)
	}
	h := measure.StudentT(n-1, float64(v)) * math.Sqrt(sum/float64(n-1)/float64(n))
	return estimate{value: value, low: value - h, high: value + h, n: n, parts: parts}
}

// mean is the mean of samples that are independent; NaN of none.
func (v level) mean(list []float64) estimate {
	m := average(list)
	parts := make([]float64, len(list))
	for i, x := range list {
		parts[i] = x - m
	}
	return v.around(m, parts)
}

func average(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// share is the share of hits among n, with Wilson's interval, which is right for few and for none
// too.
func (v level) share(hits, n int) estimate {
	if n == 0 {
		return unknown(math.NaN(), 0)
	}
	p := float64(hits) / float64(n)
	middle, h := tolerate.Wilson(uint64(hits), uint64(n), distuv.UnitNormal.Quantile(1-float64(v)/2))
	return estimate{value: p, low: max(0, min(p, middle-h)), high: min(1, max(p, middle+h)), n: n}
}

// difference is a-b of paired samples.
func (v level) difference(a, b []float64) estimate {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return v.mean(d)
}

// alike is the difference of two shares where all n pairs of runs differ by the same d. Its interval
// allows for pairs that were not drawn: as many as Wilson's of no hit among n, each as far from d as
// can be.
func (v level) alike(d float64, n int) estimate {
	other := v.share(0, n).high
	return estimate{value: d, low: d - float64(other*(1+d)), high: d + float64(other*(1-d)), n: n}
}

// ratio is the ratio of the means of paired samples, its error by the delta method; NaN where the
// mean below is 0.
func (v level) ratio(a, b []float64) estimate {
	ma, mb := average(a), average(b)
	if mb == 0 {
		return unknown(math.NaN(), len(a))
	}
	r := ma / mb
	parts := make([]float64, len(a))
	for i := range a {
		parts[i] = (a[i] - ma - float64(r*(b[i]-mb))) / mb
	}
	return v.around(r, parts)
}

// combined is the mean of estimates. Points of an experiment have the same traffic and faults
// sample by sample, and may be compared with the same point: they err together, and by how much
// their samples say. Of shares, which are not known by sample, it is taken to be as much as can be.
func (v level) combined(list []estimate) estimate {
	var all estimate
	k, whole := float64(len(list)), true
	errs := map[int]float64{} // by sample
	for _, e := range list {
		all.value, all.low, all.high = all.value+e.value/k, all.low+e.low/k, all.high+e.high/k
		all.n += e.n
		whole = whole && len(e.samples) > 0 && len(e.samples) == len(e.parts)
		for i := range min(len(e.samples), len(e.parts)) {
			errs[e.samples[i]] += e.parts[i] / float64(float64(e.n)*k)
		}
	}
	if !whole || !all.bounded() {
		return all
	}
	parts := make([]float64, 0, len(errs))
	for _, s := range slices.Sorted(maps.Keys(errs)) {
		parts = append(parts, errs[s]*float64(len(errs)))
	}
	n := all.n
	all = v.around(all.value, parts)
	all.n = n
	return all
}

// String prints e for people: "18.04 ± 0.12", a share as "1.2% (0.5% to 2.6%)" by the caller.
func (e estimate) String() string {
	switch {
	case math.IsNaN(e.value):
		return "none"
	case !e.bounded():
		return digits(e.value)
	case math.Abs(e.high-e.value-(e.value-e.low)) > 1e-9*math.Abs(e.value)+1e-12:
		return fmt.Sprintf("%s (%s to %s)", digits(e.value), digits(e.low), digits(e.high))
	}
	half := e.half()
	if half <= 1e-9*math.Abs(e.value) { // rounding
		return digits(e.value) + " ± 0"
	}
	places := min(9, max(0, 1-int(math.Floor(math.Log10(half))))) // two digits of the interval
	return fmt.Sprintf("%.*f ± %.*f", places, e.value, places, half)
}

// digits prints what people read of a number: four digits.
func digits(x float64) string {
	if a := math.Abs(x); a >= 1000 && a < 1e15 {
		return strconv.FormatFloat(math.Round(x), 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
