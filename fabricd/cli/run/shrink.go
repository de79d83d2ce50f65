package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/scenario"
)

// shrinkFlags are those of fabricd run --shrink.
type shrinkFlags struct {
	tries  int
	budget time.Duration
	out    string
}

func (s *shrinkFlags) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&s.tries, "tries", scenario.DefaultShrinkTries,
		"with --shrink: a candidate passes when it does so this often; 1 unless given with --virtual")
	cmd.Flags().DurationVar(&s.budget, "budget", scenario.DefaultShrinkBudget,
		"with --shrink: stop after this long, with the smallest found")
	command.Bound(cmd.Flags(), "tries", 1, 1000)
	command.Bound(cmd.Flags(), "budget", time.Second, scenario.MaxDuration)
	cmd.Flags().StringVarP(&s.out, "out", "o", "",
		"with --shrink: file to write (default NAME-shrunk.yaml in the current folder)")
}

// unused refuses flags that mean nothing without --shrink.
func (s *shrinkFlags) unused(cmd *cobra.Command) error {
	for _, name := range []string{"tries", "budget", "out"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s without --shrink: it says how to reduce a failing scenario", name)
		}
	}
	return nil
}

func (s *shrinkFlags) run(cmd *cobra.Command, args []string, u runFlags) error {
	switch {
	case len(args) != 1:
		return fmt.Errorf("--shrink reduces one scenario, found %d: name the one that fails", len(args))
	case u.junit != "":
		return errors.New("--shrink with --junit: run the scenario without --shrink for that")
	case u.jobs != 1:
		return errors.New("--shrink with --jobs: the candidates run one after the other, leave --jobs out")
	case u.report != "":
		return errors.New("--shrink with --report: run what it writes without --shrink for that")
	}
	if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: --shrink reduces one scenario, name the one that fails", args[0])
	}
	given, err := scenario.Read(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	command.Warn(cmd.ErrOrStderr(), given.Warnings)
	f := given.File
	if u.seed != 0 {
		f.Seed = u.seed
	}
	out := s.out
	if out == "" {
		out = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0])) + "-shrunk.yaml"
	}
	line := command.NewLine(cmd.ErrOrStderr())
	best, err := scenario.Shrinker{
		Run: func(ctx context.Context, sc *scenario.Scenario) (scenario.Result, error) {
			return u.one(ctx, sc, 1, &scenarioLine{Line: line, quiet: true}, nil, cmd.ErrOrStderr())
		},
		Tries: u.triesOf(cmd), Budget: s.budget,
		Progress: func(p scenario.ShrinkProgress) { line.Show(describe(p)) },
	}.Shrink(cmd.Context(), f)
	line.Done()
	if errors.Is(err, scenario.ErrPasses) {
		if u.json {
			return command.JSON(cmd.OutOrStdout(), scenario.ShrinkResult{Pass: true, Scenario: f.Name, Runs: u.triesOf(cmd)})
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %v\n", f.Name, err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := best.Write(out, args[0]); err != nil {
		return err
	}
	if u.json {
		err = command.JSON(cmd.OutOrStdout(), scenario.ShrinkResult{
			Scenario: f.Name, File: out, Runs: best.Runs, Stopped: best.Stopped, Result: best.Result,
		})
	} else {
		printShrunk(cmd, out, best)
	}
	if err != nil {
		return err
	}
	return command.ErrFailed
}

// triesOf is how often a candidate is run: in virtual time once, unless told otherwise, since it
// would do the same again.
func (u runFlags) triesOf(cmd *cobra.Command) int {
	if u.virtual && !cmd.Flags().Changed("tries") {
		return 1
	}
	return u.small.tries
}

// describe tells how far the search has come.
func describe(p scenario.ShrinkProgress) string {
	verdict := "passes"
	if p.Fails {
		verdict = "fails"
	}
	return fmt.Sprintf("run %d: %s: %s; smallest so far: %s, %s", p.Runs, p.Trial, verdict,
		command.Counted(len(p.Best.Timeline), "step"), p.Best.Duration)
}

func printShrunk(cmd *cobra.Command, path string, o scenario.Shrunk) {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "reduced to %s, %s, in %d runs: %s\n", command.Counted(len(o.File.Timeline), "step"),
		o.File.Duration, o.Runs, path)
	if o.Stopped != "" {
		fmt.Fprintf(w, "it may not be the smallest: %s\n", o.Stopped)
	}
	for _, why := range o.Result.Failed {
		fmt.Fprintln(w, "failed:", why)
	}
}
