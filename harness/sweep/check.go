package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// How points are compared.
const (
	asRatio      = "ratio"
	asDifference = "difference"
	asPercent    = "percent"
)

// Which of several points a statement is about.
const (
	ofEvery = "every"
	ofMean  = "mean"
	ofAny   = "any"
)

// What is taken of the samples of a point.
const (
	takeMean    = "mean"
	takeLeast   = "least"
	takeLargest = "largest"
	takeSpread  = "spread"
)

// Verdicts.
const (
	Holds    = "yes"
	HoldsNot = "no"
	Unsure   = "unsure" // added to a verdict when the interval reaches over the bound
	NotRun   = "not run"
)

// Finding is what results say about a statement.
type Finding struct {
	Says   string `json:"says"`
	Ref    string `json:"ref"`
	Paper  string `json:"paper"`
	Ours   string `json:"ours"`
	Holds  string `json:"holds"` // Holds or HoldsNot, perhaps with Unsure, or NotRun
	Points int    `json:"points"`
	Held   int    `json:"held"`
	Must   bool   `json:"must"`
	Why    string `json:"why,omitempty"` // it is not so here, where somebody knows
	// Samples is how many were looked at of the point that has most of them.
	Samples int `json:"samples"`
	// Needs is about how many of each point would decide an open statement; 0 where none can be named.
	Needs int `json:"needs,omitempty"`
}

// refuted reports whether a statement was looked at, and does not hold.
func (f *Finding) refuted() bool { return f.Holds != NotRun && strings.HasPrefix(f.Holds, HoldsNot) }

// findings are those of all checks.
func (t *table) findings() (list []Finding) {
	for _, c := range t.e.Checks {
		list = append(list, t.finding(c))
	}
	return list
}

func (t *table) finding(c Check) Finding {
	f := Finding{Says: c.Says, Ref: c.Ref, Paper: c.Paper, Holds: NotRun, Must: c.Must, Why: c.Why}
	list, unknown := t.measured(c)
	f.Points = len(list)
	if len(list) == 0 {
		if len(slices.Concat(t.rows...)) > 0 && unknown > 0 {
			f.Ours = "no run counts"
		}
		return f
	}
	for _, e := range list {
		f.Held += b2i(c.met(e.value))
		f.Samples = max(f.Samples, len(t.rows[e.point]))
	}
	shown := c.shown(list, t.level)
	f.Holds = c.verdict(list, shown)
	which := "the worst"
	if c.Of == ofAny {
		which = "the best"
	}
	if f.verdict() == Unsure {
		if c.plain() {
			f.Needs = c.needs(list, shown)
		}
		if c.Of != ofMean && c.settled(shown) {
			shown = c.shown(slices.DeleteFunc(slices.Clone(list), c.settled), t.level)
			which += " open one"
		}
	}
	f.Ours = shown.String()
	drawn := func(e located) bool { return !t.complete(e.point) }
	exact := !c.plain() || !slices.ContainsFunc(list, drawn)
	if exact {
		f.Ours = digits(shown.value)
	}
	if !exact && columns[columnAt(c.Value)].counted() && len(c.Against) == 0 && c.Scale == nil {
		f.Ours = percents(shown.estimate)
	}
	if c.Of != ofMean && f.Points > 1 {
		f.Ours += fmt.Sprintf(" at %s, %s of %d points; holds at %d", t.place(shown.point, list), which, f.Points, f.Held)
	}
	if unknown > 0 {
		f.Ours += fmt.Sprintf("; no run counts at %d more", unknown)
	}
	return f
}

// shown is the one of several values that tells most: their mean, the best of those of which any
// will do, or the worst.
func (c Check) shown(list []located, v level) located {
	shown := list[0]
	switch c.Of {
	case ofMean:
		shown.estimate = v.combined(estimates(list))
	case ofAny:
		for _, e := range list {
			if c.margin(e.value) > c.margin(shown.value) {
				shown = e
			}
		}
	default:
		for _, e := range list {
			if !(c.margin(e.value) >= c.margin(shown.value)) {
				shown = e
			}
		}
	}
	return shown
}

// verdict says whether the values are what is claimed. It is sure where no values of their
// intervals would change it: not only that which is shown, for another may be nearer to the bound
// by its interval.
func (c Check) verdict(list []located, shown located) string {
	impossible := func(e located) bool { return !c.possible(e.estimate) }
	holds, sure := c.met(shown.value), false
	switch {
	case c.Of == ofMean && holds:
		sure = c.certain(shown)
	case c.Of == ofMean:
		sure = impossible(shown)
	case holds == (c.Of == ofAny): // one is enough
		sure = slices.ContainsFunc(list, map[bool]func(located) bool{true: c.certain, false: impossible}[holds])
	case holds:
		sure = !slices.ContainsFunc(list, func(e located) bool { return !c.certain(e) })
	default:
		sure = !slices.ContainsFunc(list, func(e located) bool { return !impossible(e) })
	}
	text := HoldsNot
	if holds {
		text = Holds
	}
	if !sure {
		text += ", " + Unsure
	}
	return text
}

// located is an estimate at a point.
type located struct {
	estimate
	point int
}

func estimates(list []located) []estimate {
	of := make([]estimate, len(list))
	for i := range list {
		of[i] = list[i].estimate
	}
	return of
}

// place names a point among others by the axes on which they differ.
func (t *table) place(point int, among []located) string {
	var words []string
	at := t.plan.points[point].at
	for k, a := range t.plan.axes {
		for _, other := range among {
			if t.plan.points[other.point].at[k] != at[k] {
				words = append(words, a.name+" "+string(at[k]))
				break
			}
		}
	}
	return strings.Join(words, ", ")
}

// subject is a point that a statement is about, and the one that it is compared with, else itself.
type subject struct{ point, with int }

// about are the points that a statement is about.
func (t *table) about(c Check) (list []subject) {
	for _, i := range t.matching(c.Where) {
		if len(c.Against) == 0 {
			list = append(list, subject{i, i})
		} else if k := t.beside(i, c.Against); k >= 0 && k != i {
			list = append(list, subject{i, k})
		}
	}
	return list
}

// measured are the values that a statement is about, at every point that was run, and at how many
// more there is none: means leave out all their runs, or what they are compared with is nothing.
func (t *table) measured(c Check) (list []located, unknown int) {
	column := columnAt(c.Value)
	scale := 1.0
	if c.Scale != nil {
		scale = *c.Scale
	}
	for _, p := range t.about(c) {
		i, k := p.point, p.with
		e := t.take(c.Take, i, column)
		if k != i {
			e = t.compared(i, k, column, c)
			if c.Per != "" {
				a, _ := t.plan.points[i].at[t.plan.index(c.Per)].number()
				b, _ := t.plan.points[k].at[t.plan.index(c.Per)].number()
				e = e.scaled(1/(a-b), 0)
			}
		}
		if e = e.scaled(scale, 0); math.IsNaN(e.value) {
			unknown++
		} else {
			list = append(list, located{e, i})
		}
	}
	return list, unknown
}

// compared compares two points sample by sample, which have the same seeds where only routing,
// load, buffers or the number of faults differ. A sample that means leave out at one of them is
// left out at both.
func (t *table) compared(i, k, column int, c Check) estimate {
	a, b := t.samples(i, column), t.samples(k, column)
	var both []int
	for _, s := range slices.Sorted(maps.Keys(a)) {
		if _, ok := b[s]; ok {
			both = append(both, s)
		}
	}
	x, y := values(a, both), values(b, both)
	e := t.level.ratio(x, y)
	switch c.As {
	case asDifference:
		e = t.level.difference(x, y)
		if columns[column].counted() && e.low == e.high {
			e = t.level.alike(e.value, len(both))
		}
	case asPercent:
		e = e.scaled(100, -100)
	}
	if t.complete(i) && t.complete(k) && len(both) > 0 {
		return known(e.value, len(both))
	}
	e.samples = both
	return e
}

// met reports whether a value is within the bounds claimed.
func (c Check) met(x float64) bool {
	return !math.IsNaN(x) && (c.AtLeast == nil || x >= *c.AtLeast) && (c.AtMost == nil || x <= *c.AtMost) &&
		(c.Above == nil || x > *c.Above) && (c.Below == nil || x < *c.Below)
}

// within are the bounds claimed, infinite where there is none.
func (c Check) within() (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	for _, b := range []*float64{c.AtLeast, c.Above} {
		if b != nil {
			low = max(low, *b)
		}
	}
	for _, b := range []*float64{c.AtMost, c.Below} {
		if b != nil {
			high = min(high, *b)
		}
	}
	return low, high
}

// possible reports whether any value of the interval of e is within the bounds claimed. The
// interval of a few runs can be wider than they are.
func (c Check) possible(e estimate) bool {
	if !e.bounded() {
		return true
	}
	low, high := c.within()
	low, high = max(low, e.low), min(high, e.high)
	return low <= high && c.met((low+high)/2)
}

// certain reports whether all values of the interval of e are within the bounds claimed.
func (c Check) certain(e located) bool { return c.met(e.low) && c.met(e.high) }

// plain reports whether the statement is about means.
func (c Check) plain() bool { return c.Take == "" || c.Take == takeMean }

// margin is how far a value is from the nearest bound, negative outside.
func (c Check) margin(x float64) float64 {
	low, high := c.within()
	return min(x-low, high-x)
}

// percents prints a share.
func percents(e estimate) string {
	p := e.scaled(100, 0)
	three := func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
	return fmt.Sprintf("%s%% (%s%% to %s%% of %d runs)", three(p.value), three(p.low), three(p.high), p.n)
}
