package work

import (
	"cmp"
	"math"
	"slices"
)

// What jobs on many machines are cut by, chosen by us: a worker takes about so much at a time, so
// that talking to the queue costs nothing and a worker that is lost loses little; an order is given
// out in so many batches at first, of not more pieces than fit a message.
const (
	TakeSeconds = 10
	firstOffers = 64
	mostPieces  = 1000
)

// Deal cuts the pieces of an order into batches of about the same cost. The dearest come first, by
// powers of two, so that what is left for the end is small; within these the order stays.
func Deal(pieces []int, cost func(piece int) float64) (batches [][]int) {
	sorted := slices.Clone(pieces)
	class := func(i int) int { return math.Ilogb(max(cost(i), 1e-12)) }
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(class(b), class(a)) })
	all := 0.0
	for _, i := range sorted {
		all += cost(i)
	}
	for len(sorted) > 0 {
		n, sum := 1, cost(sorted[0])
		for n < min(len(sorted), mostPieces) && sum+cost(sorted[n]) <= all/firstOffers {
			sum += cost(sorted[n])
			n++
		}
		batches, sorted = append(batches, sorted[:n]), sorted[n:]
	}
	return batches
}

// Take says how many pieces of a batch a worker does at a time that takes so many seconds for a
// unit of cost; 0: it is not known yet.
func Take(costs []float64, rate float64) int {
	n, sum := 1, costs[0]
	for ; n < len(costs); n++ {
		if sum += costs[n]; rate == 0 || sum*rate > TakeSeconds {
			break
		}
	}
	return n
}

// Halve says after how many pieces a batch of two or more is cut into two of about the same cost.
func Halve(costs []float64) int {
	all := 0.0
	for _, c := range costs {
		all += c
	}
	n, sum := 1, costs[0]
	for n < len(costs)-1 && sum+costs[n] <= all/2 {
		sum += costs[n]
		n++
	}
	return n
}

// Rate is what a unit of cost takes one worker, as measured so far.
type Rate struct{ cost, seconds float64 }

// fade bounds what is remembered, so that a machine that has become slow is noticed. Chosen by us.
const fade = 8 * TakeSeconds

// Add notes a piece.
func (r *Rate) Add(cost, seconds float64) {
	r.cost, r.seconds = r.cost+cost, r.seconds+seconds
	if r.seconds > fade {
		r.cost, r.seconds = r.cost*fade/r.seconds, fade
	}
}

// Seconds are those of a unit of cost; 0: it is not known yet.
func (r *Rate) Seconds() float64 {
	if r.cost <= 0 {
		return 0
	}
	return r.seconds / r.cost
}

// Parts cuts what a worker leaves of a batch in two, so that many workers soon have some.
func Parts[T any](rest []T, costs []float64) [][]T {
	if len(rest) < 2 {
		return [][]T{rest}
	}
	n := Halve(costs)
	return [][]T{rest[:n], rest[n:]}
}
