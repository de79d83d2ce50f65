package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/harness/sweep"
)

// sweepFlags are those of fabricd sweep.
type sweepFlags struct {
	samples, jobs       int
	out                 string
	quick, dryRun, json bool

	runner sweep.Runner // nil outside tests
}

func sweepCommand() *cobra.Command {
	var s sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep EXPERIMENT.yaml",
		Short: "Run an experiment in virtual time: tables, plots, and a comparison with what a paper says",
		Long: `Runs all combinations of an experiment's axes, each with several samples, in virtual time and on all cores. Writes a folder: runs.csv with a row
for each run, summary.csv with means and 95% intervals, plots as SVG and PNG, comparison.md with the paper's statements beside our values.

Every run that has ended is kept in the folder. The same command goes on from there after Ctrl-C, a kill or a full disk; with more --samples
it adds to what is there. The files do not depend on --jobs or on interruptions, byte for byte.

Exit codes: 0 done, 1 a claim of ours does not hold, 2 wrong input, or interrupted.`,
		Example: "  fabricd sweep scenarios/papers/fattree/fig9.yaml --quick\n" +
			"  fabricd sweep scenarios/papers/fattree/fig9.yaml --samples 20 --out /tmp/fig9\n" +
			"  fabricd sweep scenarios/papers/fattree/fig9.yaml --dry-run",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("sweep what? name one experiment file, as scenarios/papers/fattree/fig9.yaml")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: yamlFiles,
	}
	s.flags(cmd)
	return cmd
}

func (s *sweepFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&s.samples, "samples", 0, "runs of each combination; 0 is what the experiment says")
	f.StringVarP(&s.out, "out", "o", "", "folder for the results (default results/NAME, or results/NAME-quick)")
	f.BoolVar(&s.quick, "quick", false, "the short form that the experiment describes: a minute or two")
	f.IntVar(&s.jobs, "jobs", 0, "runs at once; 0 is one per core")
	f.BoolVar(&s.dryRun, "dry-run", false, "check the experiment, tell how many runs it has, and run nothing")
	f.BoolVarP(&s.json, "json", "j", false, "print what came of it as one JSON object")
	_ = cmd.MarkFlagDirname("out") // there is such a flag
}

func (s *sweepFlags) run(ctx context.Context, path string, stdout, stderr io.Writer) error {
	switch {
	case s.samples < 0:
		return fmt.Errorf("--samples %d: expected at least 1, or 0 for what the experiment says", s.samples)
	case s.jobs < 0 || s.jobs > maxWorkers:
		return fmt.Errorf("--jobs %d: expected 1 to %d, or 0 for one per core", s.jobs, maxWorkers)
	}
	e, err := sweep.Read(path)
	if err != nil {
		return err
	}
	if s.dryRun {
		return s.tell(stdout, e)
	}
	p := newProgress(stderr, cli.Terminal(stderr), "runs", tellEvery)
	r, err := e.Run(ctx, sweep.Options{
		Dir: s.dir(e), Samples: s.samples, Quick: s.quick, Jobs: s.jobs, Runner: s.runner, Version: version(), Command: s.command(path),
		Progress: func(done, total int) { p.told(uint64(done), uint64(total)) },
	})
	p.end()
	if err != nil {
		return err
	}
	if s.json {
		err = cli.JSON(stdout, r)
	} else {
		err = printSwept(stdout, r)
	}
	if err == nil && r.Failed > 0 {
		err = cli.ErrFailed
	}
	return err
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

func (s *sweepFlags) tell(w io.Writer, e *sweep.Experiment) error {
	points, runs := e.Size(s.quick, s.samples)
	if s.json {
		return cli.JSON(w, struct {
			Experiment string `json:"experiment"`
			Points     int    `json:"points"`
			Runs       int    `json:"runs"`
		}{e.Name, points, runs})
	}
	_, err := fmt.Fprintf(w, "%s: %s points, %s runs\n", e.Name, grouped(uint64(points)), grouped(uint64(runs)))
	return err
}

// command is the command that makes the same files again. How many jobs there are, and where the files go, is not part of it.
func (s *sweepFlags) command(path string) string {
	text := "fabricd sweep " + filepath.ToSlash(path)
	if s.quick {
		text += " --quick"
	}
	if s.samples > 0 {
		text += " --samples " + strconv.Itoa(s.samples)
	}
	return text
}

// version is that of this program, as it was built from version control.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}

// printSwept prints the statements and where the files are.
func printSwept(w io.Writer, r *sweep.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s points, %d samples, %s runs", r.Experiment, grouped(uint64(r.Points)), r.Samples, grouped(uint64(r.Runs)))
	if r.Earlier > 0 {
		fmt.Fprintf(&b, ", %s of them done before", grouped(uint64(r.Earlier)))
	}
	b.WriteString("\n")
	if len(r.Findings) > 0 {
		tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tab, "\nholds\tours\tpaper\tstatement")
		for _, f := range r.Findings {
			says := f.Says
			if f.Must {
				says += " (claim of ours)"
			}
			fmt.Fprintf(tab, "%s\t%s\t%s\t%s\n", f.Holds, f.Ours, f.Paper, says)
		}
		_ = tab.Flush() // to memory
		b.WriteString("\n")
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "%s: %s\n", r.Dir, strings.Join(r.Files, ", "))
	_, err := io.WriteString(w, b.String())
	return err
}
