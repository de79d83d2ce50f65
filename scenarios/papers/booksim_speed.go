package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/nic"
)

// speedNetworks are those that speed.sh names, with their routing.
var speedNetworks = map[string][2]string{
	"fattree64": {"kary-ntree:4,3", "updown"},
	"mesh64":    {"mesh:8x8", "dimension-order"},
	"torus512":  {"torus:8x8x8", "dimension-order"},
}

// speedModels set what differs between the two.
var speedModels = map[string]func(*measure.Config){
	"eager":       func(c *measure.Config) { c.Switch.EagerCredits, c.RoutingDelay = true, measure.DefaultCycle },
	"experiments": func(*measure.Config) {},
}

func booksimSpeed() *cobra.Command {
	return &cobra.Command{
		Use:   "booksim-speed NETWORK LOAD CYCLES MODEL",
		Short: "Run one network for so many cycles, for booksim/speed.sh",
		Long: `Runs one network of the comparison with BookSim2 for so many cycles, start included, and prints how many packets crossed
how many switches in all, the cycles, and the packets a cycle that arrived. booksim/speed.sh takes the time of both.

NETWORK is fattree64, mesh64 or torus512, and LOAD a share of a link. MODEL is eager, every delay a cycle and every credit
returned at once as in the comparison, or experiments, the one that the figures of the papers were measured with
(docs/explanation/measure.md).`,
		Args: cobra.ExactArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := parseSpeed(args)
			if err != nil {
				return err
			}
			r, err := measure.Run(cmd.Context(), c)
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), r.PacketHops, r.Cycles, r.Accepted)
			}
			return err
		},
	}
}

// parseSpeed is the configuration that the arguments ask for.
func parseSpeed(args []string) (c measure.Config, err error) {
	n, ok := speedNetworks[args[0]]
	if !ok {
		return c, fmt.Errorf("no network %q here: fattree64, mesh64 or torus512", args[0])
	}
	load, err := strconv.ParseFloat(args[1], 64)
	if err != nil {
		return c, fmt.Errorf("load: %w", err)
	}
	cycles, err := strconv.Atoi(args[2])
	if err != nil || cycles < 1 {
		return c, fmt.Errorf("cycles must be a whole number, 1 or more, not %q", args[2])
	}
	model, ok := speedModels[args[3]]
	if !ok {
		return c, fmt.Errorf("no model %q here: eager or experiments", args[3])
	}
	g, err := topology.Parse(n[0])
	if err != nil {
		return c, err
	}
	c = measure.Config{
		Topology: g, Routing: n[1], Seed: 1, Traffic: nic.Traffic{Pattern: "uniform", Load: load},
		WireDelay: measure.DefaultCycle, CrossbarDelay: measure.DefaultCycle,
		Warmup: measure.Warmup{Skip: true}, Window: cycles,
	}
	model(&c)
	return c, nil
}
