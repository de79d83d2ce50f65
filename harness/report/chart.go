package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/harness/chart"
)

// Marks on charts, chosen by eye.
const (
	together = 0.02 // share of the time shown within which marks are one
	maxMarks = 12
	wideFrom = 30. // the most latency is so many times as long as the least: then the axis is logarithmic
)

// charts are the curves over time, as SVG. Those without points are left out.
func (r *Recorder) charts() (list []template.HTML, err error) {
	marks := r.marks()
	curve := func(name string, color int, y func(now, before sample) float64) chart.Curve {
		c := chart.Curve{Name: name, Color: color, Steps: true}
		for i := 1; i < len(r.samples); i++ {
			// A step begins with the sample before: it shows what has come since then.
			if v := y(r.samples[i], r.samples[i-1]); !math.IsNaN(v) {
				c.Points = append(c.Points, chart.Point{X: r.samples[i-1].At, Y: v, Low: math.Inf(-1), High: math.Inf(1)})
			}
		}
		if n := len(c.Points); n > 0 {
			last := c.Points[n-1]
			last.X = r.samples[len(r.samples)-1].At
			c.Points = append(c.Points, last)
		}
		return c
	}
	rate := func(of func(sample) uint64) func(now, before sample) float64 {
		return func(now, before sample) float64 { return float64(of(now)-of(before)) / (now.At - before.At) }
	}
	state := func(of func(sample) float64) func(now, before sample) float64 {
		return func(_, before sample) float64 { return of(before) }
	}
	unit, per := "ms", 1000.
	if !slices.ContainsFunc(r.samples, func(s sample) bool { return s.P99 > 2000 }) {
		unit, per = "µs", 1
	}
	late := func(of func(sample) float64) func(now, before sample) float64 {
		return func(now, _ sample) float64 { return of(now) / per }
	}
	latency := chart.Chart{Title: "Latency from generation to delivery", Y: unit, Curves: []chart.Curve{
		curve("99% of packets are faster", 1, late(func(s sample) float64 { return s.P99 })),
		curve("half of them are", 0, late(func(s sample) float64 { return s.P50 })),
	}}
	latency.LogY = wide(latency.Curves)
	latency.FromZero = !latency.LogY
	for _, c := range []chart.Chart{
		{Title: "Delivered", Y: "packets/s", FromZero: true, Curves: []chart.Curve{
			curve("injected", 2, rate(func(s sample) uint64 { return s.Injected })),
			curve("delivered", 0, rate(func(s sample) uint64 { return s.Delivered })),
		}},
		latency,
		{
			Title: "Re-routed", Y: "decisions/s", FromZero: true,
			Curves: []chart.Curve{curve("", 3, rate(func(s sample) uint64 { return s.Rerouted }))},
		},
		{
			Title: "In flight", Y: "packets", FromZero: true,
			Curves: []chart.Curve{curve("", 4, state(func(s sample) float64 { return float64(s.InFlight) }))},
		},
		{Title: "Lost and discarded since the start", Y: "packets", FromZero: true, Curves: []chart.Curve{
			curve("lost", 1, state(func(s sample) float64 { return float64(s.Lost) })),
			curve("discarded", 5, state(func(s sample) float64 { return float64(s.Discarded) })),
		}},
	} {
		c.X, c.Verticals = "seconds", marks
		var b bytes.Buffer
		switch err := c.Write(&b, "svg"); {
		case errors.Is(err, chart.ErrEmpty):
		case err != nil:
			return nil, fmt.Errorf("chart %q: %w", c.Title, err)
		default:
			list = append(list, inline(narrower.Replace(b.String())))
		}
	}
	return list, nil
}

// narrower makes the letters of a chart as wide as it has room for: the page has a font without
// serifs, which are wider.
var narrower = strings.NewReplacer("font-size:9px", "font-size:8px", "font-size:10px", "font-size:8.4px",
	"font-size:12px", "font-size:10.6px")

// inline is an SVG file as it can stand within HTML: without what comes before its element.
func inline(svg string) template.HTML {
	if i := strings.Index(svg, "<svg"); i > 0 {
		svg = svg[i:]
	}
	return template.HTML(svg) // made by us, with all text in it escaped
}

// wide reports whether values differ so much that the small ones could not be seen.
func wide(curves []chart.Curve) bool {
	least, most := math.Inf(1), 0.
	for _, c := range curves {
		for _, p := range c.Points {
			if p.Y > 0 {
				least, most = min(least, p.Y), max(most, p.Y)
			}
		}
	}
	return most > wideFrom*least
}

// marks are where faults begin and end, those close to each other as one.
func (r *Recorder) marks() []chart.Vertical {
	type moment struct {
		at   float64
		id   int
		over bool
	}
	var all []moment
	for _, f := range r.result.Faults {
		all = append(all, moment{f.At, f.ID, false})
		if f.RestoredAt > 0 {
			all = append(all, moment{f.RestoredAt, f.ID, true})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	span := 0.
	if n := len(r.samples); n > 0 {
		span = r.samples[n-1].At - r.samples[0].At
	}
	var list []chart.Vertical
	for i := 0; i < len(all); {
		began, over := []int{}, []int{}
		j := i
		for ; j < len(all) && all[j].at-all[i].at <= together*span; j++ {
			if all[j].over {
				over = append(over, all[j].id)
			} else {
				began = append(began, all[j].id)
			}
		}
		var words []string
		if len(began) > 0 {
			words = append(words, numbers(began))
		}
		if len(over) > 0 {
			words = append(words, numbers(over)+" over")
		}
		label := strings.Join(words, ", ")
		if len(list) >= maxMarks {
			label = ""
		}
		list = append(list, chart.Vertical{At: all[i].at, Label: label})
		i = j
	}
	return list
}

// numbers writes ascending numbers, as "1, 2" or "1–4".
func numbers(ids []int) string {
	slices.Sort(ids)
	if n := len(ids); n > 2 && ids[n-1]-ids[0] == n-1 {
		return fmt.Sprintf("%d–%d", ids[0], ids[n-1])
	}
	if len(ids) > 3 {
		return fmt.Sprintf("%d faults", len(ids))
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}
