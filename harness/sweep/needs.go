package sweep

import "math"

// settled reports whether the interval of e lies on one side of the bounds claimed.
func (c Check) settled(e located) bool { return c.certain(e) || !c.possible(e.estimate) }

// maxNeeds bounds [Finding.Needs], chosen by us: nobody makes so many.
const maxNeeds = 1_000_000

// needs is about how many samples of each point decide an open statement, if the values stay what
// they are: intervals get narrower with the root of the samples. It is 0 where that cannot be said, as
// of a value on the bound, or where more than a million are needed.
func (c Check) needs(list []located, shown located) int {
	if c.Of == ofMean {
		shown.n /= len(list) // of each point
		list = []located{shown}
	}
	holds := c.met(shown.value)
	oneIsEnough := holds == (c.Of == ofAny)
	most, least := 0.0, math.Inf(1)
	for _, e := range list {
		if c.met(e.value) != holds {
			continue
		}
		n := float64(e.n)
		if !c.settled(e) {
			ratio := e.half() / c.margin(e.value)
			n *= ratio * ratio
		}
		most, least = max(most, n), min(least, n)
	}
	if oneIsEnough {
		most = least
	}
	if !(most <= maxNeeds) {
		return 0
	}
	digit := max(1, math.Pow(10, math.Floor(math.Log10(most))-1)) // the second
	return int(math.Ceil(most/digit) * digit)
}
