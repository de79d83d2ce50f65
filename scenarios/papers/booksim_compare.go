package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/harness/chart"
)

func booksimCompare() *cobra.Command {
	return experiment("booksim-compare BOOKSIM.csv FOLDER",
		"Run Weft on the networks and at the loads that run.sh has run BookSim2 on",
		`Runs Weft on the networks and at the loads that booksim/run.sh has run BookSim2 on, and draws the curves of both.

It writes booksim-weft.csv and one SVG and PNG a network into the folder, and prints the means of both and their spread
over the seeds. What booksim-weft.csv holds already is not measured again: remove it when Weft has changed.
docs/results/booksim.md says what is compared.`,
		cobra.ExactArgs(2), func(ctx context.Context, args []string) error {
			return compare(ctx, networks, args[0], args[1])
		})
}

// compare measures the networks that the table of BookSim2 has, and writes what it is about into
// the folder.
func compare(ctx context.Context, networks []network, table, folder string) (err error) {
	theirs, err := readTable(table)
	if err != nil {
		return err
	}
	file, before, err := resume(filepath.Join(folder, "booksim-weft.csv"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	any := false
	for i := range networks {
		n := &networks[i]
		of := theirs.of(n.name)
		if len(of) == 0 {
			continue
		}
		any = true
		ours, err := n.measure(ctx, of, before, func(r booksimRun) error {
			_, err := fmt.Fprintln(file, r)
			return err
		})
		if err != nil {
			return err
		}
		if err := n.draw(of, ours, filepath.Join(folder, "booksim-"+n.name)); err != nil {
			return err
		}
		fmt.Printf("%s%s", ours.summary("Weft"), of.summary("BookSim2"))
	}
	if !any {
		return fmt.Errorf("%s: no run that ended well of a network compared here: let run.sh write it", table)
	}
	return nil
}

// resume opens our table to add to it, and returns what it holds.
func resume(path string) (*os.File, booksimTable, error) {
	if text, err := os.ReadFile(path); err == nil { // a line that a kill has torn goes: its last number may look whole
		if err := os.Truncate(path, int64(bytes.LastIndexByte(text, '\n')+1)); err != nil {
			return nil, nil, err
		}
	}
	before, err := readTable(path)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	if missing {
		if _, err := fmt.Fprintln(file, booksimHeader); err != nil {
			return nil, nil, errors.Join(err, file.Close())
		}
	}
	return file, before, nil
}

// booksimRun is what either measured at one load with one seed. Latency is in cycles, accepted in
// packets per cycle of the whole network.
type booksimRun struct {
	network, variant        string
	load                    float64
	seed                    uint64
	accepted, latency, hops float64
}

// booksimHeader names the columns of our table.
const booksimHeader = "network,variant,load,seed,status,accepted,latency,hops"

// String is a row of our table.
func (r booksimRun) String() string {
	return fmt.Sprintf("%s,%s,%v,%d,ok,%.4f,%.3f,%.4f", r.network, r.variant, r.load, r.seed, r.accepted, r.latency,
		r.hops)
}

// booksimTable is runs in the order in which they stand in a file.
type booksimTable []booksimRun

// readTable takes the runs that ended well from a table of run.sh or our own. It goes by the names
// of columns.
func readTable(path string) (booksimTable, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("a table of runs: %w", err)
	}
	defer func() { _ = file.Close() }() // it is only read
	in := csv.NewReader(file)
	names, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty, without columns: remove it and run what writes it", path)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	at := map[string]int{}
	for _, name := range []string{"network", "variant", "load", "seed", "status", "accepted", "latency", "hops"} {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fmt.Errorf("%s: no column %q: is it a table of run.sh or booksim-compare? It has %s", path, name,
				strings.Join(names, ", "))
		}
		at[name] = i
	}
	var t booksimTable
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if row[at["status"]] != "ok" {
			continue
		}
		line, _ := in.FieldPos(0)
		r := booksimRun{network: row[at["network"]], variant: row[at["variant"]]}
		if r.seed, err = strconv.ParseUint(row[at["seed"]], 10, 64); err != nil {
			return nil, fmt.Errorf("%s, line %d, seed: %w", path, line, err)
		}
		for name, to := range map[string]*float64{
			"load": &r.load, "accepted": &r.accepted, "latency": &r.latency,
			"hops": &r.hops,
		} {
			if *to, err = strconv.ParseFloat(row[at[name]], 64); err != nil {
				return nil, fmt.Errorf("%s, line %d, %s: %w", path, line, name, err)
			}
		}
		t = append(t, r)
	}
}

// of are the runs of one network.
func (t booksimTable) of(network string) booksimTable {
	return t.where(func(r booksimRun) bool { return r.network == network })
}

// variant are the runs of one variant.
func (t booksimTable) variant(name string) booksimTable {
	return t.where(func(r booksimRun) bool { return r.variant == name })
}

func (t booksimTable) where(is func(booksimRun) bool) (list booksimTable) {
	for _, r := range t {
		if is(r) {
			list = append(list, r)
		}
	}
	return list
}

// point is all seeds at one load.
type point struct {
	booksimRun        // of the means
	accepted, latency interval
}

// interval is from the least to the most of all seeds, about their mean.
type interval struct{ least, mean, most float64 }

func spreadOver(t booksimTable, value func(booksimRun) float64) interval {
	var list []float64
	sum := 0.0
	for _, r := range t {
		list = append(list, value(r))
		sum += value(r)
	}
	return interval{slices.Min(list), sum / float64(len(list)), slices.Max(list)}
}

// points merges the seeds of each variant and load, in the order of the table.
func (t booksimTable) points() (list []point) {
	type key struct {
		variant string
		load    float64
	}
	seen := map[key]bool{}
	for _, r := range t {
		k := key{r.variant, r.load}
		if seen[k] {
			continue
		}
		seen[k] = true
		all := t.where(func(o booksimRun) bool { return o.variant == r.variant && o.load == r.load })
		list = append(list, point{
			booksimRun: r,
			accepted:   spreadOver(all, func(r booksimRun) float64 { return r.accepted }),
			latency:    spreadOver(all, func(r booksimRun) float64 { return r.latency }),
		})
	}
	return list
}

// summary is a line for each variant and load.
func (t booksimTable) summary(who string) string {
	var b strings.Builder
	for _, p := range t.points() {
		fmt.Fprintf(&b, "%-9s %-10s %-12s load %-4v accepted %7.2f (%.2f to %.2f)  latency %7.2f (%.2f to %.2f)\n", who,
			p.network, p.variant, p.load,
			p.accepted.mean, p.accepted.least, p.accepted.most, p.latency.mean, p.latency.least, p.latency.most)
	}
	return b.String()
}

// find is the run of the same variant at the same load with the same seed.
func (t booksimTable) find(k booksimRun) (booksimRun, bool) {
	for _, r := range t {
		if r.network == k.network && r.variant == k.variant && r.load == k.load && r.seed == k.seed {
			return r, true
		}
	}
	return booksimRun{}, false
}

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
func (n *network) draw(theirs, ours booksimTable, path string) error {
	if n.title == "" {
		return nil
	}
	c := chart.Chart{Title: n.title, X: "load (share of a link)", Y: "mean latency (cycles)", FromZero: true}
	for i, side := range []struct {
		name string
		of   booksimTable
	}{{"Weft", ours}, {"BookSim2", theirs}} {
		for j, v := range []struct{ name, add string }{{plain, ""}, {"match", ", matched"}} {
			curve := chart.Curve{Name: side.name + v.add, Color: i + 3*j, Style: i}
			for _, p := range sustained(side.of.variant(v.name).points()) {
				curve.Points = append(curve.Points,
					chart.Point{X: p.load, Y: p.latency.mean, Low: p.latency.least, High: p.latency.most})
			}
			if len(curve.Points) > 0 {
				c.Curves = append(c.Curves, curve)
			}
		}
	}
	return save(c, path)
}
