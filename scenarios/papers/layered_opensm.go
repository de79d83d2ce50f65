package main

import (
	"compress/gzip"
	"context"
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

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm/peer"
	"github.com/weft-fabric/weft/fabricd/topology"
)

func layeredOpenSM() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "layered-opensm",
		Short: "Measure LASH beside that of OpenSM, or keep tables of OpenSM's",
		Long: `Measures LASH beside that of OpenSM, the subnet manager of InfiniBand, on the same topology files, or keeps tables of
OpenSM's for tests. Both need the packages opensm, ibsim-utils and libumad2sim0.`,
	}
	cmd.AddCommand(experiment("beside FOLDER [GRAPHS]", "Measure both",
		`Writes opensm.md and opensm.csv into the folder: layers and times of so many random graphs (10) with 64 switches and with
128, and twice as many links.`,
		cobra.RangeArgs(1, 2), func(ctx context.Context, args []string) error {
			graphs, err := number(args, 1, 10, 1, "graphs")
			if err != nil {
				return err
			}
			return lashBeside(ctx, args[0], []int{64, 128}, graphs)
		}))
	cmd.AddCommand(experiment("keep TOPOLOGY FILE", "Keep tables of OpenSM's that have a cycle",
		`Writes FILE.net and FILE.lfts.gz: the topology, and the tables of OpenSM's engine updn with the first switch as root.`,
		cobra.ExactArgs(2), func(ctx context.Context, args []string) error { return keepTables(ctx, args[0], args[1]) }))
	return command.Group(cmd)
}

// keepTables writes a topology, and what OpenSM's Up*/Down* makes of it.
func keepTables(ctx context.Context, spec, name string) error {
	g, err := topology.Parse(spec)
	if err != nil {
		return err
	}
	return simulated(ctx, g, func(sim *peer.Sim, folder string) error { return kept(ctx, sim, folder, g, name) })
}

// simulated has ibsim simulate a graph, with a folder of its own, while do runs.
func simulated(ctx context.Context, g *topology.Graph, do func(sim *peer.Sim, folder string) error) error {
	folder, err := os.MkdirTemp("", "opensm")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	sim, err := peer.Start(ctx, folder, g)
	if err != nil {
		return err
	}
	defer sim.Stop()
	return do(sim, folder)
}

func kept(ctx context.Context, sim *peer.Sim, folder string, g *topology.Graph, name string) error {
	roots := filepath.Join(folder, "roots")
	if err := os.WriteFile(roots, fmt.Appendln(nil, g.Identity(weft.SwitchID(0).Node()).GUID), 0o600); err != nil {
		return err
	}
	result, err := sim.Route(ctx, "updn", "-a", roots)
	if err != nil {
		return err
	}
	if err := safefile.WriteTo(name+".net", g.WriteIBNet); err != nil {
		return err
	}
	return safefile.WriteTo(name+".lfts.gz", func(w io.Writer) error {
		dump, err := os.ReadFile(result.File("opensm-lfts.dump"))
		if err != nil {
			return err
		}
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err == nil {
			_, err = z.Write(dump)
		}
		if err == nil {
			err = z.Close()
		}
		return err
	})
}

// lashRoutings are the routings that OpenSM's is held against. It needs both directions of a pair
// in one layer.
var lashRoutings = []string{"lash", "lash:both=true", "lash:both=true,paths=pair"}

// The least of several tries counts, the one that others on the machine disturbed least. Ours are
// short, and disturbed whole.
const (
	tries    = 5
	ourTries = 25
)

// lashRow is one graph: the layers and times of OpenSM, and then of ours.
type lashRow struct {
	spec    string
	size    int
	refused bool // OpenSM needs more than there are
	layers  []int
	times   []time.Duration
}

// lashBeside measures so many graphs of each size.
func lashBeside(ctx context.Context, folder string, sizes []int, graphs int) error {
	var rows []lashRow
	for _, n := range sizes {
		for seed := 1; seed <= graphs; seed++ {
			r, err := measureLASH(ctx, fmt.Sprintf("irregular:%d,%d,%d", n, 2*n, seed))
			if err != nil {
				return err
			}
			r.size = n
			rows = append(rows, r)
			fmt.Fprintln(os.Stderr, strings.Join(r.record(), " "))
		}
	}
	if err := writeCSV(filepath.Join(folder, "opensm.csv"), lashTable(rows)); err != nil {
		return err
	}
	return safefile.WriteTo(filepath.Join(folder, "opensm.md"),
		func(w io.Writer) error { return lashReport(w, rows, sizes, graphs) })
}

func measureLASH(ctx context.Context, spec string) (lashRow, error) {
	g, err := topology.Parse(spec)
	if err != nil {
		return lashRow{}, err
	}
	r := lashRow{spec: spec}
	if err := r.theirs(ctx, g); err != nil {
		return lashRow{}, fmt.Errorf("%s: %w", spec, err)
	}
	for _, name := range lashRoutings {
		layers, took, err := ourLASH(ctx, name, g)
		if err != nil {
			return lashRow{}, fmt.Errorf("%s: %w", spec, err)
		}
		r.layers, r.times = append(r.layers, layers), append(r.times, took)
	}
	return r, nil
}

// theirs has OpenSM route a graph.
func (r *lashRow) theirs(ctx context.Context, g *topology.Graph) error {
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

// ourLASH computes a routing on one processor, from the graph to tables and assignment.
func ourLASH(ctx context.Context, name string, g *topology.Graph) (layers int, took time.Duration, err error) {
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

func lashHeader() []string {
	names := []string{"topology", "opensm_layers", "opensm_refused", "opensm_ms"}
	for _, name := range lashRoutings {
		names = append(names, name+" layers", name+" ms")
	}
	return names
}

func (r lashRow) record() []string {
	list := []string{r.spec, strconv.Itoa(r.layers[0]), strconv.FormatBool(r.refused), msText(r.times[0])}
	for i := range lashRoutings {
		list = append(list, strconv.Itoa(r.layers[i+1]), msText(r.times[i+1]))
	}
	return list
}

func msText(d time.Duration) string { return decimal(milliseconds(d), 3) }

func lashTable(rows []lashRow) [][]string {
	return append([][]string{lashHeader()}, of(rows, lashRow.record)...)
}

func lashReport(w io.Writer, rows []lashRow, sizes []int, graphs int) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# LASH beside OpenSM

Written by `+"`go run ./scenarios/papers layered-opensm beside docs/results %d`"+
		`, not by hand; [opensm.csv](opensm.csv) has each graph.

OpenSM 3.3.23 (`+"`-R lash`"+
		`) and Weft route the same topology files: %d random graphs of each size, with twice as many links as switches
(`+"`irregular:N,2N,SEED`"+
		`, seeds 1 to %d), one NIC a switch, written by Weft and simulated by ibsim, one after the other on one machine. OpenSM's time is what its own
log says, from the beginning of its engine lash to its tables, or to where it gives up; Weft's is from the graph to tables and assignment, on one
processor. Of each graph the least of %d counts, and of %d of Weft's, the one that others on the machine disturbed least; its load average was %s, with %d processors.
OpenSM keeps both directions of a pair in one layer, as `+"`both=true`"+
		` does, and has 8 virtual lanes here: it refuses graphs for which it needs more,
and gives up before it balances and makes tables.

| switches | | layers, least to most | mean | refused | median time, ms | times faster than OpenSM where it routes, median (least) |
|---|---|---|---|---|---|---|
`, graphs, graphs, graphs, tries, ourTries, loadAverage(), runtime.NumCPU())
	for _, n := range sizes {
		var of []lashRow
		for _, r := range rows {
			if r.size == n {
				of = append(of, r)
			}
		}
		for i, name := range append([]string{"OpenSM"}, lashRoutings...) {
			fmt.Fprintln(&b, lashLine(of, i, name))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lashLine is that of one routing at one size.
func lashLine(rows []lashRow, i int, name string) string {
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
			speed = fmt.Sprintf("%.0f (%.0f)", median(faster), slices.Min(faster))
		}
	}
	return fmt.Sprintf("| %d | %s | %d to %d | %.1f | %d of %d | %s | %s |", rows[0].size, name, slices.Min(layers),
		slices.Max(layers),
		float64(sum)/float64(len(rows)), refused, len(rows), msText(median(times)), speed)
}
