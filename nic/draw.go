package nic

import (
	"math"

	"github.com/weft-fabric/weft"
)

// Rand is a source of random draws, uniform over all values. *math/rand/v2.PCG is one.
type Rand interface{ Uint64() uint64 }

// The draws below give the same bits on every machine, so that a run with a seed is the same run
// everywhere. Of floating point they use the four operations and the square root, which are rounded
// alike everywhere; not math.Log and math.Exp, which are assembly on some machines. Each product is
// converted to float64 at once, since otherwise Go may fuse it with the sum that it is part of, on
// machines that can (a test looks for one that is not).

// below draws uniformly from 0..n-1 for n < 2^32, by multiplying a 32-bit fraction. The bias is
// below n / 2^32: under one in ten thousand for the largest fabric.
func below(r Rand, n uint64) uint64 {
	return (r.Uint64() >> 32) * n >> 32
}

// fraction draws uniformly from the multiples of 2^-53 above 0 and up to 1.
func fraction(r Rand) float64 {
	return float64(float64(r.Uint64()>>11+1) / (1 << 53)) // the compiler turns it into a product
}

// share draws whether what happens with probability p/2^53 does; see inParts.
func share(r Rand, p uint64) bool { return r.Uint64()>>11 < p }

// inParts is p, from 0 to 1, in parts of 2^53.
func inParts(p float64) uint64 { return uint64(float64(p * (1 << 53))) }

// exponential draws from the exponential distribution of mean 1; at most 36.8.
func exponential(r Rand) float64 { return minusLog(fraction(r)) }

// minusLog is -ln(x) for normal x in (0, 1], relative error below 2^-49.
//
// x = 2^e m with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh(s), s = (m-1)/(m+1), of which the
// series in s*s is taken to the ninth term: |s| < 0.172, so the tenth is below 2^-50 of the sum.
func minusLog(x float64) float64 {
	bits := math.Float64bits(x)
	e := float64(int(bits>>52) - 1022)
	m := math.Float64frombits(bits&(1<<52-1) | 1022<<52) // from 1/2 to 1
	if m < math.Sqrt2/2 {
		m += m
		e--
	}
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	z2 := float64(z * z)
	z4 := float64(z2 * z2)
	low := (1.0/3 + float64(z*(1.0/5))) + float64(z2*(1.0/7+float64(z*(1.0/9))))
	high := (1.0/11 + float64(z*(1.0/13))) + float64(z2*(1.0/15+float64(z*(1.0/17))))
	series := float64(z * (low + float64(z4*high)))
	return -(float64(e*math.Ln2) + float64((s+s)*(1+series)))
}

// normal draws from the normal distribution of mean 0 and variance 1, as the ratio of two uniform
// draws from the region where u*u <= exp(-(v/u)^2 / 2) (Kinderman and Monahan).
func normal(r Rand) float64 {
	const width = 0.857763884960706796480190 // sqrt(2/e): |v| is at most that
	for {
		u := fraction(r)
		v := float64((float64(2*fraction(r)) - 1) * width)
		x := v / u
		if float64(x*x) <= float64(4*minusLog(u)) {
			return x
		}
	}
}

// gap draws the time to the next arrival of a Poisson process of the given mean interval. It
// saturates far from Never, so that adding it to the time cannot overflow.
func gap(r Rand, mean weft.Time) weft.Time {
	return saturated(float64(exponential(r) * float64(mean)))
}

// saturated is t in picoseconds, not negative, as a time that can be added to another.
func saturated(t float64) weft.Time { return weft.Time(min(t, float64(weft.Never/4))) }
