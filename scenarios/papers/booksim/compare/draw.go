package main

import (
	"github.com/weft-fabric/weft/harness/chart"
)

// draw leaves out the latencies beyond saturation, which grow with the run.
func (n *network) draw(theirs, ours table, path string) error {
	if n.title == "" {
		return nil
	}
	c := chart.Chart{Title: n.title, X: "load (share of a link)", Y: "mean latency (cycles)", FromZero: true}
	for i, side := range []struct {
		name string
		of   table
	}{{"Weft", ours}, {"BookSim2", theirs}} {
		for j, v := range []struct{ name, add string }{{plain, ""}, {"match", ", matched"}} {
			points := side.of.variant(v.name).points()
			curve := chart.Curve{Name: side.name + v.add, Color: i + 3*j, Style: i}
			for _, p := range points {
				if p.latency.most < 4*points[0].latency.mean {
					curve.Points = append(curve.Points, chart.Point{X: p.load, Y: p.latency.mean, Low: p.latency.least, High: p.latency.most})
				}
			}
			if len(curve.Points) > 0 {
				c.Curves = append(c.Curves, curve)
			}
		}
	}
	return c.Save(path)
}
