package main

import (
	"github.com/weft-fabric/weft/harness/chart"
)

// sustained are the points below saturation. Beyond it latency grows with the run, and less is
// accepted than is offered: there the packets accepted for the load are fewer than at the lowest
// load.
func sustained(points []point) (list []point) {
	for _, p := range points {
		first := points[0]
		if p.latency.most < 4*first.latency.mean && p.accepted.mean/p.load > 0.98*first.accepted.mean/first.load {
			list = append(list, p)
		}
	}
	return list
}

// draw shows latency over load, of both and of the pair that is modelled alike.
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
			curve := chart.Curve{Name: side.name + v.add, Color: i + 3*j, Style: i}
			for _, p := range sustained(side.of.variant(v.name).points()) {
				curve.Points = append(curve.Points, chart.Point{X: p.load, Y: p.latency.mean, Low: p.latency.least, High: p.latency.most})
			}
			if len(curve.Points) > 0 {
				c.Curves = append(c.Curves, curve)
			}
		}
	}
	return c.Save(path)
}
