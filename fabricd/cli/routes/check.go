package routes

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
)

func routesCheck(u *routesFlags) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that routes are free from deadlock and reach everything",
		Long: `Follows every path and looks for a cycle in the channel dependency graph, and for pairs that cannot be routed. A shortest cycle is printed,
with a pair for each dependency of it. Of escape routing the escape layer must have none.

With --scenario the traffic of those pairs is written as a scenario, which fabricd run --virtual drives into the deadlock.

Exit codes: 0 no cycle and all pairs routed, 1 a cycle or pairs without a route, 2 wrong input, or interrupted.`,
		Example: "  fabricd routes check --topology irregular:64,128,1 --routing minimal-hop --scenario deadlock.yaml; " +
			"fabricd run --virtual deadlock.yaml",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.CanWrite("--scenario", file); err != nil {
				return err
			}
			list, err := u.compute(cmd, u.routing)
			if err != nil {
				return err
			}
			v, err := list[0].Check(cmd.Context())
			if err != nil {
				return inWords(cmd.Context(), err)
			}
			if file != "" {
				if err := writeDeadlock(file, u.routing, list[0].Routing.Graph, v); err != nil {
					return fmt.Errorf("--scenario %s: %w", file, err)
				}
			}
			if u.json {
				err = command.JSON(cmd.OutOrStdout(), v)
			} else {
				err = printCheck(cmd.OutOrStdout(), v, list[0].Summary(0))
			}
			if err == nil && !v.Pass {
				err = command.ErrFailed
			}
			return err
		},
	}
	cmd.Flags().StringVar(&file, "scenario", "", "write the traffic of the cycle to this file, as a scenario")
	_ = cmd.MarkFlagFilename("scenario", "yaml", "yml") // there is such a flag
	return cmd
}

func printCheck(w io.Writer, v survey.CheckResult, sum survey.Summary) error {
	fmt.Fprintf(w, "%s by %s\n", v.Topology, v.Engine)
	if !v.Acyclic {
		fmt.Fprintf(w, "channel dependencies: a cycle of %d, in which packets can wait for one another for ever\n",
			len(v.Cycle))
		err := command.Tabbed(w, func(tab func(...any)) {
			for i, d := range v.Cycle {
				next := v.Cycle[(i+1)%len(v.Cycle)]
				more := ""
				if d.Pairs > 1 {
					more = fmt.Sprintf(", and %s more", number(d.Pairs-1))
				}
				tab("  "+d.Name, "then "+next.Name, "by packets from "+d.Example+more)
			}
		})
		if err != nil {
			return err
		}
	} else {
		fmt.Fprintf(w, "channel dependencies: %s\n", dependencyWords(sum))
	}
	_, err := fmt.Fprintf(w, "unroutable pairs: %s of %s\n", number(v.Unroutable), number(v.Pairs))
	return err
}

// writeDeadlock writes a scenario in which the pairs of the cycle send as fast as they can.
func writeDeadlock(file, routing string, g *topology.Graph, v survey.CheckResult) error {
	f, err := scenario.Deadlock(routing, g, v)
	if err != nil {
		return err
	}
	data, err := format.Write(f)
	if err != nil {
		return err
	}
	return safefile.Write(file, data)
}
