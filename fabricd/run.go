package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
)

func runCommand() *cobra.Command {
	var asJSON bool
	var seed uint64
	cmd := &cobra.Command{
		Use:     "run SCENARIO.yaml",
		Short:   "Run a scenario on a live fabric and judge it",
		Long:    "Runs a scenario over an embedded NATS server and judges what it expects.\n\nExit codes: 0 it passes, 1 an expectation does not hold, 2 the scenario cannot be run.",
		Example: "  fabricd run scenarios/heal.yaml\n  fabricd run scenarios/heal.yaml --json | jq .ledger",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := scenario.Read(args[0])
			if err != nil {
				return err
			}
			if seed != 0 {
				s.Options.Seed = seed
			}
			return runScenario(cmd, s, asJSON)
		},
		ValidArgsFunction: yamlFiles,
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print the result as one JSON object")
	cmd.Flags().Uint64Var(&seed, "sim-seed", 0, "seed of every random draw; 0 is the scenario's own")
	return cmd
}

// yamlFiles completes the names of YAML files.
func yamlFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

func runScenario(cmd *cobra.Command, s *scenario.Scenario, asJSON bool) error {
	link, err := openLinks("run", "", slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer link.close()
	line := cli.NewLine(cmd.ErrOrStderr())
	r := scenario.Runner{Transport: link.transport}
	r.Progress = func(f *fabric.Fabric, at time.Duration, step string) {
		switch {
		case step != "":
			line.Print(fmt.Sprintf("%6.1fs  %s", at.Seconds(), step))
		case cli.Terminal(cmd.ErrOrStderr()):
			t := f.Totals()
			line.Show(fmt.Sprintf("%6.1fs of %v  delivered %d  rerouted %d  links down %d", at.Seconds(), s.Duration, t.Delivered, t.Rerouted, len(f.LinksDown())))
		}
	}
	res, err := r.Run(cmd.Context(), s)
	line.Done()
	if err != nil {
		return err
	}
	if asJSON {
		err = cli.JSON(cmd.OutOrStdout(), res)
	} else {
		printResult(cmd, res)
	}
	if err == nil && !res.Pass {
		err = cli.ErrFailed
	}
	return err
}

func printResult(cmd *cobra.Command, r scenario.Result) {
	w := cmd.OutOrStdout()
	for _, f := range r.Faults {
		fmt.Fprintf(w, "fault %d: %s\n", f.ID, f.Story())
	}
	printLedger(w, r.Ledger)
	fmt.Fprintf(w, "rerouted %d, reordered %d, mean stretch %.4f, latency p50 %.0f us, p99 %.0f us\n",
		r.Rerouted, r.Reordered, r.Totals.Stretch, r.Totals.Latency.P50, r.Totals.Latency.P99)
	for _, why := range r.Failed {
		fmt.Fprintln(w, "failed:", why)
	}
	verdict := "PASS"
	if !r.Pass {
		verdict = "FAIL"
	}
	fmt.Fprintf(w, "%s %s (%.1f s)\n", verdict, r.Scenario, r.Seconds)
}
