package measure

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Usual is how often a confidence interval may miss, unless more is asked for: intervals are of
// 95%.
const Usual = 0.05

// StudentT is how many standard errors a confidence interval reaches to each side that misses with
// this probability, by Student's t with so many degrees of freedom, at least one.
func StudentT(degrees int, misses float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile(1 - misses/2)
}

// Interval is the mean of independent samples and half the width of its 95% confidence interval by
// Student's t distribution: the mean is within it of what infinitely many samples would give in 95
// of 100 cases. With fewer than two samples the width is 0: nothing is known of it.
func Interval(samples []float64) (mean, half float64) {
	n := len(samples)
	switch {
	case n == 0:
		return 0, 0
	case n < 2:
		return samples[0], 0
	}
	mean, deviation := stat.MeanStdDev(samples, nil)
	return mean, StudentT(n-1, Usual) * deviation / math.Sqrt(float64(n))
}
