package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/chart"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

// row is what the graphs of one size took.
type row struct {
	routing            string
	switches           int
	layers             int     // most of any graph
	least, middle, top float64 // seconds of processor time
}

var header = strings.Split("routing,switches,links,graphs,layers,seconds_least,seconds_median,seconds_most", ",")

func (r row) columns() []string {
	f := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
	return []string{
		r.routing, strconv.Itoa(r.switches), strconv.Itoa(2 * r.switches), strconv.Itoa(graphs), strconv.Itoa(r.layers),
		f(r.least), f(r.middle), f(r.top),
	}
}

// repeats is for how long a graph is computed again and again at least, for small ones take less
// than the clock can tell.
const repeats = 0.02 // seconds

// measure computes the routes of all graphs of a size.
func measure(ctx context.Context, routing string, switches int) (row, error) {
	r := row{routing: routing, switches: switches}
	var took []float64
	for seed := range graphs {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		g, err := topology.Parse(fmt.Sprintf("irregular:%d,%d,%d", switches, 2*switches, seed+1))
		if err != nil {
			return r, err
		}
		times, start, spent := 0, experiment.CPUSeconds(), 0.0
		for spent < repeats {
			routes, err := subnet.Routes(ctx, routing, g)
			if err != nil {
				return r, err
			}
			r.layers = max(r.layers, routes.Layers)
			times++
			spent = experiment.CPUSeconds() - start
		}
		took = append(took, spent/float64(times))
	}
	slices.Sort(took)
	r.least, r.middle, r.top = took[0], took[len(took)/2], took[len(took)-1]
	return r, nil
}

// draw shows time over size, both in decades; bars reach from the quickest to the slowest graph.
func draw(rows []row, opensm []chart.Point, path string) error {
	c := chart.Chart{Title: "Time to compute routes, twice as many links as switches", X: "switches", Y: "milliseconds of one processor", LogX: true, LogY: true}
	for i, r := range routings {
		k := chart.Curve{Name: r.name, Color: i}
		for _, got := range rows {
			if got.routing == r.name {
				k.Points = append(k.Points, chart.Point{X: float64(got.switches), Y: got.middle * 1000, Low: got.least * 1000, High: got.top * 1000})
			}
		}
		if len(k.Points) > 0 {
			c.Curves = append(c.Curves, k)
		}
	}
	if len(opensm) > 0 {
		c.Curves = append(c.Curves, chart.Curve{Name: "OpenSM's lash", Points: opensm, Color: len(routings), Style: 1})
	}
	return c.Save(path)
}
