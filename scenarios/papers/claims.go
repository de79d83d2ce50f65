package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/sweep"
)

func claims() *cobra.Command {
	return experiment("claims RESULTS PAGES",
		"Write what the papers say and what was measured, of results of fabricd sweep",
		`Writes PAGES/claims.md, with a table for each paper of all its statements, and a figure of each experiment, from the results of fabricd sweep
in the folders of RESULTS. An experiment that RESULTS does not have keeps its rows, by PAGES/claims.json.
The runs are kept in PAGES/runs, for others to go on from. make figures does it.`,
		cobra.ExactArgs(2), func(_ context.Context, args []string) error {
			n, err := sweep.Publish(args[0], args[1])
			if err == nil {
				fmt.Printf("%s/claims.md: %s\n", args[1], command.Counted(n, "experiment"))
			}
			return err
		})
}

func runs() *cobra.Command {
	return experiment("runs PAGES RESULTS",
		"Put the runs that the page of claims was written of into folders of results, for fabricd sweep to go on from",
		`Puts the runs of PAGES/runs into RESULTS, but for experiments of which RESULTS has runs. make figures does it.`,
		cobra.ExactArgs(2), func(_ context.Context, args []string) error {
			n, err := sweep.Restore(args[0], args[1])
			if err == nil {
				fmt.Printf("%s: runs of %s\n", args[1], command.Counted(n, "experiment"))
			}
			return err
		})
}
