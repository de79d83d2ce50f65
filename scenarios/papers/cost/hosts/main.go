// Command hosts measures what a fabric over several hosts costs each of them, makes a model of it,
// and holds the model against other runs:
//
//	go run ./scenarios/papers/cost/hosts docs/results
//
// It writes hosts.csv and hosts-model.csv into the folder. Hosts are an agent and a NATS server
// each, as processes on this machine, pinned to its cores with taskset; the servers are a cluster.
// The leader is fabricd up. The commands are built first, from this tree.
//
// Runs of a small fabric on one, two and three hosts, and one of a link that is used one way, give
// the constants. Then other fabrics run on hosts that share the cores in the same ways. All are
// saturated, so that processor time is what bounds them, and the model is to say at how many
// packets a second. With -large it is mport-tree:36,3 on three hosts alone, at a rate that two
// cores carry, into hosts-large.csv. There must be two cores.
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

// run is one fabric on so many hosts.
type run struct {
	name     string
	topology string
	cores    []string // per host, as taskset names them
	leader   string   // likewise
	traffic  string
	flags    []string // of fabricd up
}

// layouts are how hosts share two cores. Where a host has one to itself, as hosts of a cluster do,
// frames wait for company while other hosts work, and fewer messages carry more; of hosts that
// share a core each has only short turns.
var layouts = []run{
	{name: "1 host, 1 core", cores: []string{"1"}, leader: "0"},
	{name: "2 hosts, a core each", cores: []string{"0", "1"}, leader: "0,1"},
	{name: "3 hosts, 2 cores", cores: []string{"0,1", "0,1", "0,1"}, leader: "0,1"},
	{name: "2 hosts, 1 core", cores: []string{"1", "1"}, leader: "0"},
	{name: "3 hosts, 1 core", cores: []string{"1", "1", "1"}, leader: "0"},
}

// What saturates a fabric, chosen by us: twice what two cores carry, for more costs them what NICs
// refuse, in packets of which few fit into a send queue, so that the fabric drains soon. Packets
// cost the same whatever their size, for they are headers only.
const (
	saturated = "uniform:1,sizes=4096"
	offered   = 128_000 // packets a second of all NICs together
)

// on is a layout with a fabric that is saturated.
func (r run) on(spec string) (run, error) {
	g, err := topology.Parse(spec)
	if err != nil {
		return r, err
	}
	r.topology, r.traffic = spec, saturated
	r.flags = []string{"--link-rate", strconv.Itoa(offered / len(g.NICs) * 4096)}
	return r, nil
}

// The fabrics: what the constants come from, and what they are to predict.
const (
	small  = "kary-ntree:4,3"
	larger = "mport-tree:8,3"
	other  = "torus:8x8"
)

var (
	way   = run{"one way", "mesh:2", []string{"1", "1"}, "0", "incast:1,to=0", []string{"--link-rate", "100000000"}}
	large = run{"3 hosts, 2 cores", "mport-tree:36,3", []string{"0,1", "0,1", "0,1"}, "0,1", "uniform:0.0002", nil}
)

func main() { experiment.Main(command) }

func command(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("hosts", flag.ContinueOnError)
	span := f.Duration("span", 8*time.Second, "how long each run is measured, and half as long idling")
	big := f.Bool("large", false, "measure only "+large.topology+", at a rate of packets and not saturated")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("usage: hosts [FLAGS] FOLDER: give the folder that the results go to")
	}
	bin, err := os.MkdirTemp("", "weft-hosts")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	if err := build(ctx, bin); err != nil {
		return err
	}
	m := measurer{bin: bin, span: *span}
	folder := f.Arg(0)
	if *big {
		got, err := m.measure(ctx, large)
		if err != nil {
			return err
		}
		for i, x := range got.row(nil) {
			fmt.Println(header[i], x)
		}
		return write(filepath.Join(folder, "hosts-large.csv"), [][]string{header, got.row(nil)})
	}
	var results []result
	saturate := func(spec string, of ...run) error {
		for _, r := range of {
			r, err := r.on(spec)
			if err != nil {
				return err
			}
			got, err := m.measure(ctx, r)
			if err != nil {
				return err
			}
			results = append(results, got)
		}
		return nil
	}
	if err := saturate(small, layouts...); err != nil {
		return err
	}
	one, err := m.measure(ctx, way)
	if err != nil {
		return err
	}
	model, err := fit(results[0], results[1:], one)
	if err != nil {
		return err
	}
	results = append(results, one)
	if err := saturate(larger, layouts...); err != nil {
		return err
	}
	if err := saturate(other, layouts[1:3]...); err != nil {
		return err
	}
	rows := [][]string{header}
	for _, r := range results {
		rows = append(rows, r.row(model))
	}
	fmt.Printf("%s\n%s", table(results, model), model)
	return errors.Join(write(filepath.Join(folder, "hosts.csv"), rows), write(filepath.Join(folder, "hosts-model.csv"), model.rows()))
}

func write(path string, rows [][]string) error {
	return safefile.WriteTo(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}

// build makes the commands that hosts run.
func build(ctx context.Context, folder string) error {
	for name, of := range map[string]string{"fabricd": "./fabricd", "nats-server": "github.com/nats-io/nats-server/v2"} {
		said, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(folder, name), of).CombinedOutput()
		if err != nil {
			return fmt.Errorf("build %s, from the root of the source: %w: %s", of, err, said)
		}
	}
	return nil
}
