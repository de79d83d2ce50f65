package nic

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// permutation is a pattern in which the destination of a NIC is a function of the digits of its
// number, as Dally and Towles define them (Principles and Practices of Interconnection Networks,
// section 3.2). Digit 0 is the least significant.
type permutation struct {
	whole bool // unless a radix is given, the whole number is one digit; otherwise bits
	even  bool // as many digits in the upper half as in the lower
	digit func(d []int, i, k int) int
}

var permutations = map[string]permutation{
	"complement": {digit: func(d []int, i, k int) int { return k - 1 - d[i] }},
	"reversal":   {digit: func(d []int, i, _ int) int { return d[len(d)-1-i] }},
	"transpose":  {digit: func(d []int, i, _ int) int { return d[(i+len(d)/2)%len(d)] }, even: true},
	"shuffle":    {digit: func(d []int, i, _ int) int { return d[(i+len(d)-1)%len(d)] }},
	"rotation":   {digit: func(d []int, i, _ int) int { return d[(i+1)%len(d)] }},
	"neighbour":  {digit: func(d []int, i, k int) int { return (d[i] + 1) % k }, whole: true},
	"tornado":    {digit: func(d []int, i, k int) int { return (d[i] + (k+1)/2 - 1) % k }, whole: true},
}

// permute is where each of the NICs sends. The error says how many there would have to be.
func (t *Traffic) permute(nics int) ([]weft.NICID, error) {
	p := permutations[t.Pattern]
	k := t.Radix
	switch {
	case k == 0 && p.whole:
		k = nics
	case k == 0:
		k = 2
	}
	size, digits := int64(1), 0
	for size < int64(nics) {
		size *= int64(k)
		digits++
	}
	if size != int64(nics) || p.even && digits%2 == 1 {
		kind := "a power"
		if p.even {
			kind = "an even power"
		}
		low, high := around(int64(nics), int64(k), p.even)
		return nil, fmt.Errorf("%s needs a number of NICs that is %s of %d, not %d: %s%d would do", t.Pattern, kind, k, nics,
			low, high)
	}
	d := make([]int, digits)
	to := make([]weft.NICID, nics)
	for id := range to {
		for i, rest := 0, id; i < digits; i, rest = i+1, rest/k {
			d[i] = rest % k
		}
		dst := 0
		for i := digits - 1; i >= 0; i-- {
			dst = dst*k + p.digit(d, i, k)
		}
		to[id] = weft.NICID(dst)
	}
	return to, nil
}

// around are the numbers of NICs next to n that would do; of the one below, a text.
func around(n, k int64, even bool) (low string, high int64) {
	if even {
		k *= k
	}
	for high = k; high < n; high *= k {
		low = fmt.Sprintf("%d or ", high)
	}
	return low, high
}
