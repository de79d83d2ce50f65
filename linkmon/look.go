package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/registry"
)

// listed is a running fabric as ls --json prints it: without its passwords.
type listed struct {
	Name     string    `json:"name"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	URL      string    `json:"url"`
	Topology string    `json:"topology"`
	Firmware string    `json:"firmware"`
}

func (m *monitor) lsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the fabrics that run on this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			entries, err := registry.List()
			if err != nil {
				return err
			}
			out := []listed{}
			for _, e := range entries {
				out = append(out, listed{e.Name, e.PID, e.Started, e.URL, e.Topology, e.Firmware})
			}
			if m.json {
				return cli.JSON(cmd.OutOrStdout(), out)
			}
			if len(out) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "no fabric is running; start one with: fabricd up")
				return nil
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tTOPOLOGY\tFIRMWARE\tUP\tPID\tBROKER")
			for _, e := range out {
				fmt.Fprintf(w, "%s\t%s\t%s\t%v\t%d\t%s\n", e.Name, e.Topology, e.Firmware, time.Since(e.Started).Round(time.Second), e.PID, e.URL)
			}
			return w.Flush()
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
					return cli.JSON(cmd.OutOrStdout(), s)
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
				row := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
				row("fabric", "%s, %s, %d switches, %d NICs, %d links", s.Name, s.Topology, s.Switches, s.NICs, s.Links)
				row("firmware", "%s", s.Firmware)
				row("traffic", "%s", s.Traffic)
				row("rate", "%.0f delivered/s, %.0f injected/s", s.Sample.DeliveredRate, s.Sample.InjectedRate)
				row("packets", "%d injected, %d delivered, %d lost, %d discarded, %d in flight",
					s.Ledger.Injected, s.Ledger.Delivered, s.Ledger.Lost, s.Ledger.Discarded, s.Ledger.InFlight)
				row("latency", "p50 %.0f us, p99 %.0f us, max %.0f us", s.Totals.Latency.P50, s.Totals.Latency.P99, s.Totals.Latency.Max)
				row("paths", "%.3f switches on average, stretch %.4f, %d rerouted, %d U-turns, %d out of order",
					s.Totals.MeanHops, s.Totals.Stretch, s.Totals.Rerouted, s.Totals.UTurns, s.Totals.Reordered)
				row("refused", "%d packets at full send queues", s.Totals.Refused)
				row("cut", "%s", orNone(s.LinksCut))
				row("crashed", "%s", orNone(s.SwitchesDown))
				return w.Flush()
			})
		},
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (m *monitor) linksCommand() *cobra.Command {
	var down bool
	cmd := &cobra.Command{
		Use: "links", Short: "List the links with their state and what they carried", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
				all, err := c.Links(ctx)
				if err != nil {
					return err
				}
				links := []fabric.LinkState{}
				for _, l := range all {
					if !down || l.State != fabric.LinkUp {
						links = append(links, l)
					}
				}
				if m.json {
					return cli.JSON(cmd.OutOrStdout(), links)
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
				fmt.Fprintln(w, "LINK\tSTATE\tSENT\tSENT BACK\tLOST ON WIRE\tLOST QUEUED")
				for _, l := range links {
					fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", l.Link, l.State, l.SentAB, l.SentBA, l.LostWire, l.LostQueued)
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().BoolVar(&down, "down", false, "only those that are not up")
	return cmd
}

func (m *monitor) eventsCommand() *cobra.Command {
	var follow, details bool
	var after uint64
	cmd := &cobra.Command{
		Use: "events", Short: "Print what happened to the fabric", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			show := func(e fabric.Event) error {
				if m.json {
					return cli.JSON(cmd.OutOrStdout(), e)
				}
				if e.Missed > 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "          (%d events missed)\n", e.Missed)
				}
				text := e.Story()
				if text == "" {
					if !details {
						return nil
					}
					text = fmt.Sprintf("%s %s seen by %s", e.Kind, e.Link, e.Node)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%8.3fs  %s\n", e.At, text)
				return err
			}
			return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
				if follow {
					return quiet(ctx, c.Follow(ctx, after, show))
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
	f.BoolVarP(&details, "details", "d", false, "each end of a link too")
	f.Uint64Var(&after, "after", 0, "only those after this number")
	return cmd
}

func (m *monitor) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch", Aliases: []string{"top"}, Short: "Show the state of the fabric, once a second, until Ctrl-C", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			line := cli.NewLine(cmd.OutOrStdout())
			return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
				err := c.Watch(ctx, func(s api.Sample) error {
					if m.json {
						return cli.JSON(cmd.OutOrStdout(), s)
					}
					line.Show(s.String())
					return nil
				})
				line.End()
				return quiet(ctx, err)
			})
		},
	}
}

// quiet drops the error of a stream that the user ended.
func quiet(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}
