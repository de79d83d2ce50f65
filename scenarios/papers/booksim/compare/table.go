package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// run is what either measured at one load with one seed. Latency is in cycles, accepted in packets
// per cycle of the whole network.
type run struct {
	network, variant        string
	load                    float64
	seed                    uint64
	accepted, latency, hops float64
}

// header names the columns of our table.
const header = "network,variant,load,seed,status,accepted,latency,hops"

// String is a row of our table.
func (r run) String() string {
	return fmt.Sprintf("%s,%s,%v,%d,ok,%.4f,%.3f,%.4f", r.network, r.variant, r.load, r.seed, r.accepted, r.latency, r.hops)
}

// table is runs in the order in which they stand in a file.
type table []run

// readTable takes the runs that ended well from a table of run.sh or our own. It goes by the names
// of columns.
func readTable(path string) (table, error) {
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
			return nil, fmt.Errorf("%s: no column %q: is it a table of run.sh or compare? It has %s", path, name, strings.Join(names, ", "))
		}
		at[name] = i
	}
	var t table
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
		r := run{network: row[at["network"]], variant: row[at["variant"]]}
		if r.seed, err = strconv.ParseUint(row[at["seed"]], 10, 64); err != nil {
			return nil, fmt.Errorf("%s, line %d, seed: %w", path, line, err)
		}
		for name, to := range map[string]*float64{"load": &r.load, "accepted": &r.accepted, "latency": &r.latency, "hops": &r.hops} {
			if *to, err = strconv.ParseFloat(row[at[name]], 64); err != nil {
				return nil, fmt.Errorf("%s, line %d, %s: %w", path, line, name, err)
			}
		}
		t = append(t, r)
	}
}

// of are the runs of one network.
func (t table) of(network string) table {
	return t.where(func(r run) bool { return r.network == network })
}

// variant are the runs of one variant.
func (t table) variant(name string) table {
	return t.where(func(r run) bool { return r.variant == name })
}

func (t table) where(is func(run) bool) (list table) {
	for _, r := range t {
		if is(r) {
			list = append(list, r)
		}
	}
	return list
}

// point is all seeds at one load.
type point struct {
	run               // of the means
	accepted, latency interval
}

// interval is from the least to the most of all seeds, about their mean.
type interval struct{ least, mean, most float64 }

func over(t table, value func(run) float64) interval {
	var list []float64
	sum := 0.0
	for _, r := range t {
		list = append(list, value(r))
		sum += value(r)
	}
	return interval{slices.Min(list), sum / float64(len(list)), slices.Max(list)}
}

// points merges the seeds of each variant and load, in the order of the table.
func (t table) points() (list []point) {
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
		all := t.where(func(o run) bool { return o.variant == r.variant && o.load == r.load })
		list = append(list, point{
			run:      r,
			accepted: over(all, func(r run) float64 { return r.accepted }), latency: over(all, func(r run) float64 { return r.latency }),
		})
	}
	return list
}

// summary is a line for each variant and load.
func (t table) summary(who string) string {
	var b strings.Builder
	for _, p := range t.points() {
		fmt.Fprintf(&b, "%-9s %-10s %-12s load %-4v accepted %7.2f (%.2f to %.2f)  latency %7.2f (%.2f to %.2f)\n", who, p.network, p.variant, p.load,
			p.accepted.mean, p.accepted.least, p.accepted.most, p.latency.mean, p.latency.least, p.latency.most)
	}
	return b.String()
}

// find is the run of the same variant at the same load with the same seed.
func (t table) find(k run) (run, bool) {
	for _, r := range t {
		if r.network == k.network && r.variant == k.variant && r.load == k.load && r.seed == k.seed {
			return r, true
		}
	}
	return run{}, false
}
