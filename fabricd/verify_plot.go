package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/harness/verify"
)

// plotFormats are the formats of plots, by the ends of file names.
var plotFormats = []string{"svg", "png"}

// plotFormat checks that a file is of a format that can be drawn.
func plotFormat(path string) error {
	_, err := wordAt("format", strings.TrimPrefix(filepath.Ext(path), "."), plotFormats)
	if err != nil {
		return fmt.Errorf("--plot %s: %w", path, document.Unknown("format", strings.TrimPrefix(filepath.Ext(path), "."), plotFormats))
	}
	return nil
}

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
	if err := json.Unmarshal(data, &r); err != nil || len(data) > maxResult || len(r.ByFaults) == 0 {
		return nil, fmt.Errorf("--overlay %s: expected what fabricd verify --json has printed (%v)", path, err)
	}
	return &r, nil
}

// curve is a line of the plot: the share of connected sets in percent, by number of faults.
type curve struct {
	name   string
	points plotter.XYs
}

// curves are those of all results. Up/down tables and the physical limit are drawn once for each topology.
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
		local := curve{name: name(r, r.Routing)}
		updown, physical := curve{name: name(r, "up/down tables made anew")}, curve{name: name(r, "physically")}
		for _, s := range r.ByFaults {
			if s.Sets == 0 {
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

// plotConnectivity draws the share of connected sets over the number of faults, as figure 11 of Sem-Jacobsen, Skeie, Lysne, Duato:
// Dynamic Fault Tolerance in Fat Trees does.
func plotConnectivity(path string, results []*verify.Result) error {
	p := plot.New()
	p.Title.Text = "Fault sets that leave all pairs connected: " + results[0].Topology
	p.X.Label.Text = map[verify.Kind]string{verify.Links: "dead links", verify.Switches: "dead switches"}[results[0].Kind]
	if p.X.Label.Text == "" {
		p.X.Label.Text = "faults"
	}
	p.Y.Label.Text = "fault sets (%)"
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	p.Legend.Left, p.Legend.YOffs = true, vg.Centimeter/2
	p.Add(plotter.NewGrid())
	var lines []any
	lowest, most := 100.0, 1.0
	for _, c := range curves(results) {
		lines = append(lines, c.name, c.points)
		for _, at := range c.points {
			lowest, most = min(lowest, at.Y), max(most, at.X)
		}
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	// Room for the legend below the curves, which begin at 100% and fall.
	room := 0.15 + 0.07*float64(len(lines)/2)
	p.X.Min, p.X.Max = min(p.X.Min, 0), most
	p.Y.Min, p.Y.Max = max(0, lowest-max(1, (100-lowest)*room/(1-min(room, 0.6)))), 100
	if err := p.Save(16*vg.Centimeter, 11*vg.Centimeter, path); err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	return nil
}

// wholeTicks marks whole numbers, a dozen at most.
func wholeTicks(least, most float64) (ticks []plot.Tick) {
	step := max(1, math.Ceil((most-least)/12))
	for x := math.Ceil(least); x <= most; x += step {
		ticks = append(ticks, plot.Tick{Value: x, Label: strconv.Itoa(int(x))})
	}
	return ticks
}
