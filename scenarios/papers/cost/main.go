// Command cost measures what a network of some size takes to build and to run in virtual time, and
// draws it over the number of NICs:
//
//	go run ./scenarios/papers/cost docs/results [TOPOLOGY...]
//
// It writes cost.csv, cost.svg and cost.png into the folder. Each topology is run in a process of
// its own, so that its memory can be told: uniform traffic at a load of 0.1 for so many cycles that
// there are some hundred thousand packet-hops, on one processor.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

// sizes are the topologies that are measured unless others are named.
var sizes = []string{
	"kary-ntree:4,2", "kary-ntree:4,3", "torus:8x8x8", "mport-tree:36,2", "kary-ntree:4,5", "torus:16x16x16", "kary-ntree:16,3",
	"mport-tree:36,3",
}

// child is the argument with which the command runs itself for one topology.
const child = "-child"

func main() { experiment.Main(run) }

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == child:
		return one(ctx, args[1], os.Stdout)
	case len(args) >= 1 && args[0] != child:
		return all(ctx, args[0], args[1:])
	}
	return errors.New("usage: cost FOLDER [TOPOLOGY...]: give the folder that the results go to")
}

// all measures the topologies one after the other.
func all(ctx context.Context, folder string, specs []string) error {
	if len(specs) == 0 {
		specs = sizes
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var table bytes.Buffer
	out := csv.NewWriter(&table)
	_ = out.Write(header) // cannot fail: it is memory
	var rows []row
	for _, spec := range specs {
		cmd := exec.CommandContext(ctx, self, child, spec)
		cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "GOMAXPROCS=1")
		said, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		r, err := parse(string(said))
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		r.megabytes = peak(cmd.ProcessState.SysUsage())
		rows = append(rows, r)
		_ = out.Write(r.columns())
		fmt.Fprintln(os.Stderr, r.columns())
	}
	out.Flush()
	if err := safefile.Write(filepath.Join(folder, "cost.csv"), table.Bytes()); err != nil {
		return err
	}
	for _, end := range []string{".svg", ".png"} {
		if err := draw(rows, filepath.Join(folder, "cost"+end)); err != nil {
			return err
		}
	}
	return nil
}

// peak is the most memory that a process has had, in megabytes; 0 where that is not told.
func peak(usage any) float64 {
	if u, ok := usage.(*syscall.Rusage); ok {
		return float64(u.Maxrss) / 1024
	}
	return 0
}
