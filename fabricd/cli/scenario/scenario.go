// Package scenario is the command fabricd scenario: checks of scenario files.
package scenario

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/scenario"
)

// Command is fabricd scenario.
func Command() *cobra.Command {
	cmd := &cobra.Command{Use: "scenario", Short: "Check scenario files"}
	cmd.AddCommand(command.ValidateCommand("validate SCENARIO.yaml...", "Check scenario files without running them",
		func(ctx context.Context, stderr io.Writer, name string) (command.Checked, error) {
			s, err := scenario.Read(ctx, name)
			if err != nil {
				return command.Checked{}, command.AnExperiment.Unless(name, err)
			}
			g := s.Options.Topology
			command.Warn(stderr, append(s.Warnings, g.Warnings...))
			return command.Checked{Switches: len(g.Switches), NICs: len(g.NICs), Links: len(g.Links)}, nil
		}))
	return command.Group(cmd)
}
