package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm/peer"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

// ours are the routings that OpenSM's is held against. It needs both directions of a pair in one
// layer.
var ours = []string{"lash", "lash:both=true", "lash:both=true,paths=pair"}

// The least of several tries counts, the one that others on the machine disturbed least. Ours are
// short, and disturbed whole.
const (
	tries    = 5
	ourTries = 25
	patience = 2 * time.Minute
)

// row is one graph: the layers and times of OpenSM, and then of ours.
type row struct {
	spec    string
	size    int
	refused bool // OpenSM needs more than there are
	layers  []int
	times   []time.Duration
}

// beside measures so many graphs of each size.
func beside(ctx context.Context, folder string, sizes []int, graphs int) error {
	var rows []row
	for _, n := range sizes {
		for seed := 1; seed <= graphs; seed++ {
			r, err := measure(ctx, fmt.Sprintf("irregular:%d,%d,%d", n, 2*n, seed))
			if err != nil {
				return err
			}
			r.size = n
			rows = append(rows, r)
			fmt.Fprintln(os.Stderr, strings.Join(r.record(), " "))
		}
	}
	if err := safefile.WriteTo(filepath.Join(folder, "opensm.csv"), func(w io.Writer) error { return table(w, rows) }); err != nil {
		return err
	}
	return safefile.WriteTo(filepath.Join(folder, "opensm.md"), func(w io.Writer) error { return report(w, rows, sizes, graphs) })
}

func measure(ctx context.Context, spec string) (row, error) {
	g, err := topology.Parse(spec)
	if err != nil {
		return row{}, err
	}
	r := row{spec: spec}
	if err := r.theirs(ctx, g); err != nil {
		return row{}, fmt.Errorf("%s: %w", spec, err)
	}
	for _, name := range ours {
		layers, took, err := mine(ctx, name, g)
		if err != nil {
			return row{}, fmt.Errorf("%s: %w", spec, err)
		}
		r.layers, r.times = append(r.layers, layers), append(r.times, took)
	}
	return r, nil
}

// theirs has OpenSM route a graph.
func (r *row) theirs(ctx context.Context, g *topology.Graph) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return simulated(ctx, g, func(sim *peer.Sim, _ string) error {
		var times []time.Duration
		for range tries {
			result, err := sim.Route(ctx, "lash")
			r.refused = errors.Is(err, peer.ErrRefused)
			if err != nil && !r.refused {
				return err
			}
			times = append(times, result.Compute)
			r.layers = []int{result.Lanes}
		}
		r.times = []time.Duration{slices.Min(times)}
		return nil
	})
}

// mine computes a routing on one processor, from the graph to tables and assignment.
func mine(ctx context.Context, name string, g *topology.Graph) (layers int, took time.Duration, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var times []time.Duration
	for range ourTries {
		runtime.GC()
		start := time.Now()
		r, err := subnet.Routes(ctx, name, g)
		if err != nil {
			return 0, 0, err
		}
		times = append(times, time.Since(start))
		layers = r.Layers
	}
	return layers, slices.Min(times), nil
}

func header() []string {
	names := []string{"topology", "opensm_layers", "opensm_refused", "opensm_ms"}
	for _, name := range ours {
		names = append(names, name+" layers", name+" ms")
	}
	return names
}

func (r row) record() []string {
	list := []string{r.spec, strconv.Itoa(r.layers[0]), strconv.FormatBool(r.refused), ms(r.times[0])}
	for i := range ours {
		list = append(list, strconv.Itoa(r.layers[i+1]), ms(r.times[i+1]))
	}
	return list
}

func ms(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1000, 'f', 3, 64) }

func table(w io.Writer, rows []row) error {
	out := csv.NewWriter(w)
	records := [][]string{header()}
	for _, r := range rows {
		records = append(records, r.record())
	}
	return out.WriteAll(records)
}

func report(w io.Writer, rows []row, sizes []int, graphs int) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# LASH beside OpenSM

Written by `+"`go run ./scenarios/papers/layered/opensm beside docs/results %d`"+`, not by hand; [opensm.csv](opensm.csv) has each graph.

OpenSM 3.3.23 (`+"`-R lash`"+`) and Weft route the same topology files: %d random graphs of each size, with twice as many links as switches
(`+"`irregular:N,2N,SEED`"+`, seeds 1 to %d), one NIC a switch, written by Weft and simulated by ibsim, one after the other on one machine. OpenSM's time is what its own
log says, from the beginning of its engine lash to its tables, or to where it gives up; Weft's is from the graph to tables and assignment, on one
processor. Of each graph the least of %d counts, and of %d of Weft's, the one that others on the machine disturbed least; %s.
OpenSM keeps both directions of a pair in one layer, as `+"`both=true`"+` does, and has 8 virtual lanes here: it refuses graphs for which it needs more,
and gives up before it balances and makes tables.

| switches | | layers, least to most | mean | refused | median time, ms | times faster than OpenSM where it routes, median (least) |
|---|---|---|---|---|---|---|
`, graphs, graphs, graphs, tries, ourTries, load())
	for _, n := range sizes {
		var of []row
		for _, r := range rows {
			if r.size == n {
				of = append(of, r)
			}
		}
		for i, name := range append([]string{"OpenSM"}, ours...) {
			fmt.Fprintln(&b, line(of, i, name))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// load says how busy the machine is, where the system does.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "how busy it was is not known"
	}
	average, _, _ := strings.Cut(string(data), " ")
	return fmt.Sprintf("its load average was %s, with %d processors", average, runtime.NumCPU())
}

// line is that of one routing at one size.
func line(rows []row, i int, name string) string {
	var layers []int
	var times []time.Duration
	var faster []float64
	sum, refused := 0, 0
	for _, r := range rows {
		layers, times = append(layers, r.layers[i]), append(times, r.times[i])
		if !r.refused { // of others OpenSM does only a part
			faster = append(faster, r.times[0].Seconds()/r.times[i].Seconds())
		}
		sum += r.layers[i]
		if i == 0 && r.refused {
			refused++
		}
	}
	speed := ""
	if i > 0 {
		name = "`" + name + "`"
		if len(faster) > 0 {
			speed = fmt.Sprintf("%.0f (%.0f)", experiment.Median(faster), slices.Min(faster))
		}
	}
	return fmt.Sprintf("| %d | %s | %d to %d | %.1f | %d of %d | %s | %s |", rows[0].size, name, slices.Min(layers), slices.Max(layers),
		float64(sum)/float64(len(rows)), refused, len(rows), ms(experiment.Median(times)), speed)
}
