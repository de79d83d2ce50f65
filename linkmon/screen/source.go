package screen

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/weft-fabric/weft/fabricd/api"
)

// Source is a connection to a running fabric. [*api.Client] is one.
type Source interface {
	Status(ctx context.Context) (api.Status, error)
	Topology(ctx context.Context) (json.RawMessage, error)
	Switch(ctx context.Context, name string, forwarding bool) (api.SwitchDetail, error)
	// Frames calls f for every frame of the state stream until ctx ends, f returns an error, or the
	// fabric is gone.
	Frames(ctx context.Context, f func(api.Frame) error) error
	Close() error
}

// Config says what is shown and how to act on it. Dial is required.
type Config struct {
	// Dial connects to the fabric; it is called again whenever the fabric has gone away.
	Dial func(ctx context.Context) (Source, error)
	// Do runs a line of the shell and returns what it prints.
	Do func(ctx context.Context, line string) (output string, err error)
	// Complete returns whole lines that begin with line, as the shell completes it.
	Complete func(ctx context.Context, line string) []string
	// Fabrics lists the fabrics that run; nil: there is no choice. Choose has Dial connect to another.
	Fabrics func(ctx context.Context) ([]api.Listed, error)
	Choose  func(name string)

	ReadOnly bool // nothing is changed, whatever key is pressed
	ASCII    bool // draw with ASCII characters alone

	In  io.Reader // the terminal unless given
	Out io.Writer
}

// retryTime is between two attempts to reach a fabric that is gone. Chosen by us: soon enough that
// its return looks prompt.
const retryTime = 300 * time.Millisecond

// staleTime is how long frames may stay away before the fabric is taken for gone: a broker that was
// killed says nothing. Chosen by us: a dozen frames.
const staleTime = 3 * time.Second

var errStale = errors.New("the fabric says nothing any more")

// errGap means that a frame was missed; the stream begins anew with a snapshot.
var errGap = errors.New("a frame of the state stream was missed")

// errChosen means that the user has chosen another fabric.
var errChosen = errors.New("another fabric was chosen")

// Run shows the fabric until the user quits or ctx ends.
func Run(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := []tea.ProgramOption{tea.WithContext(ctx)}
	if cfg.In != nil {
		options = append(options, tea.WithInput(cfg.In))
	}
	if cfg.Out != nil {
		options = append(options, tea.WithOutput(cfg.Out))
	}
	chosen := make(chan struct{}, 1)
	if choose := cfg.Choose; choose != nil {
		cfg.Choose = func(name string) {
			choose(name)
			select {
			case chosen <- struct{}{}:
			default: // it has yet to go over to the one before
			}
		}
	}
	p := tea.NewProgram(newApp(ctx, cfg), options...)
	attended := make(chan struct{})
	go func() {
		defer close(attended)
		attend(ctx, cfg, chosen, p.Send)
	}()
	_, err := p.Run()
	cancel()
	<-attended
	if errors.Is(err, tea.ErrInterrupted) || errors.Is(err, tea.ErrProgramKilled) {
		return nil // Ctrl-C, or a signal to end
	}
	return err
}

// What the attendant tells the program.
type (
	connected struct {
		status   api.Status
		topology *topology
		detail   question
	}
	arrived struct{ frame api.Frame }
	gone    struct{ err error }
)

// question asks for all about a switch.
type question func(ctx context.Context, name string, forwarding bool) (api.SwitchDetail, error)

// attend keeps a connection to the fabric and sends what comes over it, until ctx ends; after
// chosen, to another.
func attend(ctx context.Context, cfg Config, chosen <-chan struct{}, send func(tea.Msg)) {
	for ctx.Err() == nil {
		err := follow(ctx, cfg, chosen, send)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errGap) || errors.Is(err, errChosen) {
			continue
		}
		send(gone{err})
		select {
		case <-time.After(retryTime):
		case <-chosen:
		case <-ctx.Done():
		}
	}
}

// follow sends what one connection brings until it ends.
func follow(ctx context.Context, cfg Config, chosen <-chan struct{}, send func(tea.Msg)) error {
	src, err := cfg.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	hello, err := greet(ctx, src)
	if err != nil {
		return err
	}
	send(hello)
	var run string
	var seq uint64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(staleTime, func() { cancel(errStale) })
	defer late.Stop()
	err = src.Frames(ctx, func(f api.Frame) error {
		late.Reset(staleTime)
		select {
		case <-chosen:
			return errChosen
		default:
		}
		if f.Kind != api.KindSnapshot && (f.Run != run || f.Seq != seq+1) {
			return errGap
		}
		if run != "" && f.Run != run {
			return errGap // another run may have another topology
		}
		run, seq = f.Run, f.Seq
		send(arrived{f})
		return nil
	})
	if errors.Is(context.Cause(ctx), errStale) {
		return errStale
	}
	return err
}

// greet asks what does not change while a fabric runs.
func greet(ctx context.Context, src Source) (connected, error) {
	status, err := src.Status(ctx)
	if err != nil {
		return connected{}, err
	}
	raw, err := src.Topology(ctx)
	if err != nil {
		return connected{}, err
	}
	t, err := readTopology(raw)
	return connected{status, t, src.Switch}, err
}
