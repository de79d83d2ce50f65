// Package sweep is the command fabricd sweep: experiments in virtual time.
package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/fabricd/work"
	"github.com/weft-fabric/weft/harness/sweep"
)

// maxWithin bounds --within, chosen by us.
const maxWithin = 90 * 24 * time.Hour

// sweepFlags are those of fabricd sweep.
type sweepFlags struct {
	samples, jobs       int
	again               int
	out, report         string
	where               []string
	quick, dryRun, json bool
	until               bool // --settle
	within              time.Duration
	on                  command.On
	workers             int
	price               float64

	runner sweep.Runner // nil outside tests
}

// Command is fabricd sweep.
func Command() *cobra.Command {
	var s sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep EXPERIMENT.yaml|FOLDER...",
		Short: "Run an experiment in virtual time: tables, plots, and a comparison with what a paper says",
		Long: `Runs all combinations of an experiment's axes, each with several samples, in virtual time and on all cores. Writes a folder: runs.csv with a row
for each run, summary.csv with means and 95% intervals, plots as SVG and PNG, comparison.md with the paper's statements beside our values.

Every run that has ended is kept in the folder. The same command goes on from there after Ctrl-C, a kill or a full disk; with more --samples
it adds to what is there. The files do not depend on --jobs or on interruptions, byte for byte. --where runs a part of the points; later starts
with others, or with all, repeat none of them.

--settle spends samples where they decide something: a few on all points, then twice as many on the points of the statements that are still
open, until each holds or does not hold, and at last as many on all points as the experiment says, at 95% over all stages together. It takes
several experiments, or folders of them, and always makes the stage that takes least; each experiment then has a folder of its own in --out.
--samples is the most of a point, and --within ends it in time; the same command goes on.

Exit codes: 0 done, 1 a claim of ours does not hold, 2 wrong input, or interrupted.`,
		Example: "  fabricd sweep scenarios/papers/fattree/fig9.yaml --quick\n" +
			"  fabricd sweep scenarios/papers/fattree/fig9.yaml --samples 20 --where topology=kary-ntree:4,3\n" +
			"  fabricd sweep scenarios/papers/fattree/fig9.yaml --dry-run\n" +
			"  fabricd sweep --settle scenarios/papers --within 20h\n" +
			"  fabricd sweep --report results",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case s.report != "" && len(args) > 0:
				return errors.New("--report writes about what was run, and runs nothing: leave the experiment out")
			case s.report == "" && len(args) == 0, len(args) > 1 && !s.until:
				return errors.New("sweep what? name one experiment file, as scenarios/papers/fattree/fig9.yaml; with --settle " +
					"several, or a folder")
			case s.within != 0 && !s.until:
				return errors.New("--within is how long --settle may take: give both")
			case s.until && s.dryRun:
				return errors.New("--settle chooses the samples as it goes: leave --dry-run out")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			command.BoundGarbage(command.VirtualGarbage)
			if s.report != "" {
				return s.index(cmd.OutOrStdout())
			}
			if !s.dryRun && (s.workers != 0 || s.price != 0) {
				return errors.New("--workers and --price are for --dry-run: give that too, or leave them out")
			}
			if s.dryRun && s.on.Given() && s.workers == 0 {
				n, err := s.on.Slots(cmd)
				if err != nil {
					return err
				}
				s.workers = n
			}
			return s.on.Run(cmd, args, nil, func(engine work.Engine) error {
				if s.until {
					return s.settle(cmd.Context(), args, engine, cmd.OutOrStdout(), cmd.ErrOrStderr())
				}
				return s.run(cmd.Context(), args[0], engine, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
		ValidArgsFunction: command.YAMLFiles,
	}
	s.flags(cmd)
	return cmd
}

func (s *sweepFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&s.samples, "samples", 0, "runs of each combination; 0 is what the experiment says")
	f.IntVar(&s.again, "again", 0, "make so many of the runs of other versions of the program once more, and stop "+
		"where one is not the same")
	f.StringVarP(&s.out, "out", "o", "", "folder for the results (default results/NAME, or results/NAME-quick; of "+
		"several experiments results, with a folder for each)")
	f.StringArrayVar(&s.where, "where", nil,
		"only points with this value of this axis, as topology=kary-ntree:4,3; several times for several values and axes")
	f.StringVar(&s.report, "report", "",
		"run nothing, and write README.md of this folder: what the experiments in its folders have shown")
	f.BoolVar(&s.quick, "quick", false, "the short form that the experiment describes: a minute or two")
	f.IntVar(&s.jobs, "jobs", 0, "runs at once; 0 is one per core")
	f.BoolVar(&s.dryRun, "dry-run", false, "check the experiment, and tell how many runs it has and about how long they "+
		"take: it tries a few, and writes nothing")
	f.BoolVar(&s.until, "settle", false, "make samples until every statement is decided, of several experiments if so "+
		"named; --samples is the most of a point, 1024 unless given")
	f.DurationVar(&s.within, "within", 0, "with --settle: end after this time, as 20h, and say what is open; 0 is no end")
	f.IntVar(&s.workers, "workers", 0,
		"with --dry-run: tell how long so many workers of other machines take; with --on, 0 is those that are there")
	f.Float64Var(&s.price, "price", 0,
		"with --dry-run and --workers or --on: what one of them costs an hour, in any currency")
	f.BoolVarP(&s.json, "json", "j", false, "print what came of it as one JSON object")
	command.Bound(f, "workers", 0, 100_000)
	command.Bound(f, "price", 0, 1e6)
	command.Bound(f, "samples", 0, command.MaxCount)
	command.Bound(f, "again", 0, command.MaxCount)
	command.Bound(f, "within", 0, maxWithin)
	command.Bound(f, "jobs", 0, command.MaxWorkers)
	s.on.Flags(cmd, nil, []string{"jobs", "again", "dry-run", "workers", "price", "within", "json"},
		[]string{"out", "report"})
	_, _ = cmd.MarkFlagDirname("out"), cmd.MarkFlagDirname("report") // there are such flags
}

func (s *sweepFlags) run(ctx context.Context, path string, engine work.Engine, stdout, stderr io.Writer) error {
	e, o, err := s.options(ctx, path, "")
	if err != nil {
		return err
	}
	o.Engine = engine
	if s.dryRun {
		return s.tell(ctx, stdout, e, o)
	}
	p := command.NewProgress(stderr, command.Terminal(stderr), "runs", command.TellEvery)
	o.Progress = func(done, total int) { p.Told(uint64(done), uint64(total)) }
	r, err := e.Run(ctx, o)
	p.End()
	if err != nil {
		return err
	}
	if s.json {
		err = command.JSON(stdout, r)
	} else {
		err = printSwept(stdout, r)
	}
	if err == nil && r.Failed > 0 {
		err = command.ErrFailed
	}
	return err
}

// options reads an experiment, and says what the flags ask of it. Its results go to dir if that is
// not empty.
func (s *sweepFlags) options(ctx context.Context, path, dir string) (e *sweep.Experiment, o sweep.Options, err error) {
	if err := command.NoFolder(path); err != nil {
		return nil, o, err
	}
	if e, err = sweep.Read(ctx, path); err != nil {
		return nil, o, command.AScenario.Unless(path, err)
	}
	where, err := sweep.ParseWhere(s.where)
	if err != nil {
		return nil, o, fmt.Errorf("--where: %w", err)
	}
	return e, sweep.Options{
		Dir: cmp.Or(dir, s.dir(e)), Samples: s.samples, Quick: s.quick, Where: where, Jobs: s.jobs,
		Again: s.again, Runner: s.runner, Version: command.Revision(), Command: s.command(path),
	}, nil
}

func (s *sweepFlags) dir(e *sweep.Experiment) string {
	if s.out != "" {
		return s.out
	}
	if s.quick {
		return filepath.Join("results", e.Name+"-quick")
	}
	return filepath.Join("results", e.Name)
}

// index writes about the results that are there.
func (s *sweepFlags) index(w io.Writer) error {
	n, err := sweep.Index(s.report)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %s\n", filepath.Join(s.report, "README.md"), command.Counted(n, "experiment"))
	return err
}

func (s *sweepFlags) tell(ctx context.Context, w io.Writer, e *sweep.Experiment, o sweep.Options) error {
	points, runs, err := e.Size(o)
	if err != nil {
		return err
	}
	takes, err := e.Estimate(ctx, o)
	if err != nil {
		return err
	}
	forecast := sweep.Forecast{
		Experiment: e.Name, Points: points, Runs: runs, CPU: takes.CPU.Seconds(), Seconds: takes.Wall.Seconds(),
		Workers: s.workers,
	}
	if s.workers > 0 {
		forecast.WorkerSeconds = takes.On(s.workers).Seconds()
		forecast.Money = forecast.WorkerSeconds / 3600 * float64(s.workers) * s.price
	}
	if s.json {
		return command.JSON(w, forecast)
	}
	_, err = fmt.Fprintf(w, "%s: %s, %s, about %v of CPU time, %v on free cores\n", e.Name,
		command.Counted(points, "point"), command.Counted(runs, "run"),
		command.Roundly(takes.CPU), command.Roundly(takes.Wall))
	if err == nil && s.workers > 0 {
		cost := ""
		if s.price > 0 {
			cost = fmt.Sprintf(", which cost %.2f at %g an hour each", forecast.Money, s.price)
		}
		_, err = fmt.Fprintf(w, "on %s: %v, %.1f hours of all of them%s\n", command.Counted(s.workers, "worker"),
			seconds(forecast.WorkerSeconds), forecast.WorkerSeconds/3600*float64(s.workers), cost)
	}
	return err
}

// command is the command that makes the same files again. How many jobs there are, and where the
// files go, is not part of it.
func (s *sweepFlags) command(path string) string {
	text := "fabricd sweep " + filepath.ToSlash(path)
	if s.quick {
		text += " --quick"
	}
	if s.until {
		text += " --settle"
	}
	if s.samples > 0 {
		text += " --samples " + strconv.Itoa(s.samples)
	}
	for _, w := range s.where {
		text += " --where " + command.ShellWord(w)
	}
	return text
}

func seconds(s float64) time.Duration {
	return command.Roundly(time.Duration(s * float64(time.Second)))
}

// samplesOf is how many samples the points have.
func samplesOf(r *sweep.Report) string {
	most := command.Counted(r.Samples, "sample")
	if r.Least > 0 {
		return fmt.Sprintf("%d to %s", r.Least, most)
	}
	return most
}

// printSwept prints the statements and where the files are.
func printSwept(w io.Writer, r *sweep.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s, %s", r.Experiment, command.Counted(r.Points, "point"),
		samplesOf(r), command.Counted(r.Runs, "run"))
	if r.Earlier > 0 {
		fmt.Fprintf(&b, ", %s of them done before", command.Grouped(uint64(r.Earlier)))
	}
	fmt.Fprintf(&b, ", in %v, %v of CPU time\n", seconds(r.Seconds), seconds(r.CPUSeconds))
	if len(r.Findings) > 0 {
		b.WriteString("\n")
		t := table.New("holds", "ours", "paper", "statement")
		t.Gap = 2
		for _, f := range r.Findings {
			says := f.Says
			if f.Must {
				says += " (claim of ours)"
			}
			t.Row(f.Holds, f.Ours, f.Paper, says)
		}
		_ = t.Text(&b) // to memory
		b.WriteString("\n")
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "%s: %s\n", r.Dir, strings.Join(r.Files, ", "))
	_, err := io.WriteString(w, b.String())
	return err
}
