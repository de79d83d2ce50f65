package measure

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// StudentT is the 97.5% quantile of Student's t with so many degrees of freedom, at least one: a 95%
// confidence interval is so many standard errors to each side.
func StudentT(degrees int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile(0.975)
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
	return mean, StudentT(n-1) * deviation / math.Sqrt(float64(n))
}
