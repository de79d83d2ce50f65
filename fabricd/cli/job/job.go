// Package job is the command fabricd job, about computations that agents do.
package job

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/fabricd/jobs"
)

// jobFlags are those of all commands about jobs.
type jobFlags struct {
	json   bool
	server bus.Settings
}

// Command is fabricd job, with those below it.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "job",
		Short: "List, watch, cancel and fetch computations that agents do",
		Long: `A job is what fabricd sweep, verify, tolerate, reroute and run have agents do with --on. It goes on when whoever gave it has gone; whoever
may reach its server can watch it, cancel it and fetch its results.`,
	}
	cmd.AddCommand(listCommand(), watchCommand(), cancelCommand(), resultsCommand(), replayCommand())
	return command.Group(cmd)
}

// on has a command below fabricd job run with the jobs at its server.
func (f *jobFlags) on(cmd *cobra.Command, do func(ctx context.Context, j *bus.Jobs, out io.Writer) error) error {
	j, err := command.OpenJobs(cmd.Context(), f.server, cmd.ErrOrStderr(), "job")
	if err != nil {
		return err
	}
	defer j.Close()
	return do(cmd.Context(), j, cmd.OutOrStdout())
}

func listCommand() *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use:   "list --server URL",
		Short: "List the jobs at a NATS server, and how far they are",
		Long: `Lists the jobs at a server, the oldest first.

Exit codes: 0 listed, 2 the server keeps no jobs.`,
		Example: "  fabricd job list --server nats://h1:4222",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.on(cmd, func(ctx context.Context, j *bus.Jobs, out io.Writer) error {
				list, err := jobs.List(ctx, j)
				if err != nil {
					return err
				}
				all := []*jobs.Progress{}
				for _, o := range list {
					p, err := jobs.Look(ctx, j, o)
					if err != nil {
						return err
					}
					all = append(all, p)
				}
				if f.json {
					return command.JSON(out, all)
				}
				t := table.New("job", "state", "done", "agents", "given", "command")
				t.Gap = 2
				for _, p := range all {
					t.Row(p.ID, string(p.State), share(p), len(p.Hosts), p.Given.Local().Format(time.DateTime), p.Command())
				}
				return t.Text(out)
			})
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *jobFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.json, "json", "j", false, "print JSON")
	f.server.Flags(cmd.Flags())
}

// share is how much of a job is done.
func share(p *jobs.Progress) string {
	if p.Pieces == 0 {
		return "-"
	}
	return fmt.Sprintf("%s of %s", command.Grouped(uint64(min(p.Done, p.Pieces))), command.Grouped(uint64(p.Pieces)))
}

func watchCommand() *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use:   "watch ID --server URL",
		Short: "Show how far a job is, and how fast each agent works, until it has ended",
		Long: `Shows how far a job is until it has ended. Of its ID the beginning is enough.

Exit codes: 0 it is done; 1 it has failed; 2 there is none, or interrupted.`,
		Example: "  fabricd job watch 3f2a --server nats://h1:4222",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.on(cmd, func(ctx context.Context, j *bus.Jobs, out io.Writer) error {
				return f.watch(ctx, j, args[0], out)
			})
		},
	}
	f.flags(cmd)
	return cmd
}

// watchEvery is how often a job is looked at. Chosen by us.
const watchEvery = time.Second

func (f *jobFlags) watch(ctx context.Context, j *bus.Jobs, id string, out io.Writer) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	line := command.NewLine(out)
	defer line.Done()
	shown := ""
	for {
		o, err := jobs.Find(ctx, j, id)
		if err != nil {
			return err
		}
		p, err := jobs.Look(ctx, j, o)
		if err != nil {
			return err
		}
		if text := shortly(p); text != shown {
			if shown = text; f.json {
				if err := command.JSON(out, p); err != nil {
					return err
				}
			} else if o.State == jobs.Open {
				line.Show(text)
			}
		}
		if o.State != jobs.Open {
			line.Done()
			if !f.json {
				err = told(out, p)
			}
			if err == nil && o.State == jobs.Failed {
				err = command.ErrFailed
			}
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// shortly is a line about a job.
func shortly(p *jobs.Progress) string {
	var hosts []string
	for _, h := range p.Hosts {
		hosts = append(hosts, fmt.Sprintf("%s %.2g/s", h.Name, h.Rate))
	}
	text := fmt.Sprintf("%s %s", share(p), p.What)
	if len(hosts) > 0 {
		text += ": " + strings.Join(hosts, ", ")
	}
	if len(p.Aside) > 0 {
		text += fmt.Sprintf("; %d given up", len(p.Aside))
	}
	return text
}

// told tells of a job that has ended.
func told(out io.Writer, p *jobs.Progress) error {
	fmt.Fprintf(out, "job %s is %s: %s: %s %s in %v\n", p.ID, p.State, p.Command(), share(p), p.What,
		command.Roundly(p.Ended.Sub(p.Given)))
	if p.Error != "" {
		fmt.Fprintln(out, p.Error)
	}
	t := table.New("agent", "done", "a second", "done twice", "busy for")
	t.Gap = 2
	for _, h := range p.Hosts {
		t.Row(h.Name, command.Grouped(uint64(h.Pieces)), fmt.Sprintf("%.3g", h.Rate), h.Twice,
			command.Roundly(time.Duration(h.Seconds*float64(time.Second))))
	}
	if err := t.Text(out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "fabricd job results %s prints what came of it\n", p.ID)
	return err
}

func cancelCommand() *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use:   "cancel ID --server URL",
		Short: "End a job, and forget its results",
		Long: `Ends a job: agents stop working on it, and its results are deleted from the server. Use it for jobs that are done too, when their results
have been fetched.

Exit codes: 0 it is gone, 2 there is none.`,
		Example: "  fabricd job cancel 3f2a --server nats://h1:4222",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.on(cmd, func(ctx context.Context, j *bus.Jobs, out io.Writer) error {
				o, err := jobs.Find(ctx, j, args[0])
				if err == nil {
					err = jobs.Cancel(ctx, j, o)
				}
				if err != nil {
					return err
				}
				if f.json {
					return command.JSON(out, o)
				}
				_, err = fmt.Fprintf(out, "job %s is gone: %s\n", o.ID, o.Command())
				return err
			})
		},
	}
	f.flags(cmd)
	return cmd
}
