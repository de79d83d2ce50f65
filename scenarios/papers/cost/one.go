package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/chart"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

// row is what one topology took. Seconds are of processor time.
type row struct {
	topology       string
	nics, switches int
	cycles         int
	hops           uint64
	graph          float64 // to make the graph
	build          float64 // to build the network of it and start it
	run            float64 // to run it
	nsPerHop       float64 // of that, for a packet-hop
	megabytes      float64 // at most, of the whole process
}

var header = strings.Split("topology,nics,switches,cycles,packet_hops,graph_seconds,build_seconds,run_seconds,ns_per_packet_hop,megabytes", ",")

func (r row) columns() []string {
	f := func(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }
	return []string{
		r.topology, strconv.Itoa(r.nics), strconv.Itoa(r.switches), strconv.Itoa(r.cycles), strconv.FormatUint(r.hops, 10),
		f(r.graph, 3), f(r.build, 3), f(r.run, 3), f(r.nsPerHop, 0), f(r.megabytes, 0),
	}
}

// cycle and delays are those of the experiments: 128 bytes of a link.
const cycle = 512 * weft.Nanosecond

// packetCycles is how many cycles times NICs are run: at a load of 0.1 there is a packet in twenty
// of them.
const packetCycles = 12_000_000

// one measures a topology, and writes its row without the memory.
func one(ctx context.Context, spec string, out io.Writer) error {
	r := row{topology: spec}
	start := experiment.CPUSeconds()
	g, err := topology.Parse(spec)
	if err != nil {
		return err
	}
	r.graph = experiment.CPUSeconds() - start
	r.nics, r.switches = len(g.NICs), len(g.Switches)
	r.cycles = max(1000, packetCycles/r.nics/20)
	routing := "updown"
	if g.Place(0).Tree == nil {
		routing = "dimension-order"
	}
	config := func(cycles int) measure.Config {
		return measure.Config{
			Topology: g, Routing: routing, Switch: settings.Switch{EagerCredits: true},
			Seed: 1, Window: cycles, Warmup: measure.Warmup{Skip: true},
			Traffic: nic.Traffic{Pattern: "uniform", Load: 0.1},
			Cycle:   cycle, WireDelay: cycle, RoutingDelay: cycle, CrossbarDelay: cycle,
		}
	}
	start = experiment.CPUSeconds()
	if _, err := measure.Run(ctx, config(1)); err != nil {
		return err
	}
	r.build = experiment.CPUSeconds() - start
	start = experiment.CPUSeconds()
	m, err := measure.Run(ctx, config(r.cycles))
	if err != nil {
		return err
	}
	r.run, r.hops = max(0, experiment.CPUSeconds()-start-r.build), m.PacketHops
	r.nsPerHop = r.run * 1e9 / float64(max(1, r.hops))
	_, err = fmt.Fprintln(out, strings.Join(r.columns(), ","))
	return err
}

// parse reads what one has written.
func parse(line string) (r row, err error) {
	fields := strings.Split(strings.TrimSpace(line), ",")
	// The specification of a topology may hold commas; the other columns are counted from the end.
	if n := len(fields) - len(header) + 1; n > 0 {
		fields = append([]string{strings.Join(fields[:n], ",")}, fields[n:]...)
	}
	if len(fields) != len(header) {
		return r, fmt.Errorf("said %q, which is no row", line)
	}
	r.topology = fields[0]
	var numbers [9]float64
	for i, f := range fields[1:] {
		if numbers[i], err = strconv.ParseFloat(f, 64); err != nil {
			return r, fmt.Errorf("said %q: %s: %w", line, header[i+1], err)
		}
	}
	r.nics, r.switches, r.cycles, r.hops = int(numbers[0]), int(numbers[1]), int(numbers[2]), uint64(numbers[3])
	r.graph, r.build, r.run, r.nsPerHop, r.megabytes = numbers[4], numbers[5], numbers[6], numbers[7], numbers[8]
	return r, nil
}

// draw shows cost over size, both in decades.
func draw(rows []row, path string) error {
	c := chart.Chart{Title: "Cost against size, uniform traffic at a load of 0.1", X: "NICs", Y: "see the legend", LogX: true, LogY: true}
	for i, curve := range []struct {
		name string
		of   func(row) float64
	}{
		{"ns a packet-hop", func(r row) float64 { return r.nsPerHop }},
		{"MB of memory", func(r row) float64 { return r.megabytes }},
		{"ms to build", func(r row) float64 { return r.build * 1000 }},
	} {
		for j, kind := range []string{"trees", "tori"} {
			k := chart.Curve{Name: curve.name + ", " + kind, Color: i, Style: j}
			for _, r := range rows {
				if strings.HasPrefix(r.topology, "torus") == (kind == "tori") {
					k.Points = append(k.Points, chart.Point{X: float64(r.nics), Y: curve.of(r), Low: math.Inf(-1), High: math.Inf(1)})
				}
			}
			slices.SortFunc(k.Points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
			if len(k.Points) > 0 {
				c.Curves = append(c.Curves, k)
			}
		}
	}
	return c.Save(path)
}
