// Package ib is the command fabricd ib: a program of InfiniBand, run on an emulated fabric.
package ib

import (
	"errors"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/ib/program"
)

// Command is fabricd ib.
func Command() *cobra.Command {
	var name, at string
	cmd := &cobra.Command{
		Use:   "ib -- PROGRAM [ARGUMENT ...]",
		Short: "Run a program of InfiniBand, as OpenSM or ibnetdiscover, on a fabric that fabricd up --ib has launched",
		Long: `Runs a program of InfiniBand unmodified, as if this machine were a host of the fabric: it comes in by
the library libumad2sim.so, of Debian's package libumad2sim0.

Exit code: that of the program; 2 when it cannot be started.`,
		Example: "  fabricd up --ib --topology mport-tree:8,2\n" +
			"  fabricd ib -- opensm -R ftree\n" +
			"  fabricd ib --at n05 -- ibnetdiscover",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := program.Command(cmd.Context(), name, at, args[0], args[1:]...)
			if err != nil {
				return err
			}
			c.Stdin, c.Stdout, c.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			wait, err := program.Start(c)
			if err != nil {
				return err
			}
			err = wait()
			program.Clean(c)
			if cmd.Context().Err() != nil && c.ProcessState != nil && c.ProcessState.ExitCode() <= 0 {
				return nil // Ctrl-C has ended it in order
			}
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				return command.Exited(exit.ExitCode())
			}
			return err
		},
	}
	cmd.Flags().StringVar(&name, "fabric", "weft", "name of the fabric, or the one given with --ib")
	cmd.Flags().StringVar(&at, "at", "",
		"the NIC or switch that the `node` is where the program runs; the first NIC unless given")
	return cmd
}
