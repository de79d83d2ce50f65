// Command speed runs one network of the comparison with BookSim2 for so many cycles, start included, and prints how many packets
// crossed how many switches in all:
//
//	go run ./scenarios/papers/booksim/speed NETWORK LOAD CYCLES
//
// speed.sh beside it takes the time of both.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/nic"
)

// networks are those that speed.sh names, with their routing.
var networks = map[string][2]string{
	"fattree64": {"kary-ntree:4,3", "updown"},
	"mesh64":    {"mesh:8x8", "dimension-order"},
	"torus512":  {"torus:8x8x8", "dimension-order"},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: speed NETWORK LOAD CYCLES: give a network, a share of a link and how long to run")
	}
	n, ok := networks[args[0]]
	if !ok {
		return fmt.Errorf("no network %q here: fattree64, mesh64 or torus512", args[0])
	}
	load, err := strconv.ParseFloat(args[1], 64)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	cycles, err := strconv.Atoi(args[2])
	if err != nil {
		return fmt.Errorf("cycles: %w", err)
	}
	g, err := topology.Parse(n[0])
	if err != nil {
		return err
	}
	const cycle = measure.DefaultCycle
	r, err := measure.Run(context.Background(), measure.Config{
		Topology: g, Routing: n[1], EagerCredits: true, Seed: 1, Traffic: nic.Traffic{Pattern: "uniform", Load: load},
		WireDelay: cycle, RoutingDelay: cycle, CrossbarDelay: cycle, // as compare has them
		Warmup: measure.Warmup{Skip: true}, Window: cycles,
	})
	if err != nil {
		return err
	}
	fmt.Println(r.PacketHops, r.Cycles, r.Accepted)
	return nil
}
