package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// vertical draws a line from the bottom to the top, its label beside its upper end, or its lower
// one where curves leave no room above.
func (c Chart) vertical(p *plot.Plot, v Vertical) {
	grey := color.Gray{Y: 90}
	line := &plotter.Line{XYs: plotter.XYs{{X: c.across(v.At), Y: p.Y.Min}, {X: c.across(v.At), Y: p.Y.Max}}}
	line.LineStyle = draw.LineStyle{Color: grey, Width: vg.Points(0.8), Dashes: plotutil.Dashes(1)}
	p.Add(line)
	if v.Label == "" {
		return
	}
	style := p.Legend.TextStyle
	style.Color, style.XAlign, style.YAlign = grey, text.XLeft, text.YTop
	style.Font.Size = font.Points(9)
	labels := &plotter.Labels{
		XYs: plotter.XYs{{X: c.across(v.At), Y: p.Y.Max}}, Labels: []string{v.Label}, TextStyle: []text.Style{style},
		Offset: vg.Point{X: vg.Points(3), Y: -vg.Points(2)},
	}
	// About the room that a word takes.
	from, to, room := c.across(v.At), c.across(v.At)+0.14*(p.X.Max-p.X.Min), 0.07*(p.Y.Max-p.Y.Min)
	lowest, highest := c.span(from, to)
	if highest > p.Y.Max-room && lowest > p.Y.Min+room {
		labels.XYs[0].Y, labels.TextStyle[0].YAlign, labels.Offset.Y = p.Y.Min, text.YBottom, vg.Points(2)
	}
	p.Add(labels)
}

// span is how low and how high the curves are between two places along the bottom.
func (c Chart) span(from, to float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, curve := range c.Curves {
		points := c.points(curve)
		for i, pt := range points {
			if pt.X >= from && pt.X <= to {
				low, high = min(low, pt.Y), max(high, pt.Y)
			}
			if i == 0 {
				continue
			}
			before := points[i-1]
			for _, x := range []float64{from, to} { // on the way from one point to the next
				if before.X < x && x < pt.X {
					y := before.Y + (pt.Y-before.Y)*(x-before.X)/(pt.X-before.X)
					low, high = min(low, y), max(high, y)
				}
			}
		}
	}
	return low, high
}
