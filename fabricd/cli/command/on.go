package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/inputs"
	"github.com/weft-fabric/weft/fabricd/jobs"
	"github.com/weft-fabric/weft/fabricd/work"
)

// HereFlag is the annotation of flags that say what becomes of a result, and not what it is: they
// stay with the process that has them. Its value is HereFile for those that name files.
const (
	HereFlag = "weft_here"
	HereFile = "file"
)

// On is the flag --on of a command whose work falls into pieces.
type On struct {
	agents []string
	server *bus.Settings
	own    bool // the server is for --on alone
}

// Flags declares --on and, unless the command has them, the flags of a server. Of the command's own
// flags, here are those that say what becomes of the results, files those of them that name files.
func (o *On) Flags(cmd *cobra.Command, server *bus.Settings, here, files []string) {
	f := cmd.Flags()
	f.StringSliceVar(&o.agents, "on", nil,
		"`agents` at the server that do the work, as h1,h2, or all; this process unless given")
	if o.server = server; server == nil {
		o.server, o.own = &bus.Settings{}, true
		o.server.Flags(f)
	}
	for _, name := range append(here, "on") {
		_ = f.SetAnnotation(name, HereFlag, nil) // there are such flags
	}
	for _, name := range files {
		_ = f.SetAnnotation(name, HereFlag, []string{HereFile})
	}
}

// Given says whether agents are to do the work.
func (o *On) Given() bool { return len(o.agents) > 0 }

// Slots is how many pieces at once the agents of --on compute.
func (o *On) Slots(cmd *cobra.Command) (n int, err error) {
	j, err := OpenJobs(cmd.Context(), *o.server, cmd.ErrOrStderr(), "dry-run")
	if err != nil {
		return 0, err
	}
	defer j.Close()
	list, err := jobs.Workers(cmd.Context(), j)
	if err != nil {
		return 0, err
	}
	for _, w := range list {
		if slices.Contains(o.agents, "all") || slices.Contains(o.agents, w.Name) {
			n += w.Slots
		}
	}
	if n == 0 {
		return 0, errors.New("--dry-run --on: no such agent is there: say how many there will be with --workers")
	}
	return n, nil
}

// Run runs a command with the engine that does its work: that of its context where it has one, the
// agents of --on, or else local, which may be nil.
func (o *On) Run(cmd *cobra.Command, args []string, local work.Engine, run func(work.Engine) error) (err error) {
	if e := work.From(cmd.Context()); e != nil {
		return run(e)
	}
	if !o.Given() {
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if _, ok := f.Annotations[bus.ServerFlag]; ok && o.own {
				err = fmt.Errorf("--%s without --on, which says which agents do the work: give that too, or leave it out", f.Name)
			}
		})
		if err != nil {
			return err
		}
		return run(local)
	}
	if err := MayOrder(cmd.Root(), commandLine(cmd, args)); err != nil {
		return err
	}
	g := &ordering{on: o, cmd: cmd, args: args}
	err = run(g)
	if g.engine == nil {
		return err
	}
	defer g.engine.Jobs.Close()
	return FinishJob(cmd.Context(), g.engine, err, cmd.ErrOrStderr())
}

// FinishJob notes how an order has ended, unless it goes on. It returns the error
// that it was given.
func FinishJob(ctx context.Context, e *jobs.Engine, err error, stderr io.Writer) error {
	id := e.Order.ID
	switch {
	case errors.Is(err, jobs.ErrCancelled):
		return err
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "job %s goes on: fabricd job watch %s, fabricd job results %s, fabricd job cancel %s\n",
			id, id, id, id)
		return err
	}
	failed := err
	if errors.Is(err, ErrFailed) {
		failed = nil // it has been found out
	}
	note, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	if ended := jobs.End(note, e.Jobs, e.Order, failed); ended != nil {
		fmt.Fprintf(stderr, "fabricd: job %s has ended, and its broker does not know: %v\n", id, ended)
	}
	return err
}

// noteTime is how long the end of an order may take to be noted. Chosen by us.
const noteTime = 5 * time.Second

// ordering is an engine that gives its order when it is run first: by then all files are read.
type ordering struct {
	on     *On
	cmd    *cobra.Command
	args   []string
	engine *jobs.Engine
}

// Run implements work.Engine.
func (g *ordering) Run(ctx context.Context, j *work.Job) (err error) {
	if g.engine == nil {
		if g.engine, err = g.on.order(ctx, g.cmd, g.args); err != nil {
			return err
		}
	}
	return g.engine.Run(ctx, j)
}

// order gives the order of a command and its files to the agents.
func (o *On) order(ctx context.Context, cmd *cobra.Command, args []string) (_ *jobs.Engine, err error) {
	stderr := cmd.ErrOrStderr()
	version, err := jobs.VersionOf(Revision())
	if err != nil {
		return nil, err
	}
	order, files, err := jobs.NewOrder(commandLine(cmd, args), inputs.Used(), version)
	if err != nil {
		return nil, err
	}
	j, err := OpenJobs(ctx, *o.server, stderr, "order")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	if !slices.Equal(o.agents, []string{"all"}) {
		order.On = o.agents
	}
	if err := o.check(ctx, j, order, stderr); err != nil {
		return nil, err
	}
	already, err := jobs.Give(ctx, j, order, files)
	if err != nil {
		return nil, err
	}
	what := "given to agents"
	if already {
		what = "it was given before, by " + order.By
	}
	fmt.Fprintf(stderr, "job %s: %s, and goes on without this process; fabricd job watch %s shows how far it is\n",
		order.ID,
		what, order.ID)
	return &jobs.Engine{Jobs: j, Order: order, Note: func(s string) { fmt.Fprintln(stderr, "fabricd: "+s) }}, nil
}

// check sees that there are such agents, and says which of them are of another version.
func (o *On) check(ctx context.Context, j *bus.Jobs, order *jobs.Order, stderr io.Writer) error {
	list, err := jobs.Workers(ctx, j)
	if err != nil {
		return err
	}
	var names []string
	others := map[string]string{} // versions by worker
	fit := 0
	for _, w := range list {
		names = append(names, w.Name)
		switch {
		case len(order.On) > 0 && !slices.Contains(order.On, w.Name):
		case w.Version != order.Version:
			others[w.Name] = w.Version
		default:
			fit++
		}
	}
	for _, name := range order.On {
		if !slices.Contains(names, name) {
			return fmt.Errorf("--on: %w; it takes agents that were started with --work-only",
				document.Unknown("agent", name, names))
		}
	}
	for name, version := range others {
		fmt.Fprintf(stderr, "fabricd: agent %s is of version %s, and this program of %s: it is not used; run the same "+
			"version on all hosts\n", name, version, order.Version)
	}
	switch {
	case fit == 0 && len(others) > 0:
		return fmt.Errorf("no agent is of the version of this program, %s", order.Version)
	case fit == 0:
		fmt.Fprintln(stderr, "fabricd: no agent is there yet: the job waits for one, fabricd agent --work-only")
	}
	return nil
}

// OpenJobs connects to the jobs at a server.
func OpenJobs(ctx context.Context, server bus.Settings, stderr io.Writer, program string) (*bus.Jobs, error) {
	at, err := Resolve(server, stderr)
	if err != nil {
		return nil, err
	}
	j, err := bus.OpenJobs(ctx, bus.JobsConfig{URL: at.URL, Credentials: at.Credentials, Program: program})
	if errors.Is(err, bus.ErrNoStore) {
		err = fmt.Errorf("%w: %s", err, bus.NoStoreHelp)
	}
	return j, err
}

// commandLine is the command as an order has it: its words and arguments, and the flags that were
// given and say what is computed.
func commandLine(cmd *cobra.Command, args []string) []string {
	line := strings.Fields(cmd.CommandPath())[1:]
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, here := f.Annotations[HereFlag]; here {
			return
		}
		if _, server := f.Annotations[bus.ServerFlag]; server {
			return
		}
		line = append(line, flagWords(f)...)
	})
	return append(line, args...)
}

// flagWords give a flag its value again.
func flagWords(f *pflag.Flag) (words []string) {
	if s, ok := f.Value.(pflag.SliceValue); ok {
		for _, v := range s.GetSlice() {
			words = append(words, "--"+f.Name+"="+v)
		}
		return words
	}
	return []string{"--" + f.Name + "=" + f.Value.String()}
}

// MayOrder refuses an order whose command is none that agents run: others give it, and it must not
// start programs or write files there.
func MayOrder(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if f := cmd.Flags().Lookup("on"); f == nil {
		return fmt.Errorf("%s is no command that agents run", cmd.CommandPath())
	}
	for _, a := range rest {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if !strings.HasPrefix(a, "-") {
			name = ""
		}
		f := cmd.Flags().Lookup(name)
		switch {
		case strings.HasPrefix(a, "-") && (f == nil || !strings.HasPrefix(a, "--")):
			return fmt.Errorf("agents are not given %s", a)
		case strings.HasSuffix(a, "=-"):
			return fmt.Errorf("agents cannot read this process's standard input: name a file instead of %s", a)
		case f != nil && f.Annotations[HereFlag] != nil, name == "exec", strings.Contains(a, "exec:"):
			return fmt.Errorf("agents are not given %s: it is about files or programs of this machine: leave it or --on out", a)
		}
	}
	return nil
}
