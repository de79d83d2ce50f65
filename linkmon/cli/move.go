package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
)

func (m *monitor) moveCommand() *cobra.Command {
	var home bool
	cmd := &cobra.Command{
		Use:   "move SWITCH [HOST]",
		Short: "Have another host run a switch, while packets flow",
		Long: `move has another host of the fabric run a switch. HOST is the name of an agent of the fabric, as in fabricd agents. Without
HOST, or with --home, the switch goes back to the host that the placement gives it.

The neighbours of the switch hold back their packets until it runs on the other host. What the switch holds goes along, and
its links stay up. The NICs of the switch stay where they are. move ends when the switch runs on the other host.`,
		Example: "  linkmon move s1.03 east\n  linkmon move s1.03\n  linkmon move s1.03 --home --json",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 2:
				return fmt.Errorf("move of %d things: name one switch, and the host that is to run it: linkmon move s1.03 east",
					len(args))
			case home && len(args) == 2:
				return fmt.Errorf("move to %s and --home: give one of them", args[1])
			case slices.Contains(args, ""):
				return errors.New("move with an empty name: leave the host out to move a switch back")
			}
			return named(aSwitch)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
				moved, err := c.Move(ctx, args[0], append(args, "")[1])
				switch {
				case err != nil:
					return err
				case m.json:
					return command.JSON(cmd.OutOrStdout(), moved)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), movedText(moved))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&home, "home", false, "back to the host that the placement gives it, as without HOST")
	switches := m.completeSwitches(anySwitch)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion,
		cobra.ShellCompDirective,
	) {
		switch {
		case len(args) == 0:
			return switches(cmd, args, word)
		case len(args) == 1 && !home:
			return m.completeHosts(cmd)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// movedText says what became of a move.
func movedText(m fabric.Moved) string {
	const leader = "the leader's own process"
	from, to := cmp.Or(m.From, leader), cmp.Or(m.To, leader)
	text := fmt.Sprintf("%s runs on %s already", m.Switch, to)
	if m.Changed {
		text = fmt.Sprintf("%s moved from %s to %s, %s went along", m.Switch, from, to,
			english.Plural(int(m.Packets), "packet", ""))
	}
	if m.Note != "" {
		text += "\n  " + m.Note
	}
	return text
}

// completeHosts offers the names of hosts.
func (m *monitor) completeHosts(cmd *cobra.Command) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	_ = m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
		s, err := c.Status(ctx)
		for _, h := range s.Hosts {
			names = append(names, h.Host)
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
