// Command live measures what fabrics of several sizes take when they run live, as fabricd up runs
// them: in one process, links over NATS.
//
//	go run ./scenarios/papers/cost/live docs/results [TOPOLOGY...]
//
// It writes live.csv into the folder. Each topology is run in a process of its own, so that its
// memory can be told. There it comes up, idles, and then carries uniform traffic, of 10,000 packets
// a second in all unless -rate says otherwise. A state stream is made and read all the while, as
// for fabricd up and one page, which looks at large fabrics by pods. With -profile FOLDER every
// process leaves CPU profiles of coming up and of its traffic there.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

// sizes are the topologies that are measured unless others are named.
var sizes = []string{"kary-ntree:4,3", "mport-tree:8,3", "mport-tree:16,3", "mport-tree:36,3"}

// settings are the same for all topologies.
type settings struct {
	rate    float64       // packets a second that are asked for, of all NICs together
	span    time.Duration // that the traffic is measured for, and idling
	profile string        // folder of CPU profiles; empty: none
	whole   bool          // the viewer is told of every link, also of a large fabric
}

func main() {
	// As fabricd does.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	var s settings
	child := flag.Bool("child", false, "measure one topology and write its row to stdout")
	flag.Float64Var(&s.rate, "rate", 10_000, "packets a second of all NICs together; no NIC sends more than its link carries")
	flag.DurationVar(&s.span, "span", 20*time.Second, "how long the fabric idles, and how long it carries traffic")
	flag.StringVar(&s.profile, "profile", "", "folder for CPU profiles of the traffic")
	flag.BoolVar(&s.whole, "whole", false, "have the viewer be told of every switch and link, also where there are pods")
	flag.Parse()
	experiment.Main(func(ctx context.Context, _ []string) error {
		switch args := flag.Args(); {
		case *child && len(args) == 1:
			return s.one(ctx, args[0], os.Stdout)
		case !*child && len(args) >= 1:
			return s.all(ctx, args[0], args[1:])
		}
		return errors.New("usage: live [FLAGS] FOLDER [TOPOLOGY...]: give the folder that the results go to")
	})
}

// all measures the topologies one after the other.
func (s settings) all(ctx context.Context, folder string, specs []string) error {
	if len(specs) == 0 {
		specs = sizes
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	table := bytes.NewBufferString(strings.Join(header, ",") + "\n")
	for _, spec := range specs {
		cmd := exec.CommandContext(ctx, self, "-child", "-rate", fmt.Sprint(s.rate), "-span", s.span.String(), "-profile", s.profile, fmt.Sprintf("-whole=%t", s.whole), spec)
		cmd.Stderr = os.Stderr
		said, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		row, err := csv.NewReader(bytes.NewReader(said)).Read()
		if err != nil || len(row) != len(header) {
			return fmt.Errorf("%s: said %q, which is no row of %d columns", spec, said, len(header))
		}
		table.Write(said)
		fmt.Fprintln(os.Stderr, strings.Join(row, " "))
	}
	return safefile.Write(filepath.Join(folder, "live.csv"), table.Bytes())
}
