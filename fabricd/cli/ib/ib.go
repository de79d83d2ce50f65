// Package ib is the command fabricd ib: a program of InfiniBand, run on an emulated fabric.
package ib

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
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
			library, err := library()
			if err != nil {
				return err
			}
			path, err := find(args[0])
			if err != nil {
				return err
			}
			// The library makes its folder of devices where the program begins.
			c := exec.CommandContext(cmd.Context(), path, args[1:]...)
			c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
			c.Stdin, c.Stdout, c.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			c.Env = append(os.Environ(), "LD_PRELOAD="+library, "IBSIM_SOCKNAME="+name)
			if at != "" {
				c.Env = append(c.Env, "SIM_HOST="+at)
			}
			err = c.Run()
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

// packages are what the programs are in.
const packages = "install Debian's packages libumad2sim0, opensm and infiniband-diags"

// library is the file of libumad2sim.so.
func library() (string, error) {
	if list, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so"); len(list) > 0 {
		return list[0], nil
	}
	return "", errors.New("libumad2sim.so is not installed: " + packages)
}

// find is the file of a program; those of administrators are often not in the path of users.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		if path, err = exec.LookPath(filepath.Join("/usr/sbin", program)); err != nil {
			return "", fmt.Errorf("%s is not installed: %s, or give its path", program, packages)
		}
	}
	return path, err
}
