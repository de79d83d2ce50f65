package sweep

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// table is all results.
type table struct {
	e     *Experiment
	plan  *plan
	rows  [][]row    // by point and sample
	by    [][]string // versions of the program that made them, likewise
	level level      // of intervals
}

func (w *start) table() *table {
	t := &table{e: w.e, plan: w.plan, rows: make([][]row, len(w.keys)), by: make([][]string, len(w.keys)), level: usual}
	for i, keys := range w.keys {
		for _, k := range keys {
			t.rows[i] = append(t.rows[i], w.journal.done[k])
			t.by[i] = append(t.by[i], w.journal.madeBy(k))
		}
	}
	return t
}

// included reports whether means count a run.
func (t *table) included(r row) bool {
	if r.unmeasured() {
		return false
	}
	for _, why := range t.e.Exclude {
		switch {
		case why == deadlocked && r.is("deadlocked"),
			why == disconnected && !r.is("connected"),
			why == unstable && !r.is("stable"):
			return false
		}
	}
	return true
}

// When a run had a deadlock, and what stands there of one that had none.
const (
	deadlockAt = "deadlock_at"
	never      = "-1"
)

// samples are the values of a column at a point, by sample, of the runs that means count; of a bool
// column of all runs, and of the time of a deadlock of all runs that had one.
func (t *table) samples(point, column int) map[int]float64 {
	m := map[int]float64{}
	for s, r := range t.rows[point] {
		counts := columns[column].counted() || t.included(r)
		if columns[column].name == deadlockAt {
			counts = r[column] != never
		}
		if counts {
			m[s] = r.number(column)
		}
	}
	return m
}

// complete reports whether each sample of a point has judged all sets of faults: then what one says
// is known exactly.
func (t *table) complete(point int) bool { return t.plan.points[point].complete(t.e.Measure) }

// estimate is the mean of a column at a point, or the share of runs for which it is true.
func (t *table) estimate(point, column int) estimate {
	m := t.samples(point, column)
	of := slices.Sorted(maps.Keys(m))
	list := values(m, of)
	if len(list) > 0 && t.complete(point) {
		return known(average(list), len(list))
	}
	if !columns[column].counted() {
		e := t.level.mean(list)
		e.samples = of
		return e
	}
	hits := 0
	for _, x := range list {
		hits += b2i(x != 0)
	}
	return t.level.share(hits, len(list))
}

// take is the mean of a column at a point, or its least or largest value there, or how far these
// are apart, which are known exactly.
func (t *table) take(what string, point, column int) estimate {
	if what == "" || what == takeMean {
		return t.estimate(point, column)
	}
	m := t.samples(point, column)
	if len(m) == 0 {
		return unknown(math.NaN(), 0)
	}
	list := values(m, slices.Sorted(maps.Keys(m)))
	x := map[string]float64{
		takeLeast: slices.Min(list), takeLargest: slices.Max(list), takeSpread: slices.Max(list) - slices.Min(list),
	}[what]
	return known(x, len(list))
}

func values(m map[int]float64, of []int) []float64 {
	list := make([]float64, len(of))
	for i, s := range of {
		list[i] = m[s]
	}
	return list
}

// matching are the points with these values of these axes, in order.
func (t *table) matching(where map[string]Some) (list []int) {
	for i := range t.plan.points {
		if t.plan.points[i].fits(t.plan, where) {
			list = append(list, i)
		}
	}
	return list
}

func (pt *point) fits(p *plan, where map[string]Some) bool {
	for name, some := range where {
		if !some.has(pt.at[p.index(name)]) {
			return false
		}
	}
	return true
}

// beside is the point that differs from another by these values; -1 when it is not run.
func (t *table) beside(i int, with map[string]Value) int {
	n := 0
	for k, a := range t.plan.axes { // points are all combinations, the last axis changing fastest
		v, moved := with[a.name]
		if !moved {
			v = t.plan.points[i].at[k]
		}
		at := slices.IndexFunc(a.values, v.same)
		if at < 0 {
			return -1
		}
		n = n*len(a.values) + at
	}
	return n
}

// runsCSV is a row for each run: its axes, sample and seed, its result, the version of the program
// that made it and the firmware that ran.
func (t *table) runsCSV() [][]string {
	head := append(t.plan.axisNames(), "sample", "seed")
	graphs := slices.ContainsFunc(t.plan.points,
		func(pt point) bool { return strings.Contains(pt.set.text("topology"), "{") })
	if graphs {
		head = append(head, "graph")
	}
	for _, c := range columns {
		head = append(head, c.name)
	}
	out := [][]string{append(head, "version", "firmware")}
	for i, rows := range t.rows {
		pt := &t.plan.points[i]
		for s, r := range rows {
			line := append(pt.coordinates(), strconv.Itoa(s), strconv.FormatUint(pt.seed(t.e.Seed, s), 10))
			if graphs {
				line = append(line, pt.set.at("topology", s))
			}
			line = append(line, r...)
			out = append(out, append(line, t.by[i][s], cmp.Or(pt.firmware, builtIn)))
		}
	}
	return out
}

func (pt *point) coordinates() []string {
	var list []string
	for _, v := range pt.at {
		list = append(list, string(v))
	}
	return list
}

// ranged reports whether tables tell the least and the largest value of a column, too.
func (t *table) ranged(c column) bool { return t.e.Measure == ofLayers && c.numeric() }

// summaryCSV is a row for each point: how many runs there were, how many of them means count, then
// for each column the mean, or the share of runs, with the ends of its 95% interval; those are
// empty when there are too few runs for one.
func (t *table) summaryCSV() [][]string {
	head := append(t.plan.axisNames(), "runs", "included", "deadlocked_runs", "disconnected_runs", "unstable_runs")
	for _, c := range columns {
		if c.numeric() || c.counted() {
			head = append(head, c.name, c.name+"_low", c.name+"_high")
			if t.ranged(c) {
				head = append(head, c.name+"_least", c.name+"_largest")
			}
		}
	}
	out := [][]string{head}
	for i, rows := range t.rows {
		var n [4]int
		for _, r := range rows {
			for k, b := range []bool{t.included(r), r.is("deadlocked"), !r.is("connected"), !r.is("stable")} {
				n[k] += b2i(b)
			}
		}
		line := append(t.plan.points[i].coordinates(), strconv.Itoa(len(rows)))
		for _, k := range n {
			line = append(line, strconv.Itoa(k))
		}
		for k, c := range columns {
			if !c.numeric() && !c.counted() {
				continue
			}
			e := t.estimate(i, k)
			low, high := formatFloat(e.low), formatFloat(e.high)
			if !e.bounded() {
				low, high = "", ""
			}
			line = append(line, formatFloat(e.value), low, high)
			if t.ranged(c) {
				for _, what := range []string{takeLeast, takeLargest} {
					line = append(line, formatFloat(t.take(what, i, k).value))
				}
			}
		}
		out = append(out, line)
	}
	return out
}
