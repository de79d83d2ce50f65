package cli

import (
	"context"
	"errors"
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
		Use:   "time-factor [FACTOR]",
		Short: "Have the clock of the fabric go slower or faster than that of the machine",
		Long: `time-factor has all that has a rate or a timer in the fabric go by a slower or faster clock: links, traffic, hellos, registers.
At 0.1 the fabric takes ten times as long for the same, so a machine that is too slow for it carries it. What the fabric shows,
as latency and rates, is in its own time.

Unless --fixed is given the factor falls by itself while the machine cannot keep up, and rises to 1 again when it can.
Without FACTOR it stays as it is.`,
		Example: "  linkmon time-factor 0.1\n  linkmon time-factor 1 --fixed",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := api.TimeFactorRequest{Fixed: fixed}
			if len(args) == 1 {
				var err error
				if r.Factor, err = strconv.ParseFloat(args[0], 64); err != nil || r.Factor == 0 {
					return fmt.Errorf("time factor %s: expected a number, as 0.1; 1 is the time of the machine", args[0])
				}
			} else if !fixed {
				return errors.New("time-factor needs a factor, as 0.1, or --fixed to keep the one that there is")
			}
			return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
				to, err := c.SetTimeFactor(ctx, r)
				if err == nil && m.json {
					return command.JSON(cmd.OutOrStdout(), map[string]leader.TimeFactor{"time_factor": to})
				}
				if err == nil {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), "time: "+timeText(to))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&fixed, "fixed", false, "it does not change by itself")
	return cmd
}

// timeText says how fast the clock of a fabric goes.
func timeText(t leader.TimeFactor) string {
	var text string
	switch t.Factor {
	case 0:
		return "links are not paced: no time factor applies"
	case 1:
		text = "that of the machine"
	default:
		text = fmt.Sprintf("emulating at %s%% of real time", strconv.FormatFloat(100*t.Factor, 'g', 3, 64))
	}
	if t.Fixed {
		text += ", fixed"
	}
	return text
}
