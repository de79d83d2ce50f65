package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/chart"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/nic"
)

// costSizes are the topologies that are measured unless others are named.
var costSizes = []string{
	"kary-ntree:4,2", "kary-ntree:4,3", "torus:8x8x8", "mport-tree:36,2", "kary-ntree:4,5", "torus:16x16x16",
	"kary-ntree:16,3",
	"mport-tree:36,3",
}

func cost() *cobra.Command {
	var child bool
	cmd := experiment("cost FOLDER [TOPOLOGY...]", "Measure what networks take to build and to run in virtual time",
		`Measures what a network of some size takes to build and to run in virtual time, and draws it over the number of NICs.

It writes cost.csv, cost.svg and cost.png into the folder. Each topology is run in a process of its own, so that its
memory can be told: uniform traffic at a load of 0.1 for so many cycles that there are some hundred thousand
packet-hops, on one processor.`,
		cobra.MinimumNArgs(1), func(ctx context.Context, args []string) error {
			if child {
				command.BoundGarbage(command.VirtualGarbage) // as fabricd does
				return measureCost(ctx, args[0], os.Stdout)
			}
			return measureCosts(ctx, args[0], args[1:])
		})
	childFlag(cmd, &child)
	return cmd
}

// measureCosts measures the topologies one after the other.
func measureCosts(ctx context.Context, folder string, specs []string) error {
	if len(specs) == 0 {
		specs = costSizes
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	table := [][]string{costHeader}
	var rows []costRow
	for _, spec := range specs {
		cmd := exec.CommandContext(ctx, self, "cost", "--child", spec)
		cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "GOMAXPROCS=1")
		said, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		r, err := parseCost(string(said))
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		r.megabytes = peak(cmd.ProcessState.SysUsage())
		rows = append(rows, r)
		table = append(table, r.columns())
		fmt.Fprintln(os.Stderr, r.columns())
	}
	if err := writeCSV(filepath.Join(folder, "cost.csv"), table); err != nil {
		return err
	}
	return drawCosts(rows, filepath.Join(folder, "cost"))
}

// costRow is what one topology took. Seconds are of processor time.
type costRow struct {
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

var costHeader = strings.Split(
	"topology,nics,switches,cycles,packet_hops,graph_seconds,build_seconds,run_seconds,ns_per_packet_hop,megabytes", ",")

func (r costRow) columns() []string {
	return []string{
		r.topology, strconv.Itoa(r.nics), strconv.Itoa(r.switches), strconv.Itoa(r.cycles), strconv.FormatUint(r.hops, 10),
		decimal(r.graph, 3), decimal(r.build, 3), decimal(r.run, 3), decimal(r.nsPerHop, 0), decimal(r.megabytes, 0),
	}
}

// packetCycles is how many cycles times NICs are run: at a load of 0.1 there is a packet in twenty
// of them.
const packetCycles = 12_000_000

// measureCost measures a topology, and writes its row without the memory.
func measureCost(ctx context.Context, spec string, out io.Writer) error {
	r := costRow{topology: spec}
	start := cpuSeconds()
	g, err := topology.Parse(spec)
	if err != nil {
		return err
	}
	r.graph = cpuSeconds() - start
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
	start = cpuSeconds()
	if _, err := measure.Run(ctx, config(1)); err != nil {
		return err
	}
	r.build = cpuSeconds() - start
	runtime.GC() // so that the memory is that of one network
	start = cpuSeconds()
	m, err := measure.Run(ctx, config(r.cycles))
	if err != nil {
		return err
	}
	r.run, r.hops = max(0, cpuSeconds()-start-r.build), m.PacketHops
	r.nsPerHop = r.run * 1e9 / float64(max(1, r.hops))
	_, err = fmt.Fprintln(out, strings.Join(r.columns(), ","))
	return err
}

// parseCost reads what one has written.
func parseCost(line string) (r costRow, err error) {
	fields := strings.Split(strings.TrimSpace(line), ",")
	// The specification of a topology may hold commas; the other columns are counted from the end.
	if n := len(fields) - len(costHeader) + 1; n > 0 {
		fields = append([]string{strings.Join(fields[:n], ",")}, fields[n:]...)
	}
	if len(fields) != len(costHeader) {
		return r, fmt.Errorf("said %q, which is no row", line)
	}
	r.topology = fields[0]
	var numbers [9]float64
	for i, f := range fields[1:] {
		if numbers[i], err = strconv.ParseFloat(f, 64); err != nil {
			return r, fmt.Errorf("said %q: %s: %w", line, costHeader[i+1], err)
		}
	}
	r.nics, r.switches, r.cycles, r.hops = int(numbers[0]), int(numbers[1]), int(numbers[2]), uint64(numbers[3])
	r.graph, r.build, r.run, r.nsPerHop, r.megabytes = numbers[4], numbers[5], numbers[6], numbers[7], numbers[8]
	return r, nil
}

// drawCosts shows cost over size, both in decades.
func drawCosts(rows []costRow, path string) error {
	c := chart.Chart{
		Title: "Cost against size, uniform traffic at a load of 0.1", X: "NICs", Y: "see the legend",
		LogX: true, LogY: true,
	}
	for i, curve := range []struct {
		name string
		of   func(costRow) float64
	}{
		{"ns a packet-hop", func(r costRow) float64 { return r.nsPerHop }},
		{"MB of memory", func(r costRow) float64 { return r.megabytes }},
		{"ms to build", func(r costRow) float64 { return r.build * 1000 }},
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
	return save(c, path)
}
