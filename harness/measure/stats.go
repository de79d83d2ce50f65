package measure

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// interval is the mean of independent samples and half the width of its 95% confidence interval by
// Student's t distribution: the mean is within it of what infinitely many samples would give in 95
// of 100 cases. With fewer than two samples the width is 0: nothing is known of it.
func interval(samples []float64) (mean, half float64) {
	n := float64(len(samples))
	switch {
	case n == 0:
		return 0, 0
	case n < 2:
		return samples[0], 0
	}
	mean, deviation := stat.MeanStdDev(samples, nil)
	return mean, distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n)
}
