// Command linkmon looks at a running fabric, cuts and restores its links and crashes its switches.
package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/registry"
)

func main() { cli.Main(command()) }

// monitor is what all subcommands share.
type monitor struct {
	fabric string
	json   bool
}

func command() *cobra.Command {
	var m monitor
	root := &cobra.Command{
		Use:   "linkmon",
		Short: "Watch a running fabric, cut and restore its links",
		Long: `linkmon works on a fabric that fabricd up has started on this machine.

Exit codes: 0 done (also when there was nothing to do), 2 wrong input or no fabric.`,
		Example: "  linkmon status\n  linkmon cut s0.00 s1.00\n  linkmon heal --all",
	}
	p := root.PersistentFlags()
	p.StringVar(&m.fabric, "fabric", "", "name of the fabric; not needed while only one runs")
	p.BoolVarP(&m.json, "json", "j", false, "print JSON, events and samples as JSON lines")
	_ = root.RegisterFlagCompletionFunc("fabric", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return registry.Names(), cobra.ShellCompDirectiveNoFileComp
	})
	root.AddCommand(
		m.lsCommand(), m.statusCommand(), m.linksCommand(), m.eventsCommand(), m.watchCommand(),
		m.cutCommand(), m.restoreCommand(), m.crashCommand(), m.healCommand(),
	)
	return root
}

// dial connects to the fabric meant: as its operator when it is to act.
func (m *monitor) dial(act bool) (*api.Client, error) {
	e, err := m.find()
	if err != nil {
		return nil, err
	}
	return api.Dial(e, "linkmon", act)
}

func (m *monitor) find() (registry.Entry, error) {
	e, err := registry.Find(m.fabric)
	if err != nil && m.fabric != "" {
		if names := registry.Names(); len(names) > 0 && !slices.Contains(names, m.fabric) {
			return e, document.Unknown("fabric", m.fabric, names)
		}
	}
	return e, err
}

// with runs f on a connection.
func (m *monitor) with(cmd *cobra.Command, act bool, f func(ctx context.Context, c *api.Client) error) error {
	c, err := m.dial(act)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return f(cmd.Context(), c)
}

func (m *monitor) cutCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "cut LINK | cut A B",
		Short:   "Cut a link, signalled: both ends lose it at once",
		Example: "  linkmon cut s0.00 s1.00\n  linkmon cut s0.00-s1.00",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.change(cmd, args, "is cut already", (*api.Client).Cut)
		},
		ValidArgsFunction: m.completeLinks(func(l fabric.LinkState) bool { return l.State != fabric.LinkCut }),
	}
}

func (m *monitor) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "restore LINK | restore A B | restore SWITCH",
		Short:   "Bring back a link that was cut, or a switch that crashed",
		Example: "  linkmon restore s0.00 s1.00\n  linkmon restore s1.03",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.change(cmd, args, "is neither cut nor crashed", (*api.Client).Restore)
		},
		ValidArgsFunction: m.completeLinks(func(l fabric.LinkState) bool { return l.State != fabric.LinkUp }),
	}
}

func (m *monitor) crashCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "crash SWITCH",
		Short:   "Crash a switch: all it holds is lost, its neighbours lose their links to it",
		Example: "  linkmon crash s1.03",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.change(cmd, args, "has crashed already", func(c *api.Client, ctx context.Context, name, _ string) (api.Change, error) {
				return c.Crash(ctx, name)
			})
		},
	}
}

// change does one thing to a link or switch and says what came of it.
func (m *monitor) change(cmd *cobra.Command, args []string, already string, do func(c *api.Client, ctx context.Context, a, b string) (api.Change, error)) error {
	return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
		a, b := args[0], ""
		if len(args) == 2 {
			b = args[1]
		}
		ch, err := do(c, ctx, a, b)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		switch {
		case m.json:
			return cli.JSON(out, ch)
		case !ch.Fresh:
			fmt.Fprintln(out, ch.Target, already)
		case ch.Fault != nil:
			fmt.Fprintln(out, ch.Fault.Story())
		default:
			fmt.Fprintln(out, ch.Target, "is back")
		}
		return nil
	})
}

func (m *monitor) healCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "heal --all",
		Short: "Bring every link and switch back",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !all {
				return fmt.Errorf("heal repairs everything: say so with --all; for one link or switch use restore")
			}
			return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
				h, err := c.Heal(ctx)
				if err != nil {
					return err
				}
				if m.json {
					return cli.JSON(cmd.OutOrStdout(), h)
				}
				if len(h.Healed) == 0 {
					fmt.Fprintln(cmd.OutOrStdout(), "nothing was broken")
				}
				for _, name := range h.Healed {
					fmt.Fprintln(cmd.OutOrStdout(), name, "is back")
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "repair everything")
	return cmd
}

// completeLinks offers the names of links in the shell.
func (m *monitor) completeLinks(want func(fabric.LinkState) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		_ = m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
			links, err := c.Links(ctx)
			for _, l := range links {
				if want(l) {
					names = append(names, l.Link)
				}
			}
			return err
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
