// Command cost measures what it takes to compute routes for irregular networks, and draws it over
// the number of switches:
//
//	go run ./scenarios/papers/layered/cost docs/results [SWITCHES...]
//
// It writes routes-cost.csv, routes-cost.svg and routes-cost.png into the folder. Of each size
// there are five random graphs with twice as many links as switches (irregular:N,2N,1 to 5), one
// NIC a switch; the median of their times counts. Times are of one processor, from the graph to
// tables and assignment. Where the folder has OpenSM's times on graphs of the same kind
// (opensm.csv, see theirs), they are drawn, too.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

// sizes are the numbers of switches that are measured unless others are named.
var sizes = []int{16, 32, 64, 128, 256, 512, 1024}

// routings are those that are measured, each up to a size at which it takes seconds.
var routings = []struct {
	name string
	most int // switches
}{
	{"lash", 1024}, {"mp-lash:step4=false", 256}, {"a-lash:step4=false", 256}, {"updn", 1024}, {"minimal-hop", 1024},
}

// graphs is how many graphs of each size are measured.
const graphs = 5

func main() {
	runtime.GOMAXPROCS(1) // one processor, garbage collection included
	experiment.Main(run)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: cost FOLDER [SWITCHES...]: give the folder that the results go to")
	}
	list := sizes
	if len(args) > 1 {
		list = nil
	}
	for _, a := range args[1:] {
		n, err := strconv.Atoi(a)
		if err != nil || n < 5 {
			return fmt.Errorf("%q switches: give a number from 5 on", a)
		}
		list = append(list, n)
	}
	return all(ctx, args[0], list)
}

// all measures all routings at all sizes.
func all(ctx context.Context, folder string, list []int) error {
	var table bytes.Buffer
	out := csv.NewWriter(&table)
	_ = out.Write(header) // cannot fail: it is memory
	var rows []row
	for _, r := range routings {
		for _, n := range list {
			if n > r.most {
				continue
			}
			got, err := measure(ctx, r.name, n)
			if err != nil {
				return fmt.Errorf("%s, %d switches: %w", r.name, n, err)
			}
			rows = append(rows, got)
			_ = out.Write(got.columns())
			fmt.Fprintln(os.Stderr, got.columns())
		}
	}
	out.Flush()
	if err := safefile.Write(filepath.Join(folder, "routes-cost.csv"), table.Bytes()); err != nil {
		return err
	}
	opensm, err := theirs(folder)
	if err != nil {
		return err
	}
	for _, end := range []string{".svg", ".png"} {
		if err := draw(rows, opensm, filepath.Join(folder, "routes-cost"+end)); err != nil {
			return err
		}
	}
	return nil
}
