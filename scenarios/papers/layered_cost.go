package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/chart"
)

// routesSizes are the numbers of switches that are measured unless others are named.
var routesSizes = []int{16, 32, 64, 128, 256, 512, 1024}

// routings are those that are measured, each up to a size at which it takes seconds.
var routings = []struct {
	name string
	most int // switches
}{
	{"lash", 1024}, {"mp-lash:step4=false", 256}, {"a-lash:step4=false", 256}, {"updn", 1024}, {"minimal-hop", 1024},
}

// routesGraphs is how many graphs of each size are measured.
const routesGraphs = 5

func layeredCost() *cobra.Command {
	return experiment("layered-cost FOLDER [SWITCHES...]",
		"Measure what it takes to compute routes for irregular networks",
		`Measures what it takes to compute routes for irregular networks, and draws it over the number of switches.

It writes routes-cost.csv, routes-cost.svg and routes-cost.png into the folder. Of each size there are five random graphs
with twice as many links as switches (irregular:N,2N,1 to 5), one NIC a switch; the median of their times counts. Times
are of one processor, from the graph to tables and assignment. Where the folder has OpenSM's times on graphs of the same
kind (opensm.csv, of papers layered-opensm beside), they are drawn, too.`,
		cobra.MinimumNArgs(1), measureRoutings)
}

func measureRoutings(ctx context.Context, args []string) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one processor, garbage collection included
	list := routesSizes
	if len(args) > 1 {
		list = make([]int, len(args)-1)
	}
	for i := range args[1:] {
		var err error
		if list[i], err = number(args, i+1, 0, 5, "switches"); err != nil {
			return err
		}
	}
	table := [][]string{routesHeader}
	var rows []routesRow
	for _, r := range routings {
		for _, n := range list {
			if n > r.most {
				continue
			}
			got, err := measureRoutes(ctx, r.name, n)
			if err != nil {
				return fmt.Errorf("%s, %d switches: %w", r.name, n, err)
			}
			rows, table = append(rows, got), append(table, got.columns())
			fmt.Fprintln(os.Stderr, got.columns())
		}
	}
	folder := args[0]
	if err := writeCSV(filepath.Join(folder, "routes-cost.csv"), table); err != nil {
		return err
	}
	opensm, err := opensmTimes(folder)
	if err != nil {
		return err
	}
	return drawRoutes(rows, opensm, filepath.Join(folder, "routes-cost"))
}

// routesRow is what the graphs of one size took.
type routesRow struct {
	routing            string
	switches           int
	layers             int     // most of any graph
	least, middle, top float64 // seconds of processor time
}

var routesHeader = strings.Split("routing,switches,links,graphs,layers,seconds_least,seconds_median,seconds_most", ",")

func (r routesRow) columns() []string {
	f := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
	return []string{
		r.routing, strconv.Itoa(r.switches), strconv.Itoa(2 * r.switches), strconv.Itoa(routesGraphs), strconv.Itoa(r.layers),
		f(r.least), f(r.middle), f(r.top),
	}
}

// routesRepeats is for how long a graph is computed again and again at least, for small ones take
// less than the clock can tell.
const routesRepeats = 0.02 // seconds

// measureRoutes computes the routes of all graphs of a size.
func measureRoutes(ctx context.Context, routing string, switches int) (routesRow, error) {
	r := routesRow{routing: routing, switches: switches}
	var took []float64
	for seed := range routesGraphs {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		g, err := topology.Parse(fmt.Sprintf("irregular:%d,%d,%d", switches, 2*switches, seed+1))
		if err != nil {
			return r, err
		}
		times, start, spent := 0, cpuSeconds(), 0.0
		for spent < routesRepeats {
			routes, err := subnet.Routes(ctx, routing, g)
			if err != nil {
				return r, err
			}
			r.layers = max(r.layers, routes.Layers)
			times++
			spent = cpuSeconds() - start
		}
		took = append(took, spent/float64(times))
	}
	slices.Sort(took)
	r.least, r.middle, r.top = took[0], took[len(took)/2], took[len(took)-1]
	return r, nil
}

// drawRoutes shows time over size, both in decades; bars reach from the quickest to the slowest
// graph.
func drawRoutes(rows []routesRow, opensm []chart.Point, path string) error {
	c := chart.Chart{
		Title: "Time to compute routes, twice as many links as switches", X: "switches",
		Y: "milliseconds of one processor", LogX: true, LogY: true,
	}
	for i, r := range routings {
		k := chart.Curve{Name: r.name, Color: i}
		for _, got := range rows {
			if got.routing == r.name {
				k.Points = append(k.Points,
					chart.Point{X: float64(got.switches), Y: got.middle * 1000, Low: got.least * 1000, High: got.top * 1000})
			}
		}
		if len(k.Points) > 0 {
			c.Curves = append(c.Curves, k)
		}
	}
	if len(opensm) > 0 {
		c.Curves = append(c.Curves, chart.Curve{Name: "OpenSM's lash", Points: opensm, Color: len(routings), Style: 1})
	}
	return save(c, path)
}

// opensmTimes are the times of OpenSM's LASH, of graphs of the same kind, as `papers layered-opensm
// beside FOLDER` has left them in the folder; none when it has not. Graphs that it refused have no
// time.
func opensmTimes(folder string) ([]chart.Point, error) {
	path := filepath.Join(folder, "opensm.csv")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	times := map[int][]float64{} // by size
	for i, cells := range lines {
		if i == 0 {
			if len(cells) < 4 || cells[0] != "topology" || cells[2] != "opensm_refused" || cells[3] != "opensm_ms" {
				return nil, fmt.Errorf("%s: the columns are %q, expected topology, .., opensm_refused, opensm_ms", path, cells)
			}
			continue
		}
		var switches int
		if _, err := fmt.Sscanf(cells[0], "irregular:%d,", &switches); err != nil {
			return nil, fmt.Errorf("%s:%d: topology %q, expected irregular:SWITCHES,LINKS,SEED", path, i+1, cells[0])
		}
		took, err := strconv.ParseFloat(cells[3], 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: opensm_ms: %w", path, i+1, err)
		}
		if cells[2] != "true" {
			times[switches] = append(times[switches], took)
		}
	}
	var points []chart.Point
	for n, list := range times {
		slices.Sort(list)
		points = append(points, chart.Point{X: float64(n), Y: list[len(list)/2], Low: list[0], High: list[len(list)-1]})
	}
	slices.SortFunc(points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
	return points, nil
}
