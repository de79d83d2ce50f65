package sweep

import (
	"cmp"
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/harness/chart"
)

// What bars are.
const (
	barsInterval = "interval"
	barsRange    = "range"
)

// fewestOfBar is of how many samples an interval is drawn. That of two is a dozen times as wide as
// they are apart, by Student's t, and hides the curves.
const fewestOfBar = 3

// picture is a chart and the file it goes to.
type picture struct {
	name string // without its end
	chart.Chart
}

// pictures are those of all plots that have something to show; the names of the others are empty.
func (t *table) pictures() (list []picture, empty []string) {
	for _, pl := range t.e.Plots {
		if pl.Split == "" {
			list = append(list, t.picture(pl, pl.Name, pl.Title, pl.Where))
			continue
		}
		for _, v := range t.plan.axes[t.plan.index(pl.Split)].values {
			where := map[string]Some{pl.Split: {v}}
			for name, some := range pl.Where {
				if name == pl.Split && !some.has(v) {
					where = nil
				} else if where != nil && name != pl.Split {
					where[name] = some
				}
			}
			if where != nil {
				list = append(list, t.picture(pl, pl.Name+"-"+fileName(string(v)), pl.Title+", "+called(pl.Split, v), where))
			}
		}
	}
	return slices.DeleteFunc(list, func(p picture) bool {
		nothing := !slices.ContainsFunc(p.Curves, func(c chart.Curve) bool { return len(c.Points) > 0 })
		if nothing {
			empty = append(empty, p.name)
		}
		return nothing
	}), empty
}

var notInFiles = regexp.MustCompile(`[^a-z0-9]+`)

func fileName(text string) string {
	return strings.Trim(notInFiles.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

// called is a value as titles and legends have it: a number with the name of its axis.
func called(axis string, v Value) string {
	if _, isNumber := v.number(); isNumber {
		return strings.ReplaceAll(axis, "_", " ") + " " + string(v)
	}
	return string(v)
}

func (t *table) picture(pl Plot, name, title string, where map[string]Some) picture {
	p := picture{name, chart.Chart{
		Title: title, X: pl.XLabel, Y: pl.YLabel, Percent: pl.Percent, LogX: pl.LogX,
		LogY: pl.LogY, FromZero: pl.FromZero, Whole: pl.Bars == barsRange,
	}}
	x, y := pl.X, pl.Y
	if pl.Cumulative {
		x, y = "cycles", "share of runs, "+pl.Y
	}
	p.X, p.Y = cmp.Or(p.X, x), cmp.Or(p.Y, y)
	matching := t.matching(where)
	byName := map[string]int{}
	var together [][]int // points of each cumulative curve
	for _, i := range matching {
		pt := &t.plan.points[i]
		var words []string
		for _, axis := range pl.Series {
			words = append(words, called(axis, pt.at[t.plan.index(axis)]))
		}
		label := strings.Join(words, ", ")
		k, ok := byName[label]
		if !ok {
			k = len(p.Curves)
			byName[label] = k
			c := chart.Curve{Name: label, Steps: pl.Cumulative, Color: k}
			c.Color, c.Style = t.look(pl.Series, pt)
			p.Curves = append(p.Curves, c)
			together = append(together, nil)
		}
		if pl.Cumulative {
			together[k] = append(together[k], i)
			p.Curves[k].Points = t.cumulative(together[k], columnAt(pl.Y))
			continue
		}
		e := t.estimate(i, columnAt(pl.Y))
		if x := t.x(i, pl.X); !math.IsNaN(x) && !math.IsNaN(e.value) {
			if pl.Bars == barsRange {
				e.low, e.high = t.take(takeLeast, i, columnAt(pl.Y)).value, t.take(takeLargest, i, columnAt(pl.Y)).value
			} else if e.n < fewestOfBar {
				e = unknown(e.value, e.n)
			}
			p.Curves[k].Points = append(p.Curves[k].Points, chart.Point{X: x, Y: e.value, Low: e.low, High: e.high})
		}
	}
	for _, v := range pl.Vertical {
		if x, ok := t.vertical(v, matching); ok {
			p.Verticals = append(p.Verticals, chart.Vertical{At: x, Label: v.Label})
		}
	}
	return p
}

// look is the colour and the kind of line of a curve: by the place of its values on the first and
// on the other axes of the series. Places are those of the full experiment, so that the quick form
// looks alike.
func (t *table) look(series []string, pt *point) (colour, style int) {
	for n, axis := range series {
		i := t.plan.index(axis)
		at := slices.IndexFunc(t.e.full.axes[i].values, pt.at[i].same)
		if n == 0 {
			colour = at
			if len(series) == 1 {
				style = at / len(chart.Palette) // colours come again, with another kind of line
			}
		} else {
			style = style*len(t.e.full.axes[i].values) + at
		}
	}
	return colour, style
}

// x is where a point stands along the bottom.
func (t *table) x(i int, name string) float64 {
	k := t.plan.index(name)
	if k < 0 {
		return t.estimate(i, columnAt(name)).value
	}
	pt := &t.plan.points[i]
	if x, ok := pt.at[k].number(); ok {
		return x
	}
	return math.NaN()
}

// vertical is where a line stands in a picture of these points.
func (t *table) vertical(v Vertical, points []int) (float64, bool) {
	for _, i := range points {
		pt := &t.plan.points[i]
		if !pt.fits(t.plan, v.Where) {
			continue
		}
		if x, ok := v.At.number(); ok {
			return x, true
		}
		s := pt.set.copied()
		s.Load = &v.At
		b := newBuilder(t.e.Loads, t.e.nets, t.e.Measure)
		x, err := b.load(&s)
		return x, err == nil
	}
	return 0, false
}

// cumulative is a staircase: the share of all runs of these points for which it had come by then.
func (t *table) cumulative(points []int, column int) []chart.Point {
	var times []float64
	end, n := 0.0, 0.0
	for _, i := range points {
		for _, r := range t.rows[i] {
			if x := r.number(column); x >= 0 {
				times = append(times, x)
			}
			end = max(end, r.number(columnAt("cycles")))
		}
		end = max(end, float64(t.plan.points[i].config.MostCycles))
		n += float64(len(t.rows[i]))
	}
	slices.Sort(times)
	inf := math.Inf(1)
	list := []chart.Point{{X: 0, Y: 0, Low: -inf, High: inf}}
	for k, x := range times {
		list = append(list, chart.Point{X: x, Y: float64(k+1) / n, Low: -inf, High: inf})
	}
	return append(list, chart.Point{X: end, Y: float64(len(times)) / n, Low: -inf, High: inf})
}

// save draws a picture in both formats.
func (p picture) save(dir string) (files []string, err error) {
	for _, end := range []string{".svg", ".png"} {
		name := p.name + end
		err = errors.Join(err, repeatable(p.Save(filepath.Join(dir, name))))
		files = append(files, name)
	}
	return files, err
}
