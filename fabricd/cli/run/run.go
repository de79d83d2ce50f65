// Package run is the command fabricd run: scenarios, run and judged.
package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/lead"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/work"
	"github.com/weft-fabric/weft/harness/virtual/world"
)

// runFlags are those of fabricd run.
type runFlags struct {
	json    bool
	seed    uint64
	junit   string
	report  string
	virtual bool
	live    bool
	start   bool // programs of the scenarios
	shrink  bool
	small   shrinkFlags
	drain   time.Duration
	jobs    int
	server  bus.Settings
	on      command.On
}

// Command is fabricd run.
func Command() *cobra.Command {
	var u runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO.yaml|FOLDER...",
		Short: "Run scenarios, live or in virtual time, and judge them",
		Long: "Runs scenarios over an embedded NATS server, one after the other or several at once (--jobs), and judges " +
			"what they expect. " +
			"Of a folder it runs all *.yaml files.\n" +
			"With --virtual they run in virtual time, as fast as the machine can: the same seed gives the same run, and the " +
			"same event_hash in --json.\n" +
			"With --shrink it reduces one that fails to the smallest that still does, and writes that as a scenario.\n\n" +
			"Exit codes: 0 all pass, 1 an expectation does not hold, 2 a scenario cannot be run.",
		Example: "  fabricd run scenarios/heal.yaml\n  fabricd run scenarios/heal.yaml --json | jq .ledger\n" +
			"  fabricd run scenarios scenarios/faults --junit scenarios.xml\n  fabricd run scenarios scenarios/faults " +
			"--virtual\n  fabricd run --shrink failing.yaml --budget 5m\n" +
			"  fabricd run scenarios/heal.yaml --virtual --report heal-report",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("run what? name a scenario file, or a folder of them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if u.virtual && u.live {
				return errors.New("--virtual with --live: a run is one or the other, leave one of them out")
			}
			if err := u.noServer(cmd); err != nil {
				return err
			}
			if u.on.Given() && (u.shrink || u.report != "") {
				return errors.New("--on with --shrink or --report, which are made where a scenario runs: leave one of them out")
			}
			if u.start && (u.virtual || u.on.Given()) {
				return errors.New("--programs with --virtual or --on: programs run on this machine, by its clock: " +
					"leave one of them out")
			}
			if u.virtual {
				command.BoundGarbage(command.VirtualGarbage)
			}
			if u.shrink {
				return u.small.run(cmd, args, u)
			}
			if err := u.small.unused(cmd); err != nil {
				return err
			}
			list, err := u.read(cmd.Context(), cmd.ErrOrStderr(), args)
			if err == nil {
				err = u.placeReports(list)
			}
			if err != nil {
				return err
			}
			return u.on.Run(cmd, args, work.Local{Workers: u.jobs}, func(engine work.Engine) error {
				return u.runAll(cmd, engine, list)
			})
		},
		ValidArgsFunction: command.YAMLFiles,
	}
	cmd.Flags().BoolVarP(&u.json, "json", "j", false, "print each result as one JSON object, a line each")
	cmd.Flags().Uint64Var(&u.seed, "sim-seed", 0, "seed of every random draw; 0 is the scenario's own")
	cmd.Flags().StringVar(&u.junit, "junit", "", "write the results to this file, as JUnit XML")
	cmd.Flags().StringVar(&u.report, "report", "",
		"write a report of the run into this `folder`, as one HTML file and as JSON; of several, a folder in it for each")
	cmd.Flags().BoolVar(&u.virtual, "virtual", false, "run in virtual time instead of live")
	cmd.Flags().BoolVar(&u.live, "live", false, "run live, which is the default")
	cmd.Flags().BoolVar(&u.start, "programs", false, "allow the scenarios to start programs, with your rights")
	cmd.Flags().BoolVar(&u.shrink, "shrink", false, "reduce a failing scenario to a smallest one that still fails")
	cmd.Flags().DurationVar(&u.drain, "drain-timeout", scenario.DrainTime, "how long the fabric may take to drain "+
		"when the traffic has stopped, by its clock; when packets are left the ledger is not checked, and the scenario fails")
	command.Bound(cmd.Flags(), "drain-timeout", time.Millisecond, scenario.MaxDuration)
	cmd.Flags().IntVar(&u.jobs, "jobs", 1, "how many scenarios run at once; live ones share the machine")
	command.Bound(cmd.Flags(), "jobs", 1, command.MaxWorkers)
	u.small.flags(cmd)
	u.on.Flags(cmd, &u.server, []string{"jobs", "json", "programs"}, []string{"report", "junit"})
	u.server.Flags(cmd.Flags())
	return cmd
}

// noServer refuses to be told of a server that virtual time has no use for.
func (u runFlags) noServer(cmd *cobra.Command) (err error) {
	if u.on.Given() { // it is where the agents are
		return nil
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, ok := f.Annotations[bus.ServerFlag]; ok && u.virtual {
			err = fmt.Errorf("--virtual with --%s: in virtual time links do not leave the process, leave one of them out",
				f.Name)
		}
	})
	return err
}

// task is a scenario to run, and what came of it.
type task struct {
	path     string
	scenario *scenario.Scenario

	report string // folder for its report; empty: none is wanted
	number int    // its place in the list of the command, from 1

	ran    bool
	result scenario.Result
	err    error // it could not be run
}

// inputs is a hash of what the run of a scenario depends on but its seed: its text and the files
// that it names.
func (t *task) inputs() string {
	h := sha256.New() // it takes everything
	_, _ = io.WriteString(h, t.scenario.Source)
	_ = t.scenario.Options.Topology.WriteJSON(h)
	if _, module, err := subnet.Pin(t.scenario.Routing); err == nil {
		_, _ = h.Write(module)
	}
	traces := []string{t.scenario.Options.Traffic.File}
	for _, a := range t.scenario.Timeline {
		if a.Traffic != nil {
			traces = append(traces, a.Traffic.File)
		}
	}
	for _, file := range traces {
		data, _ := os.ReadFile(file) // one that is not there was refused
		_, _ = h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// read reads all scenarios that args name. The error holds the mistakes of all of them.
func (u runFlags) read(ctx context.Context, stderr io.Writer, args []string) ([]*task, error) {
	var list []*task
	var errs []error
	for _, arg := range args {
		paths, err := scenarioFiles(arg)
		errs = append(errs, err)
		for _, path := range paths {
			if slices.ContainsFunc(list, func(t *task) bool { return t.path == path }) {
				continue // named itself, and by its folder
			}
			s, err := scenario.Read(ctx, path)
			err = command.AnExperiment.Unless(path, err)
			if err == nil && u.seed != 0 {
				s, err = s.Seeded(ctx, u.seed)
			}
			if err == nil {
				command.Warn(stderr, append(s.Warnings, s.Options.Topology.Warnings...))
			}
			errs = append(errs, err)
			list = append(list, &task{path: path, scenario: s, number: len(list) + 1})
		}
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return nil, errs[0]
	}
	return list, errors.Join(errs...)
}

// scenarioFiles are the file of that name, or the YAML files in the folder of that name.
func scenarioFiles(name string) ([]string, error) {
	name = filepath.Clean(name)
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return []string{name}, nil // reading it says what is wrong
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext == ".yaml" || ext == ".yml") && e.Type()&fs.ModeDir == 0 {
			list = append(list, filepath.Join(name, e.Name()))
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no scenario: expected files that end in .yaml", name)
	}
	return list, nil
}

// ran is what came of a scenario.
type ran struct {
	Result scenario.Result `json:"result"`
	Error  string          `json:"error,omitempty"`  // it could not be run
	Report string          `json:"report,omitempty"` // why its report could not be written
	Stderr string          `json:"stderr,omitempty"` // its lines, unless they have been shown
}

// runAll runs the scenarios, and tells of them in their order. One that cannot be run does not keep
// the others from it; an interrupt does.
func (u runFlags) runAll(cmd *cobra.Command, engine work.Engine, list []*task) error {
	out, began := cmd.OutOrStdout(), time.Now()
	note := func(i int, text string) {
		if len(list) > 1 {
			fmt.Fprintf(cmd.ErrOrStderr(), "[%d/%d] %s%s\n", i+1, len(list), list[i].scenario.Name, text)
		}
	}
	_, here := engine.(work.Local)
	atOnce := u.jobs > 1 || !here
	j := work.Job{What: "scenarios", Count: len(list), Ordered: true, Piece: func(i int) work.Piece {
		return work.Piece{
			Name: list[i].path, Key: work.Key(list[i].inputs(), list[i].scenario.Options.Seed, u.virtual, u.drain),
			Cost: list[i].scenario.Duration.Seconds(),
		}
	}}
	j.Run, j.Merge = work.JSON(func(ctx context.Context, _, i int) (r ran, err error) {
		t, stderr := list[i], cmd.ErrOrStderr()
		var lines bytes.Buffer
		if atOnce {
			stderr = &lines
		} else {
			note(i, "")
		}
		failed := u.reported(ctx, cmd, t, stderr)
		if ctx.Err() != nil && failed == nil {
			return r, ctx.Err()
		}
		r = ran{Result: t.result, Stderr: lines.String()}
		if t.err != nil {
			r.Error = t.err.Error()
		}
		if failed != nil {
			r.Report = failed.Error()
		}
		return r, nil
	}, func(i int, r ran) error {
		t := list[i]
		if atOnce {
			note(i, "")
			fmt.Fprint(cmd.ErrOrStderr(), r.Stderr)
		}
		if r.Report != "" {
			return errors.New(r.Report)
		}
		t.ran, t.result = true, r.Result
		if r.Error != "" && t.err == nil {
			t.err = errors.New(r.Error)
		}
		switch {
		case t.err != nil && len(list) == 1:
		case u.json:
			return command.JSON(out, t.line())
		case len(list) == 1:
			printResult(cmd, t.result)
		default:
			note(i, " "+t.verdict())
		}
		return nil
	})
	j.Plain = work.Untimed
	if !u.virtual {
		j.Plain = func([]byte) []byte { return nil } // live runs differ
	}
	err := engine.Run(cmd.Context(), &j)
	if err != nil && cmd.Context().Err() == nil {
		return err
	}
	if !u.json && len(list) > 1 {
		printTable(out, list, time.Since(began))
	}
	if u.junit != "" {
		if err := writeJUnit(u.junit, list, began); err != nil {
			return err
		}
	}
	return verdict(cmd.Context(), list)
}

// line is what --json prints of t.
func (t *task) line() any {
	if t.err != nil {
		return scenario.Unusable{Scenario: t.scenario.Name, Error: t.err.Error()}
	}
	return t.result
}

// verdict is the error of the run of all of list.
func verdict(ctx context.Context, list []*task) error {
	var errs []error
	failed := false
	for _, t := range list {
		switch {
		case !t.ran:
		case t.err != nil && len(list) > 1:
			errs = append(errs, fmt.Errorf("%s: %w", t.path, t.err))
		case t.err != nil:
			errs = append(errs, t.err)
		case !t.result.Pass:
			failed = true
		}
	}
	if ctx.Err() != nil {
		errs = append(errs, errors.New("interrupted"))
	}
	if failed && len(errs) == 0 {
		return command.ErrFailed
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// one runs s in virtual time, or over a broker of its own, or over the server named, where the
// number is part of the fabric's name: several of this process may run there at once.
func (u runFlags) one(ctx context.Context, s *scenario.Scenario, number int, line *scenarioLine, watch scenario.Watcher,
	stderr io.Writer,
) (scenario.Result, error) {
	defer line.Done()
	if u.virtual {
		line.virtual = true
		return scenario.Runner{
			Runtime: func() fabric.Runtime { return world.New() }, Progress: line.progress, Watch: watch,
			Drain: u.drain,
		}.Run(ctx, s)
	}
	name := fmt.Sprintf("run-%d-%d", os.Getpid(), number) // others may run scenarios on that server
	at, err := u.server.Resolve(os.Getenv)
	if err != nil {
		return scenario.Result{}, err
	}
	b, err := lead.BrokerConfig{Name: name, Server: at, Log: slog.New(slog.DiscardHandler)}.
		Open(func(note string) { fmt.Fprintln(stderr, "fabricd: "+note) })
	if err != nil {
		return scenario.Result{}, err
	}
	defer func() { _ = b.Close() }() // all is over
	r := scenario.Runner{Transport: b.Transport, Progress: line.progress, Watch: watch, Drain: u.drain}
	if u.start {
		r.NICs = nicsOf(name)
	}
	return r.Run(ctx, s)
}

// scenarioLine shows how far a scenario has come.
type scenarioLine struct {
	*command.Line
	terminal bool
	quiet    bool // shows nothing
	virtual  bool // the scenario has a time of its own
	duration time.Duration
	began    time.Time
	shown    time.Time // when the line was shown last
}

func progressLine(w io.Writer, s *scenario.Scenario) *scenarioLine {
	return &scenarioLine{
		Line: command.NewLine(w), terminal: command.Terminal(w), duration: s.Duration,
		began: time.Now(),
	}
}

// showEvery is how often the line is shown at most; a scenario in virtual time tells of itself more
// often.
const showEvery = 50 * time.Millisecond

func (l *scenarioLine) progress(f *fabric.Fabric, at time.Duration, step string) {
	switch {
	case l.quiet:
	case step != "":
		l.Print(fmt.Sprintf("%6.1fs  %s", at.Seconds(), step))
	case l.terminal && time.Since(l.shown) >= showEvery:
		l.shown = time.Now()
		speed := ""
		if l.virtual {
			speed = fmt.Sprintf(" of virtual time, %.0f times as fast as live",
				at.Seconds()/time.Since(l.began).Seconds())
		}
		t := f.Totals()
		l.Show(fmt.Sprintf("%6.1fs of %v%s  delivered %d  rerouted %d  links down %d", at.Seconds(), l.duration,
			speed, t.Delivered, t.Rerouted, len(f.LinksDown())))
	}
}

// verdict tells how t ended, in one line.
func (t *task) verdict() string {
	switch {
	case t.err != nil:
		return "UNUSABLE " + strings.ReplaceAll(t.err.Error(), "\n", "; ")
	case t.result.Pass:
		return fmt.Sprintf("PASS (%.1f s)", t.result.Seconds)
	}
	return fmt.Sprintf("FAIL (%.1f s): %s", t.result.Seconds, strings.Join(t.result.Failed, "; "))
}
