package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/jobs"
	"github.com/weft-fabric/weft/fabricd/work"
)

func resultsCommand() *cobra.Command {
	var f jobFlags
	var standIn bool
	cmd := &cobra.Command{
		Use:   "results ID [-- FLAGS]",
		Short: "Print what came of a job, as its command would: also on another machine, and long after",
		Long: `Runs the command of a job with the results that the server keeps, and prints what it prints. As long as pieces are missing it waits for them,
and hands them out to agents. Behind -- stand flags of the command that say what becomes of results, as --out of fabricd sweep, which it
must be given, or --json.

Exit codes: those of the command.`,
		Example: "  fabricd job results 3f2a --server nats://h1:4222 -- --out results/fig9",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.on(cmd, func(ctx context.Context, j *bus.Jobs, _ io.Writer) error {
				o, err := fitting(ctx, j, args[0])
				if err != nil {
					return err
				}
				if standIn {
					cmd.Root().SetOut(io.Discard)
				} else if err := o.keep(cmd.Root(), args[1:]); err != nil {
					return err
				}
				stderr := cmd.ErrOrStderr()
				e := &jobs.Engine{Jobs: j, Order: o.Order, Note: func(s string) { fmt.Fprintln(stderr, "fabricd: "+s) }}
				err = o.run(work.With(ctx, e), j, cmd.Root())
				if o.State == jobs.Done {
					return err
				}
				return command.FinishJob(ctx, e, err, stderr)
			})
		},
	}
	f.server.Flags(cmd.Flags())
	cmd.Flags().BoolVar(&standIn, jobs.StandInFlag, false,
		"hand out the pieces for whoever gave it, and print nothing; agents do that")
	return cmd
}

// order is one whose command this process can run.
type order struct{ *jobs.Order }

// fitting finds an order, and refuses one of another version: it has other pieces.
func fitting(ctx context.Context, j *bus.Jobs, id string) (order, error) {
	o, err := jobs.Find(ctx, j, id)
	if err != nil {
		return order{}, err
	}
	version, err := jobs.VersionOf(command.Revision())
	if err == nil && version != o.Version {
		err = fmt.Errorf("job %s is of version %s, and this program of %s: use that version", o.ID, o.Version, version)
	}
	return order{o}, err
}

// keep takes the flags behind --, with whole paths: the command runs in another folder. Flags that
// are parsed stay as they are when the rest of the command is.
func (o order) keep(root *cobra.Command, extra []string) error {
	cmd, _, err := root.Find(o.Args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(extra); err != nil {
		return err
	}
	if left := cmd.Flags().Args(); len(left) > 0 {
		return fmt.Errorf("%s: behind -- stand flags of %s only", left[0], cmd.CommandPath())
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		kind, here := f.Annotations[command.HereFlag]
		switch {
		case !here || f.Name == "on":
			err = fmt.Errorf("--%s says what is computed, and that is given: %s", f.Name, o.Command())
		case slices.Contains(kind, command.HereFile):
			err = errors.Join(err, whole(f))
		}
	})
	if out := cmd.Flags().Lookup("out"); err == nil && out != nil && !out.Changed {
		err = fmt.Errorf("say where the files go: fabricd job results %s -- --out FOLDER", o.ID)
	}
	return err
}

// whole makes the paths of a flag whole.
func whole(f *pflag.Flag) error {
	s, several := f.Value.(pflag.SliceValue)
	if !several {
		abs, err := filepath.Abs(f.Value.String())
		return errors.Join(err, f.Value.Set(abs))
	}
	var list []string
	for _, path := range s.GetSlice() {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		list = append(list, abs)
	}
	return s.Replace(list)
}

// run runs the command of an order, in a folder of its own with the files that it reads.
func (o order) run(ctx context.Context, j *bus.Jobs, root *cobra.Command) (err error) {
	folder, err := os.MkdirTemp("", "weft-job-")
	if err != nil {
		return err
	}
	was, err := os.Getwd()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Chdir(was), os.RemoveAll(folder)) }()
	dir, err := jobs.Unpack(ctx, j, o.Order, folder)
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	root.SetArgs(o.Args)
	return root.ExecuteContext(ctx)
}

func replayCommand() *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use:   "replay ID KEY --server URL",
		Short: "Compute one piece of a job in this process: one that agents have given up, say",
		Long: `Computes one piece of a job, as an agent's process does, and prints its result. What goes wrong is seen here: a panic, an error, how much
memory it takes.

Exit codes: 0 there is a result, 2 there is none.`,
		Example: "  fabricd job replay 3f2a 6f0c2d --server nats://h1:4222",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.on(cmd, func(ctx context.Context, j *bus.Jobs, out io.Writer) error {
				o, err := fitting(ctx, j, args[0])
				if err != nil {
					return err
				}
				began := time.Now()
				e := &replay{key: args[1]}
				cmd.Root().SetOut(io.Discard)
				err = o.run(work.With(ctx, e), j, cmd.Root())
				var elsewhere *work.Elsewhere
				if errors.As(err, &elsewhere) { // not in the last part, either
					err = fmt.Errorf("the job has no piece %s", e.key)
				}
				if !e.found || e.err != nil {
					return errors.Join(e.err, err)
				}
				if f.json {
					_, err = fmt.Fprintf(out, "%s\n", e.result)
					return err
				}
				_, err = fmt.Fprintf(out, "%s: %d bytes in %.2f s\n%s\n", e.name, len(e.result), time.Since(began).Seconds(),
					e.result)
				return err
			})
		},
	}
	f.flags(cmd)
	return cmd
}

// replay is the engine that computes one piece.
type replay struct {
	key, name string
	found     bool
	result    []byte
	err       error
}

// Run implements work.Engine.
func (r *replay) Run(ctx context.Context, j *work.Job) error {
	for i := 0; i < j.Count || j.More != nil && j.More(); i++ {
		if p := j.Piece(i); strings.HasPrefix(p.Key, r.key) {
			r.found, r.name = true, p.Name
			r.result, r.err = j.Run(ctx, 0, i)
			return work.ErrServed
		}
	}
	if j.Part != "" {
		return &work.Elsewhere{} // perhaps
	}
	return fmt.Errorf("the job has no piece %s", r.key)
}

// PieceCommand is the hidden command of an agent's child.
func PieceCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:    jobs.PieceCommand + " --folder FOLDER -- COMMAND",
		Short:  "Compute single pieces of a command's work, as another process asks",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if err := command.MayOrder(root, args); err != nil {
				return err
			}
			// An answer that nobody reads any more is an error, and not the end before the folder is gone.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			s := work.NewServer(os.Stdin, os.Stdout, func() { // whoever asked is gone
				cancel()
				time.AfterFunc(goneTime, func() {
					_ = os.RemoveAll(folder)
					os.Exit(command.ExitUnusable)
				})
			})
			root.SetOut(io.Discard)
			root.SetArgs(args)
			err := root.ExecuteContext(work.With(ctx, s))
			if errors.Is(err, work.ErrServed) || ctx.Err() != nil {
				err = nil // as it should end
			}
			if folder != "" { // whoever asked may not be there to do it
				err = errors.Join(err, os.RemoveAll(folder))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&folder, "folder", "", "folder of the files, which goes when nobody asks any more")
	return cmd
}

// goneTime is how long a piece may go on when nobody waits for it. Chosen by us.
const goneTime = 2 * time.Second
