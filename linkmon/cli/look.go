package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/registry"
)

func (m *monitor) lsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the fabrics that run on this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			entries, err := registry.List()
			if err != nil {
				return err
			}
			out := []registry.Listed{}
			for _, e := range entries {
				e.Listed.Page = e.PageWithToken() // who may read the registry may act
				out = append(out, e.Listed)
			}
			if m.json {
				return command.JSON(cmd.OutOrStdout(), out)
			}
			if len(out) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "no fabric is running; start one with: fabricd up")
				return nil
			}
			t := table.New("NAME", "TOPOLOGY", "ROUTING", "UP", "PID", "BROKER", "PAGE")
			t.Gap = 2
			for _, e := range out {
				t.Row(e.Name, e.Topology, e.Routing, time.Since(e.Started).Round(time.Second), e.PID, e.URL,
					cmp.Or(e.Page, "none"))
			}
			return t.Text(cmd.OutOrStdout())
		},
	}
}

func (m *monitor) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Aliases: []string{"info"}, Short: "Show a fabric at a glance", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
				s, err := c.Status(ctx)
				if err != nil {
					return err
				}
				if m.json {
					return command.JSON(cmd.OutOrStdout(), s)
				}
				return writeStatus(cmd.OutOrStdout(), s)
			})
		},
	}
}

// writeStatus prints a status for people.
func writeStatus(out io.Writer, s api.Status) error {
	t := table.Table{Gap: 2}
	row := func(name, format string, args ...any) { t.Row(name, fmt.Sprintf(format, args...)) }
	row("fabric", "%s, %s, %d switches, %d NICs, %d links", s.Name, s.Topology, s.Switches, s.NICs, s.Links)
	row("routing", "%s", s.Routing)
	row("traffic", "%s", s.Traffic)
	if x := s.Sample; x.Time != "" {
		row("time", "%s; %.1f s by the clock of the fabric, %.1f s by that of the machine", x.Time, x.At, x.Wall)
	}
	row("rate", "%.0f delivered/s, %.0f injected/s", s.Sample.DeliveredRate, s.Sample.InjectedRate)
	if s.Sample.Deadlock != "" {
		row("DEADLOCK", "%s", s.Sample.Deadlock)
	}
	if s.Sample.Overload != "" {
		row("overload", "%s", s.Sample.Overload)
	}
	if s.Sample.Waiting != "" {
		row("waiting", "%s", s.Sample.Waiting)
	}
	row("packets", "%d injected, %d delivered, %d lost, %d discarded, %d in flight",
		s.Ledger.Injected, s.Ledger.Delivered, s.Ledger.Lost, s.Ledger.Discarded, s.Ledger.InFlight)
	row("latency", "%v", s.Totals.Latency)
	row("paths", "%.3f switches on average, stretch %.4f, %d rerouted, %d U-turns, %d out of order",
		s.Totals.MeanHops, s.Totals.Stretch, s.Totals.Rerouted, s.Totals.UTurns, s.Totals.Reordered)
	row("refused", "%d packets at full send queues", s.Totals.Refused)
	if s.Totals.Notices > 0 {
		row("withheld", "%d packets for destinations that %d notices said cannot be reached", s.Totals.Withheld,
			s.Totals.Notices)
	}
	row("cut", "%s", orNone(s.LinksCut))
	row("impaired", "%s", orNone(s.LinksImpaired))
	row("crashed", "%s", orNone(s.SwitchesDown))
	if len(s.Processes) > 0 {
		row("processes", "%s", strings.Join(processes(s.Processes), ", "))
	}
	return t.Text(out)
}

// processes tells of each switch that is a process which it is.
func processes(all []fabric.SwitchProcess) (list []string) {
	for _, p := range all {
		text := fmt.Sprintf("%s is process %d on %s", p.Switch, p.PID, p.Host)
		if !p.Answers {
			text += " and does not answer"
		}
		list = append(list, text)
	}
	return list
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (m *monitor) linksCommand() *cobra.Command {
	var down, faulty bool
	cmd := &cobra.Command{
		Use: "links", Short: "List the links with their state and what they carried", Args: cobra.NoArgs,
		Long: `links lists the links with their state: up, cut (in one direction at least), down (a switch at an end has crashed), init (the
ends have not answered each other yet). DETAILS says what has been done to a link and what its ends make of it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
				all, err := c.Links(ctx)
				if err != nil {
					return err
				}
				links := []fabric.LinkState{}
				for _, l := range all {
					if (!down || l.State != fabric.LinkUp) && (!faulty || !l.Well()) {
						links = append(links, l)
					}
				}
				if len(links) == 0 && !m.json {
					_, err := fmt.Fprintln(cmd.OutOrStdout(), "all links are well")
					return err
				}
				return m.printLinks(cmd.OutOrStdout(), links)
			})
		},
	}
	cmd.Flags().BoolVar(&down, "down", false, "only those that are not up")
	cmd.Flags().BoolVar(&faulty, "faulty", false,
		"only those with something wrong: not up, impaired, flapping or held down")
	return cmd
}

// printLinks prints links as a table.
func (m *monitor) printLinks(out io.Writer, links []fabric.LinkState) error {
	if m.json {
		return command.JSON(out, links)
	}
	t := table.New("LINK", "STATE", "SENT", "SENT BACK", "LOST ON WIRE", "LOST QUEUED", "DETAILS")
	t.Gap = 2
	for _, l := range links {
		t.Row(l.Link, l.State, l.SentAB, l.SentBA, l.LostWire, l.LostQueued, l.Details())
	}
	return t.Text(out)
}

// eventIndent is how far the texts of events are from the left, behind their times.
const eventIndent = "           "

func (m *monitor) eventsCommand() *cobra.Command {
	var follow, ends, long bool
	var after uint64
	cmd := &cobra.Command{
		Use: "events", Short: "Print what happened to the fabric, and the report of each fault", Args: cobra.NoArgs,
		Example: "  linkmon events --follow\n  linkmon events --long\n  linkmon events --json | jq 'select(.kind == " +
			"\"report\").fault'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			show := func(e fabric.Event) error {
				if m.json {
					return command.JSON(cmd.OutOrStdout(), e)
				}
				if e.Missed > 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "          (%d events missed)\n", e.Missed)
				}
				text := e.Summary()
				if text == "" {
					if !ends {
						return nil
					}
					text = fmt.Sprintf("%s %s seen by %s", e.Kind, e.Link, e.Node)
				}
				if long && e.Kind == fabric.EventReport {
					fmt.Fprintf(cmd.OutOrStdout(), "%8.3fs  fault %d is over\n", e.At, e.Fault.ID)
					return inFull(cmd.OutOrStdout(), *e.Fault)
				}
				text = strings.ReplaceAll(text, "\n", "\n"+eventIndent)
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%8.3fs  %s\n", e.At, text)
				return err
			}
			return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
				if follow {
					return unlessEnded(ctx, c.Follow(ctx, after, show))
				}
				events, err := c.Events(ctx, after)
				for _, e := range events {
					if err == nil {
						err = show(e)
					}
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "go on printing events as they happen")
	f.BoolVarP(&ends, "details", "d", false, "each end of a link too")
	f.BoolVarP(&long, "long", "l", false, "the report of each fault in full, once it is complete")
	f.Uint64Var(&after, "after", 0, "only those after this number")
	return cmd
}

func (m *monitor) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch", Aliases: []string{"top"}, Short: "Show the state of the fabric, once a second, until Ctrl-C",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			line := command.NewLine(cmd.OutOrStdout())
			return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
				err := c.Watch(ctx, func(s api.Sample) error {
					if m.json {
						return command.JSON(cmd.OutOrStdout(), s)
					}
					line.Show(s.String())
					return nil
				})
				line.End()
				return unlessEnded(ctx, err)
			})
		},
	}
}

// unlessEnded drops the error of a stream that the user ended.
func unlessEnded(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}
