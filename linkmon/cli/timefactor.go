package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/leader"
)

func (m *monitor) timeFactorCommand() *cobra.Command {
	var fixed bool
	cmd := &cobra.Command{
		Use:   "time-factor FACTOR",
		Short: "Have the clock of the fabric go slower or faster than that of the machine",
		Long: `All that has a rate or a timer in the fabric goes by its clock: links, traffic, hellos, registers. At 0.1 the
fabric takes ten times as long for the same, so a machine carries what is too much for it at 1. Latency and
rates are in the fabric's own time. 1 is the time of the machine.

While the machine is late the clock goes slower than was asked for, unless --fixed is given; status says how fast it goes.`,
		Example: "  linkmon time-factor 0.1\n  linkmon time-factor 1 --fixed",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			factor, err := strconv.ParseFloat(args[0], 64)
			if err != nil {
				return fmt.Errorf("time factor %s: expected a number, as 0.1; 1 is the time of the machine", args[0])
			}
			return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
				to, err := c.SetTimeFactor(ctx, api.TimeFactor{Factor: factor, Fixed: fixed})
				if err == nil && m.json {
					return command.JSON(cmd.OutOrStdout(), to)
				}
				if err == nil {
					now := leader.Tempo{Factor: to.Factor, Most: to.Factor, Fixed: to.Fixed}
					_, err = fmt.Fprintln(cmd.OutOrStdout(), "time: "+now.String())
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&fixed, "fixed", false, "the clock does not go slower while the machine is late")
	return cmd
}
