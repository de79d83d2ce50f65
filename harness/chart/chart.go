// Package chart draws the curves of experiments: points with error bars, a legend, lines that mark
// something, as SVG or PNG. Equal charts give equal files.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

// Palette is the colours of curves, those of Okabe and Ito, which the colour-blind can tell apart.
var Palette = []color.Color{
	color.RGBA{0, 114, 178, 255},
	color.RGBA{213, 94, 0, 255},
	color.RGBA{110, 110, 110, 255},
	color.RGBA{230, 159, 0, 255},
	color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255},
	color.RGBA{86, 180, 233, 255},
}

// Chart is a picture with curves.
type Chart struct {
	Title, X, Y string
	Curves      []Curve
	Verticals   []Vertical
	Percent     bool // values are shares, printed as percent
	LogX, LogY  bool // values of 0 or less are left out
	FromZero    bool // the vertical axis begins at 0
	Whole       bool // no interval is cut off
}

// Curve is a line through points.
type Curve struct {
	Name   string  // in the legend; a curve without a name is not in it
	Points []Point // by X
	Color  int     // of the Palette
	Style  int     // 0 is a solid line with filled marks, others are broken lines with other marks
	Steps  bool    // a staircase without marks
}

// Point is a value with its confidence interval; Low and High are infinite when there is none.
type Point struct{ X, Y, Low, High float64 }

// Vertical is a vertical line.
type Vertical struct {
	At    float64
	Label string
}

// Size of a picture. The legend stands below the axes, where it covers no curve, and adds to the
// height.
const (
	width  = 16 * vg.Centimeter
	height = 10 * vg.Centimeter
)

// spare is how much of the range of the values their intervals can add to an axis on each side;
// longer ones are cut off.
const spare = 0.35

// ErrEmpty means that a chart has no point to draw.
var ErrEmpty = errors.New("no points to draw")

// Save draws c to a file; the name's end, .svg or .png, says how. The errors are those of Write,
// and of the file.
func (c Chart) Save(path string) error {
	var data bytes.Buffer
	if err := c.Write(&data, strings.TrimPrefix(filepath.Ext(path), ".")); err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	return safefile.Write(path, data.Bytes())
}

// Write draws c in a format, svg or png. The error wraps [ErrEmpty] when there is nothing to draw;
// another is of an unknown format, or w's.
func (c Chart) Write(w io.Writer, format string) error {
	p, legends, err := c.plot()
	if err != nil {
		return err
	}
	rows := (len(c.Curves) + len(legends) - 1) / len(legends)
	entry := p.Legend.TextStyle.FontExtents().Height + legends[0].Padding
	below := vg.Length(rows)*entry + vg.Points(8)
	canvas, err := draw.NewFormattedCanvas(width, height+below, format)
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	if format == "png" { // SVG is white where nothing is drawn; a PNG would be transparent
		all.SetColor(color.White)
		all.Fill(all.Rectangle.Path())
	}
	p.Draw(draw.Crop(all, 0, -vg.Points(8), below, -vg.Points(5)))
	for i, l := range legends {
		left := vg.Centimeter + vg.Length(i)*(width-vg.Centimeter)/vg.Length(len(legends))
		l.Draw(draw.Crop(all, left, 0, vg.Points(6), -height))
	}
	_, err = canvas.WriteTo(w)
	return err
}

// newLegends are as many columns as the legend has.
func (c Chart) newLegends() (list []*plot.Legend) {
	longest := 0
	for _, curve := range c.Curves {
		longest = max(longest, len(curve.Name))
	}
	n := 1
	if len(c.Curves) > 3 && longest < 36 {
		n = 2
	}
	for range n {
		l := plot.NewLegend()
		l.Left, l.Top, l.Padding, l.ThumbnailWidth = true, true, vg.Points(2), vg.Points(30)
		list = append(list, &l)
	}
	return list
}

func (c Chart) plot() (*plot.Plot, []*plot.Legend, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.yLabel()
	p.Title.Padding = vg.Points(6)
	p.Add(plotter.NewGrid())
	legends := c.newLegends()
	var least, most, lowest, highest float64 // of the values; with their intervals
	first := true
	x0, x1, whole := math.Inf(1), math.Inf(-1), true
	for i, curve := range c.Curves {
		points := c.points(curve)
		if len(points) == 0 {
			continue
		}
		if err := add(p, legends[i*len(legends)/len(c.Curves)], curve, points); err != nil {
			return nil, nil, err
		}
		for _, pt := range points {
			x0, x1 = min(x0, pt.X), max(x1, pt.X)
			whole = whole && pt.X == math.Trunc(pt.X)
			low, high := pt.interval()
			if first {
				least, most, lowest, highest, first = pt.Y, pt.Y, low, high, false
			}
			least, most, lowest, highest = min(least, pt.Y), max(most, pt.Y), min(lowest, low), max(highest, high)
		}
	}
	if first {
		return nil, nil, ErrEmpty
	}
	// of two samples intervals can be so wide that curves would be flat
	if room := spare * (most - least); room > 0 && !c.Whole {
		least, most = min(least, max(lowest, least-room)), max(most, min(highest, most+room))
	} else {
		least, most = lowest, highest
	}
	c.axes(p, least, most, x0, x1, whole)
	for _, v := range c.Verticals {
		c.vertical(p, v)
	}
	return p, legends, nil
}

// axes sets the ranges: the data with a little room, from 0 if that is asked for.
func (c Chart) axes(p *plot.Plot, least, most, x0, x1 float64, whole bool) {
	for _, v := range c.Verticals {
		x0, x1 = min(x0, c.across(v.At)), max(x1, c.across(v.At))
	}
	switch {
	case c.LogX:
		x0, x1 = x0-0.04, x1+0.04
	case x1 == x0:
		x0, x1 = x0-1, x1+1
	}
	p.X.Min, p.X.Max = x0, x1
	finest := 0.0
	if whole {
		finest = 1
	}
	p.X.Tick.Marker = plot.TickerFunc(func(from, to float64) []plot.Tick { return Ticks(from, to, 11, finest) })
	if c.LogX {
		p.X.Tick.Marker = plot.TickerFunc(logTicks)
	}
	p.Y.Tick.Marker = plot.TickerFunc(func(from, to float64) []plot.Tick { return Ticks(from, to, 8, 0) })
	if c.LogY {
		p.Y.Tick.Marker = plot.TickerFunc(logTicks)
	}
	room := 0.05 * (most - least)
	if room == 0 {
		room = max(0.05*math.Abs(most), 1e-3)
	}
	switch {
	case c.FromZero && !c.LogY:
		least, room = 0, 0.05*most
		if most <= 0 {
			room = 1
		}
		p.Y.Min, p.Y.Max = 0, most+room
	default:
		p.Y.Min, p.Y.Max = least-room, most+room
	}
	if c.Percent && !c.LogY {
		p.Y.Max = min(p.Y.Max, 103)
	}
}

// yLabel is the label of the vertical axis, with its unit.
func (c Chart) yLabel() string {
	if c.Percent && !strings.Contains(c.Y, "%") {
		return c.Y + " (%)"
	}
	return c.Y
}

// across is where a value is on the horizontal axis.
func (c Chart) across(x float64) float64 {
	if c.LogX {
		return math.Log10(x)
	}
	return x
}

// points are those that can be drawn. With LogX and LogY they are their logarithms on an even axis:
// on gonum's own logarithmic scale room for the label of the axis is kept in a wrong place.
func (c Chart) points(curve Curve) (list []Point) {
	f := 1.0
	if c.Percent {
		f = 100
	}
	for _, pt := range curve.Points {
		pt.Y, pt.Low, pt.High = pt.Y*f, pt.Low*f, pt.High*f
		if math.IsNaN(pt.X+pt.Y) || math.IsInf(pt.X+pt.Y, 0) || c.LogY && pt.Y <= 0 || c.LogX && pt.X <= 0 {
			continue
		}
		pt.X = c.across(pt.X)
		if c.LogY {
			pt.Y, pt.Low, pt.High = math.Log10(pt.Y), math.Log10(max(0, pt.Low)), math.Log10(pt.High)
		}
		list = append(list, pt)
	}
	return list
}

// interval is the interval as it is drawn: none is the point alone.
func (p Point) interval() (low, high float64) {
	if math.IsInf(p.Low, 0) || math.IsInf(p.High, 0) || math.IsNaN(p.Low+p.High) {
		return p.Y, p.Y
	}
	return p.Low, p.High
}

type bars struct {
	plotter.XYs
	plotter.YErrors
}

func add(p *plot.Plot, legend *plot.Legend, c Curve, points []Point) error {
	var b bars
	for _, pt := range points {
		low, high := pt.interval()
		b.XYs = append(b.XYs, plotter.XY{X: pt.X, Y: pt.Y})
		b.YErrors = append(b.YErrors, struct{ Low, High float64 }{pt.Y - low, high - pt.Y})
	}
	line, marks, err := plotter.NewLinePoints(b.XYs)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	line.Color, line.Width = Palette[c.Color%len(Palette)], vg.Points(1.3)
	if c.Style > 0 {
		line.Dashes = plotutil.Dashes(c.Style)
	}
	if c.Steps {
		line.StepStyle = plotter.PostStep
		p.Add(line)
		entry(legend, c.Name, line)
		return nil
	}
	errs, err := plotter.NewYErrorBars(b)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	errs.Color, errs.CapWidth = line.Color, vg.Points(4)
	marks.Color, marks.Radius = line.Color, vg.Points(2.6)
	marks.Shape = []draw.GlyphDrawer{
		draw.CircleGlyph{},
		draw.RingGlyph{},
		draw.SquareGlyph{},
		draw.TriangleGlyph{},
		draw.CrossGlyph{},
	}[c.Style%5]
	p.Add(line, errs, marks)
	entry(legend, c.Name, line, marks)
	return nil
}

// entry tells of a curve in the legend, if there is something to tell.
func entry(legend *plot.Legend, name string, marks ...plot.Thumbnailer) {
	if name != "" {
		legend.Add(name, marks...)
	}
}
