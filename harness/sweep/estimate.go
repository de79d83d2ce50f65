package sweep

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"
)

// estimate is a value with its 95% confidence interval, which is from minus to plus infinity when there are too few samples for one.
type estimate struct {
	value, low, high float64
	n                int
}

// exact reports whether there is an interval.
func (e estimate) bounded() bool { return !math.IsInf(e.low, 0) && !math.IsInf(e.high, 0) }

// half is half the width of the interval of a mean.
func (e estimate) half() float64 { return (e.high - e.low) / 2 }

// scaled is e times f plus a.
func (e estimate) scaled(f, a float64) estimate {
	low, high := float64(e.low*f)+a, float64(e.high*f)+a
	return estimate{float64(e.value*f) + a, min(low, high), max(low, high), e.n}
}

// studentT is the 97.5% quantile of Student's t with so many degrees of freedom.
func studentT(nu int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(nu)}.Quantile(0.975)
}

// around is the estimate of that value with that standard error, of n samples.
func around(value, standardError float64, n int) estimate {
	if n < 2 || math.IsNaN(standardError) {
		return estimate{value, math.Inf(-1), math.Inf(1), n}
	}
	h := studentT(n-1) * standardError
	return estimate{value, value - h, value + h, n}
}

// mean is the mean of samples that are independent; NaN of none. Products are rounded for themselves (float64(...)), so that machines that
// could multiply and add at once come to the same digits.
func mean(list []float64) estimate {
	n := len(list)
	m := average(list)
	return around(m, math.Sqrt(covariance(list, list)/float64(n)), n)
}

func average(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// covariance of two lists of the same length, with n-1 below.
func covariance(a, b []float64) float64 {
	ma, mb, sum := average(a), average(b), 0.0
	for i := range a {
		sum += float64((a[i] - ma) * (b[i] - mb))
	}
	return sum / float64(len(a)-1)
}

// share is the share of hits among n, with Wilson's interval, which is right for few and for none too.
func share(hits, n int) estimate {
	if n == 0 {
		return estimate{math.NaN(), math.Inf(-1), math.Inf(1), 0}
	}
	const z = 1.959963984540054
	p, nn := float64(hits)/float64(n), float64(n)
	middle := (p + z*z/(2*nn)) / (1 + z*z/nn)
	h := z * math.Sqrt(float64(p*(1-p))/nn+z*z/(4*nn*nn)) / (1 + z*z/nn)
	return estimate{p, max(0, min(p, middle-h)), min(1, max(p, middle+h)), n}
}

// difference is a-b of paired samples.
func difference(a, b []float64) estimate {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return mean(d)
}

// ratio is the ratio of the means of paired samples, its standard error by the delta method.
func ratio(a, b []float64) estimate {
	n := len(a)
	ma, mb := average(a), average(b)
	r := ma / mb
	v := covariance(a, a) - float64(2*r*covariance(a, b)) + float64(r*r*covariance(b, b))
	return around(r, math.Sqrt(max(0, v)/float64(n))/math.Abs(mb), n)
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
	if half == 0 {
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
