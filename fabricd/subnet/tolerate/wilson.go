package tolerate

import "math"

// Wilson is Wilson's interval of 95% for a share of which so many of n samples were found: its
// middle, and half of its width. It is right for few hits and for none too. n is at least 1.
//
// Products are rounded for themselves (float64(...)), so that machines that could multiply and add
// at once come to the same digits.
func Wilson(hits, n uint64) (middle, half float64) {
	const z = 1.959963984540054
	p, nn := float64(hits)/float64(n), float64(n)
	middle = (p + z*z/(2*nn)) / (1 + z*z/nn)
	half = z * math.Sqrt(float64(p*(1-p))/nn+z*z/(4*nn*nn)) / (1 + z*z/nn)
	return middle, half
}
