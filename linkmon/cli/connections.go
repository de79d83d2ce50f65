package cli

import (
	"cmp"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/fabricd/namespace"
)

// connectionsCommand shows what packets tell of programs.
func (m *monitor) connectionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "connections",
		Short: "List the TCP connections of programs, what was sent again and how long nothing went on",
		Long: `connections lists what each NIC of this machine sends in connections of TCP, of programs that linkmon exec or
mpirun has started: as its packets tell, also of those that ended lately. A connection stands still while nothing of
what it has sent is acknowledged.`,
		Example: "  linkmon connections\n  linkmon connections --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := namespace.Connections(cmd.Context(), m.fabric)
			if err != nil {
				return err
			}
			if m.json {
				return command.JSON(cmd.OutOrStdout(), list)
			}
			t := table.New("NIC", "PROGRAM", "FROM", "TO", "SENT", "AGAIN", "STOOD STILL", "NOW")
			t.Gap = 2
			for _, c := range list {
				now := "goes on"
				switch {
				case c.Ended:
					now = "ended"
				case c.Standing > 0:
					now = "stands still for " + short(c.Standing)
				}
				t.Row(c.NIC, cmp.Or(c.Program, "-"), c.From, c.To, humanize.IBytes(c.Bytes), humanize.IBytes(c.Resent),
					short(c.Longest), now)
			}
			return t.Text(cmd.OutOrStdout())
		},
	}
}

func short(d weft.Time) string {
	return time.Duration(d / weft.Nanosecond).Round(10 * time.Microsecond).String()
}
