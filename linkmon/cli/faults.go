package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fault"
)

func (m *monitor) faultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "faults [ID]",
		Short: "List what each fault has cost so far, or print one report in full",
		Long: `faults lists the latest faults, at most 4096. With an ID it prints the report of one in full.

FROM       when it was set, in seconds since the fabric started
FOR        how long it was in force
SEEN       after how long the last end that could find out had done so
LOST       packets lost on its links and in its switch
REROUTED   decisions to go another way
DISCARDED  packets that no switch could forward
DIP        how deep throughput fell, and after how long that was made good

A fault marked * shares figures with others that were counted at the same time.
A fault is counted until 1 s after its repair.`,
		Example: "  linkmon faults\n  linkmon faults 3\n  linkmon faults --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := faultID(args)
			if err != nil {
				return err
			}
			return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
				all, err := c.Faults(ctx)
				if err != nil {
					return err
				}
				if id > 0 {
					return m.oneFault(cmd.OutOrStdout(), all, id)
				}
				if m.json {
					return command.JSON(cmd.OutOrStdout(), all)
				}
				return fault.WriteTable(cmd.OutOrStdout(), command.Width(cmd.OutOrStdout()), all)
			})
		},
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) (ids []cobra.Completion,
		_ cobra.ShellCompDirective,
	) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		_ = m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
			all, err := c.Faults(ctx)
			for _, r := range all {
				ids = append(ids, cobra.CompletionWithDesc(strconv.Itoa(r.ID), r.What))
			}
			return err
		})
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// faultID reads the number of a report, 0 when there is none.
func faultID(args []string) (int, error) {
	if len(args) == 0 {
		return 0, nil
	}
	id, err := strconv.Atoi(args[0])
	if err != nil || id < 1 {
		return 0, fmt.Errorf("fault %q: expected the number of a fault, from 1; linkmon faults lists them", args[0])
	}
	return id, nil
}

func (m *monitor) oneFault(w io.Writer, all []fault.Report, id int) error {
	i := slices.IndexFunc(all, func(r fault.Report) bool { return r.ID == id })
	switch {
	case i < 0 && len(all) == 0:
		return fmt.Errorf("no fault %d: there was none yet", id)
	case i < 0:
		return fmt.Errorf("no fault %d: the reports kept are those of %d to %d", id, all[0].ID, all[len(all)-1].ID)
	case m.json:
		return command.JSON(w, all[i])
	}
	_, err := all[i].WriteTo(w)
	return err
}

// inFull prints a report, indented below the line of its event.
func inFull(w io.Writer, r fault.Report) error {
	var b strings.Builder
	if _, err := r.WriteTo(&b); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, eventIndent+strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "\n"+eventIndent))
	return err
}
