package tolerate

import "math"

// Z95 is how many standard deviations of the normal distribution have 95% of it between them.
const Z95 = 1.959963984540054

// Wilson is Wilson's interval for a share of which so many of n samples were found: its middle, and
// half of its width. It is right for few hits and for none too. n is at least 1, and z how many
// standard deviations it reaches to each side ([Z95]).
//
// Products are rounded for themselves (float64(...)), so that machines that could multiply and add
// at once come to the same digits.
func Wilson(hits, n uint64, z float64) (middle, half float64) {
	p, nn := float64(hits)/float64(n), float64(n)
	middle = (p + z*z/(2*nn)) / (1 + z*z/nn)
	half = z * math.Sqrt(float64(p*(1-p))/nn+z*z/(4*nn*nn)) / (1 + z*z/nn)
	return middle, half
}
