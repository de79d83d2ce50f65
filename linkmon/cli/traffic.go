package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
)

func (m *monitor) trafficCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "traffic PATTERN:LOAD[,OPTION=...]",
		Short: "Replace what all NICs inject, as fabricd up --traffic has it; none stops them",
		Long: "Replaces what all NICs inject. What is in their send queues goes on. The patterns and their options are " +
			"those of fabricd up --traffic.",
		Example: "  linkmon traffic uniform:0.4\n  linkmon traffic none",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
				a, err := c.SetTraffic(ctx, args[0])
				if err != nil {
					return err
				}
				if a.Note != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), "linkmon: "+a.Note)
				}
				if !m.json {
					fmt.Fprintf(cmd.OutOrStdout(), "traffic is %s\n", args[0])
				}
				return nil
			})
		},
	}
}
