package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
)

func (m *monitor) timeFactorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "time-factor FACTOR",
		Short: "Have the clock of the fabric go slower or faster than that of the machine",
		Long: `All that has a rate or a timer in the fabric goes by its clock: links, traffic, hellos, registers. At 0.1 the
fabric takes ten times as long for the same, so a machine carries what is too much for it at 1. Latency and
rates are in the fabric's own time. 1 is the time of the machine.`,
		Example: "  linkmon time-factor 0.1\n  linkmon time-factor 1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			factor, err := strconv.ParseFloat(args[0], 64)
			if err != nil {
				return fmt.Errorf("time factor %s: expected a number, as 0.1; 1 is the time of the machine", args[0])
			}
			return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
				to, err := c.SetTimeFactor(ctx, factor)
				if err == nil && m.json {
					return command.JSON(cmd.OutOrStdout(), to)
				}
				if err == nil {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), "time: "+timeText(to.Factor))
				}
				return err
			})
		},
	}
}

// timeText says how fast the clock of a fabric goes.
func timeText(factor float64) string {
	switch factor {
	case 0:
		return "that of the machine: links are not paced, so no factor applies"
	case 1:
		return "that of the machine"
	}
	return fmt.Sprintf("emulating at %s%% of real time", strconv.FormatFloat(100*factor, 'g', 3, 64))
}
