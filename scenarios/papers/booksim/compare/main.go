// Command compare runs Weft on the networks and at the loads that run.sh has run BookSim2 on, and draws the curves of both:
//
//	go run ./scenarios/papers/booksim/compare docs/results/booksim.csv docs/results
//
// It writes booksim-weft.csv and one SVG a network into the folder. docs/results/booksim.md says what is compared.
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/chart"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/nic"
)

// network is one of the comparison, as both run it.
type network struct{ name, title, spec, routing string }

var networks = []network{
	{"fattree64", "4-ary 3-tree, 64 NICs", "kary-ntree:4,3", "updown"},
	{"mesh64", "8x8 mesh, dimension order", "mesh:8x8", "dimension-order"},
	{"torus512", "8x8x8 torus, dimension order", "torus:8x8x8", "dimension-order"},
}

// run is what either measured at one load.
type run struct{ load, accepted, latency, hops, cpu, rate float64 }

// cycle is that of the papers: 128 bytes of a link.
const cycle = 512 * weft.Nanosecond

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: compare BOOKSIM.csv FOLDER: give the table that run.sh has written, and where the results go")
		os.Exit(2)
	}
	if err := compare(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func compare(table, folder string) (err error) {
	theirs, err := read(table)
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(folder, "booksim-weft.csv"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	fmt.Fprintln(file, "network,load,accepted,latency,hops,cpu_seconds,hops_per_cpu_second")
	for _, n := range networks {
		var ours []run
		for _, t := range theirs[n.name] {
			r, err := n.measure(t.load)
			if err != nil {
				return fmt.Errorf("%s at load %v: %w", n.name, t.load, err)
			}
			ours = append(ours, r)
			row := fmt.Sprintf("%s,%v,%.4f,%.3f,%.4f,%.3f,%.0f", n.name, r.load, r.accepted, r.latency, r.hops, r.cpu, r.rate)
			fmt.Fprintln(os.Stderr, row)
			if _, err := fmt.Fprintln(file, row); err != nil {
				return err
			}
		}
		if len(ours) > 0 {
			if err := n.draw(theirs[n.name], ours, filepath.Join(folder, "booksim-"+n.name+".svg")); err != nil {
				return err
			}
		}
	}
	return nil
}

// read takes the plain runs that ended well, by network.
func read(path string) (map[string][]run, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	runs := map[string][]run{}
	for i, row := range rows {
		if i == 0 || row[1] != "plain" || row[4] != "ok" {
			continue
		}
		var r run
		for at, to := range map[int]*float64{2: &r.load, 5: &r.accepted, 6: &r.latency, 8: &r.hops, 10: &r.cpu, 11: &r.rate} {
			if *to, err = strconv.ParseFloat(row[at], 64); err != nil {
				return nil, fmt.Errorf("%s, row %d: %w", path, i+1, err)
			}
		}
		runs[row[0]] = append(runs[row[0]], r)
	}
	return runs, nil
}

func (n network) measure(load float64) (run, error) {
	g, err := topology.Parse(n.spec)
	if err != nil {
		return run{}, err
	}
	c := measure.Config{
		Topology: g, Routing: n.routing, EagerCredits: true, Seed: 1, Window: 10_000,
		Traffic: nic.Traffic{Pattern: "uniform", Load: load},
		Cycle:   cycle, WireDelay: cycle, RoutingDelay: cycle, CrossbarDelay: cycle,
	}
	before := cpuSeconds()
	r, err := measure.Run(context.Background(), c)
	cpu := cpuSeconds() - before
	return run{load, r.Accepted, r.LatencyMean, r.HopsMean, cpu, float64(r.PacketHops) / cpu}, err
}

// draw leaves out the latencies beyond saturation, which grow with the run.
func (n network) draw(theirs, ours []run, path string) error {
	c := chart.Chart{Title: n.title, X: "load (share of a link)", Y: "mean latency (cycles)", FromZero: true}
	for i, runs := range [][]run{ours, theirs} {
		curve := chart.Curve{Name: []string{"Weft", "BookSim2"}[i], Color: i, Style: i}
		for _, r := range runs {
			if r.latency < 4*runs[0].latency {
				curve.Points = append(curve.Points, chart.Point{X: r.load, Y: r.latency, Low: math.Inf(-1), High: math.Inf(1)})
			}
		}
		c.Curves = append(c.Curves, curve)
	}
	return c.Save(path)
}

// cpuSeconds is the processor time that this process has had.
func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
