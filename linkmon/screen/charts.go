package screen

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/guptarohit/asciigraph"

	"github.com/weft-fabric/weft/fabricd/api"
)

// chartsPage shows the latest minutes of the fabric as charts, with the faults marked below them.
type chartsPage struct{ span int } // seconds shown, 0: the first of spans

// spans are how many seconds the charts can show at most; less as long as less is known.
var spans = []int{60, 300, 600, 15}

// chart is what one of them shows.
type chart struct {
	name   string
	series []func(api.Point) float64
	format func(float64) string
	tones  []tone
}

var charts = []chart{
	{"delivered", []func(api.Point) float64{func(p api.Point) float64 { return p.Delivered }}, rate, []tone{info}},
	{
		"lost and discarded",
		[]func(api.Point) float64{func(p api.Point) float64 { return p.Lost + p.Discarded }},
		rate,
		[]tone{bad},
	},
	{"rerouted", []func(api.Point) float64{func(p api.Point) float64 { return p.Rerouted }}, rate, []tone{accent}},
	{
		"packets in flight",
		[]func(api.Point) float64{func(p api.Point) float64 { return float64(p.InFlight) }},
		count,
		[]tone{info},
	},
	{"latency, p50 and p99", []func(api.Point) float64{
		func(p api.Point) float64 { return known(p.P50) }, func(p api.Point) float64 { return known(p.P99) },
	}, micros, []tone{info, warn}},
	{"injected", []func(api.Point) float64{func(p api.Point) float64 { return p.Injected }}, rate, []tone{info}},
}

// known takes a latency of 0 for none: nothing was delivered.
func known(us float64) float64 {
	if us == 0 {
		return math.NaN()
	}
	return us
}

func (p *chartsPage) title() string  { return "Charts" }
func (p *chartsPage) on(*app) target { return target{} }

func (p *chartsPage) key(_ *app, k string) bool {
	switch k {
	case "+", "right", "l":
		p.span = (p.span + 1) % len(spans)
	case "left", "h":
		p.span = (p.span + len(spans) - 1) % len(spans)
	default:
		return false
	}
	return true
}

func (p *chartsPage) draw(a *app, w, h int) []string {
	if len(a.mirror.History) < 2 {
		return []string{"", a.render(dim, "  waiting for the first figures"+a.th.signs.ellipsis)}
	}
	span := min(spans[p.span], max(15, int(a.mirror.At-a.mirror.History[0].At)))
	cols := max(1, min(3, w/36))
	rows := min((len(charts)+cols-1)/cols, max(1, (h-1)/5))
	each := (h - 1) / rows
	var out []string
	for r := range rows {
		block := make([]string, each)
		for c := range cols {
			i := r*cols + c
			if i >= len(charts) {
				break
			}
			for y, line := range a.plot(charts[i], w/cols-1, each, float64(span)) {
				if y < each {
					block[y] = fit(block[y], c*(w/cols)) + line
				}
			}
		}
		out = append(out, block...)
	}
	foot := fmt.Sprintf("the last %d s; left and right choose another time; %s fault, %s restored", span,
		a.th.signs.rising, string(a.th.signs.load[0]))
	return append(out, a.render(dim, foot))
}

// axis is how much room the labels of a chart take, with the axis.
const axis = 9

// plot draws one chart, h lines of w characters: a title, the lines, and one below with the faults.
func (a *app) plot(c chart, w, h int, span float64) []string {
	room := w - axis
	from := a.mirror.At - span
	var data [][]float64
	most := 0.0
	for _, f := range c.series {
		line := a.resample(f, room, from, span)
		data = append(data, line)
		for _, v := range line {
			if !math.IsNaN(v) {
				most = max(most, v)
			}
		}
	}
	last := a.mirror.History[len(a.mirror.History)-1]
	var now []string
	for i, f := range c.series {
		now = append(now, a.render(c.tones[i], c.format(f(last))))
	}
	out := []string{a.render(strong, c.name) + "  " + strings.Join(now, " ")}
	height := h - 3
	most = cmp.Or(most, 1)
	options := []asciigraph.Option{
		asciigraph.Height(height), asciigraph.LowerBound(0), asciigraph.UpperBound(most), asciigraph.Offset(3),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%7s", c.format(v)) }),
	}
	if a.cfg.ASCII {
		var sets []asciigraph.CharSet
		for range data {
			sets = append(sets, asciiChart)
		}
		options = append(options, asciigraph.SeriesChars(sets...))
	}
	var colors []asciigraph.AnsiColor
	for _, t := range c.tones {
		colors = append(colors, a.th.palette[t])
	}
	options = append(options, asciigraph.SeriesColors(colors...), asciigraph.LabelColor(a.th.palette[dim]),
		asciigraph.AxisColor(a.th.palette[dim]))
	plotted := asciigraph.PlotMany(data, options...)
	if a.cfg.ASCII {
		plotted = strings.NewReplacer("┤", "|", "┼", "+").Replace(plotted)
	}
	out = append(out, strings.Split(plotted, "\n")...)
	return append(out, strings.Repeat(" ", axis)+a.faultMarks(room, from, span))
}

var asciiChart = asciigraph.CharSet{
	Horizontal: "-", VerticalLine: "|", ArcDownRight: "+", ArcDownLeft: "+", ArcUpRight: "+", ArcUpLeft: "+", EndCap: "-",
	StartCap: "-",
	UpRight:  "+", DownHorizontal: "-",
}

// resample is a figure of the history at n moments of the time shown; not a number where nothing is
// known.
func (a *app) resample(f func(api.Point) float64, n int, from, span float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	points := make([]bool, n) // of these columns
	for _, p := range a.mirror.History {
		if i := int((p.At - from) / span * float64(n)); i >= 0 && i < n {
			if v := f(p); math.IsNaN(out[i]) || v > out[i] { // the peak, so that a short one is seen
				out[i] = v
			}
			points[i] = true
		}
	}
	last := math.NaN()
	for i := range out { // there may be more columns than points
		if !points[i] {
			out[i] = last
		}
		last = out[i]
	}
	return out
}

// faultMarks is a line with a sign where a fault began, and one where it was repaired.
func (a *app) faultMarks(n int, from, span float64) string {
	c := newCanvas(n, 1)
	put := func(at float64, r rune, t tone) {
		if x := int((at - from) / span * float64(n)); x >= 0 {
			c.put(x, 0, r, t)
		}
	}
	for _, r := range a.mirror.Faults {
		if r.RestoredAt > 0 {
			put(r.RestoredAt, a.th.signs.load[0], info)
		}
	}
	for _, r := range a.mirror.Faults {
		put(r.At, []rune(a.th.signs.rising)[0], bad)
	}
	return c.lines(a.th, 0, 0, n, 1)[0]
}
