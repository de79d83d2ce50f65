package verify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/weft-fabric/weft/harness/chart"
	"github.com/weft-fabric/weft/harness/verify"
)

// maxResult bounds a result that is read: those of this command have some kilobytes.
const maxResult = 16 << 20

// readResult reads what an earlier run has printed with --json.
func readResult(path string) (*verify.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	if err != nil {
		return nil, err
	}
	var r verify.Result
	if len(data) > maxResult {
		err = fmt.Errorf("more than %d bytes", maxResult)
	} else if err = json.Unmarshal(data, &r); err == nil && len(r.ByFaults) == 0 {
		err = errors.New("no by_faults")
	}
	if err != nil {
		return nil, fmt.Errorf("--overlay %s: expected what fabricd verify --json has printed: %w", path, err)
	}
	return &r, nil
}

// curve is a line of the plot: the share of connected sets in percent, by number of faults.
type curve struct {
	name   string
	points plotter.XYs
}

// curves are those of all results. Up/down tables and the physical limit are drawn once for each
// topology.
func curves(results []*verify.Result) (list []curve) {
	several := false
	for _, r := range results {
		several = several || r.Topology != results[0].Topology
	}
	name := func(r *verify.Result, what string) string {
		if several {
			return r.Topology + " " + what
		}
		return what
	}
	compared := map[string]bool{}
	for _, r := range results {
		local := curve{name: name(r, routingOf(r))}
		updown, physical := curve{name: name(r, "up/down tables made anew")}, curve{name: name(r, "physically")}
		for _, s := range r.ByFaults {
			if s.Sets == 0 || s.Uncounted {
				continue
			}
			at := func(n uint64) plotter.XY {
				return plotter.XY{X: float64(s.Faults), Y: 100 * float64(n) / float64(s.Sets)}
			}
			local.points = append(local.points, at(s.Connected))
			if s.Compared {
				updown.points = append(updown.points, at(s.UpDown))
				physical.points = append(physical.points, at(s.Physical))
			}
		}
		list = append(list, local)
		if len(updown.points) > 0 && !compared[r.Topology] {
			compared[r.Topology] = true
			list = append(list, updown, physical)
		}
	}
	return list
}

// plotConnectivity draws the share of connected sets over the number of faults, as figure 11 of
// Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees does.
func plotConnectivity(path string, results []*verify.Result) error {
	p := plot.New()
	p.Title.Text = "Fault sets that leave all pairs connected: " + results[0].Topology
	p.X.Label.Text = map[verify.Kind]string{verify.Links: "dead links", verify.Switches: "dead switches"}[results[0].Kind]
	p.X.Label.Text = cmp.Or(p.X.Label.Text, "faults")
	p.Y.Label.Text = "fault sets (%)"
	p.X.Tick.Marker = plot.TickerFunc(func(from, to float64) []plot.Tick { return chart.Ticks(from, to, 13, 1) })
	p.Legend.Left, p.Legend.Top, p.Legend.Padding = true, true, vg.Points(3)
	p.Add(plotter.NewGrid())
	most := 1.0
	list := curves(results)
	for i, c := range list {
		line, points, err := plotter.NewLinePoints(c.points)
		if err != nil {
			return fmt.Errorf("plot %s: %s: %w", path, c.name, err)
		}
		// Later ones are thinner, so that those below show where both are the same.
		left := vg.Length(max(0, 3-i))
		line.Color, line.Dashes, line.Width = chart.Palette[i%len(chart.Palette)], plotutil.Dashes(i),
			vg.Points(1)+left*vg.Points(0.7)
		points.Color, points.Shape, points.Radius = line.Color, plotutil.Shape(i), vg.Points(2.5)+left
		p.Add(line, points)
		p.Legend.Add(c.name, line, points)
		for _, at := range c.points {
			most = max(most, at.X)
		}
	}
	// The axis is the whole of it, so that plots can be laid side by side. The legend stands above
	// 100%, where no curve comes.
	entry := p.Legend.TextStyle.FontExtents().Height + p.Legend.Padding
	legend := entry*vg.Length(len(list)) + vg.Centimeter/2
	p.X.Min, p.X.Max = min(p.X.Min, 0), most
	p.Y.Min, p.Y.Max = 0, 100*float64(1+legend/curvesHeight)
	p.Y.Tick.Marker = plot.ConstantTicks(percentTicks())
	if err := p.Save(16*vg.Centimeter, 2*vg.Centimeter+curvesHeight+legend, path); err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	return nil
}

// curvesHeight is what the curves have, from 0% to 100%; title, legend and the axis of faults come
// on top.
const curvesHeight = 9 * vg.Centimeter

// percentTicks marks every 20%, and lesser ones between.
func percentTicks() (ticks []plot.Tick) {
	for y := 0; y <= 100; y += 10 {
		label := ""
		if y%20 == 0 {
			label = strconv.Itoa(y)
		}
		ticks = append(ticks, plot.Tick{Value: float64(y), Label: label})
	}
	return ticks
}
