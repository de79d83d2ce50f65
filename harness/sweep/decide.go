package sweep

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// firstSamples is how many of each point are made before a verdict is looked at. Chosen by us: the
// intervals of fewer say little of what they are.
const firstSamples = 16

// looks is how often verdicts are looked at while samples double from the first to so many.
func looks(samples int) int {
	n := 1
	for s := firstSamples; s < samples; s *= 2 {
		n++
	}
	return n
}

// stretch is by how much intervals are wider when verdicts are looked at so often: each look may be
// wrong in a part of the 5% (Bonferroni), so that whoever stops when a verdict is clear is wrong in 5% of
// all cases at most.
func stretch(looks int) float64 {
	z := func(share float64) float64 { return math.Sqrt2 * math.Erfinv(1-share) }
	return z(0.05/float64(looks)) / z(0.05)
}

// wider is e with its interval wider by that factor; 0 is 1.
func (e estimate) wider(by float64) estimate {
	if by == 0 || by == 1 {
		return e
	}
	e.low, e.high = e.value-(e.value-e.low)*by, e.value+(e.high-e.value)*by
	return e
}

// untilDecided makes samples where a verdict is open, twice as many at each look, until there is none or
// all samples are made. Sample by sample points have the same faults and traffic, so what is compared
// differs by little more than what is compared.
func (w *start) untilDecided(ctx context.Context) error {
	w.want = make([]int, len(w.plan.points))
	for i := range w.want {
		w.want[i] = min(firstSamples, w.Samples)
	}
	w.stretch = stretch(looks(w.Samples))
	for {
		if err := w.round(ctx); err != nil {
			return err
		}
		t, more := w.table(), false
		for i := range t.open() {
			if n := min(2*w.want[i], w.Samples); n > w.want[i] {
				w.want[i], more = n, true
			}
		}
		if !more {
			return nil
		}
	}
}

// open are the points that an open verdict is about.
func (t *table) open() map[int]bool {
	open := map[int]bool{}
	for _, c := range t.e.Checks {
		list, _ := t.measured(c)
		if len(list) == 0 || decided(t.verdict(c, list, c.shown(list))) {
			continue
		}
		for _, e := range list {
			wide := e.wider(t.stretch)
			if c.Of != ofMean && (c.met(wide.low) && c.met(wide.high) || !c.possible(wide)) {
				continue // more of this one changes nothing
			}
			open[e.point] = true
			if k := t.beside(e.point, c.Against); len(c.Against) > 0 && k >= 0 {
				open[k] = true
			}
		}
	}
	return open
}

func decided(verdict string) bool { return verdict == Holds || verdict == HoldsNot }

// verdict is that of a check, by intervals that are as wide as looking at them again and again needs.
func (t *table) verdict(c Check, list []located, shown located) string {
	wide := make([]located, len(list))
	for i, e := range list {
		wide[i] = located{e.wider(t.stretch), e.point}
	}
	shown.estimate = shown.wider(t.stretch)
	return c.verdict(wide, shown)
}

// spent says how many samples points have.
func (w *start) spent() string {
	return fmt.Sprintf("samples were spent where a verdict was open, %d to %d at a point, looked at up to %d times: "+
		"verdicts are by intervals that are wider by %.2f for that", slices.Min(w.want), slices.Max(w.want),
		looks(w.Samples), w.stretch)
}
