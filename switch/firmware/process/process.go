// Package process runs any program as the firmware of switches. It starts the program, and speaks
// with it over its standard input and output as docs/reference/exec.md says; what it prints on its
// standard error goes to a log.
//
// # Who owns what
//
// Whoever has the turn owns the program until it has answered. Those who come meanwhile ask
// together in the next round. When the program has ended, the next round starts it again, later
// each time that it ends soon. A goroutine for each run waits for its end. [Process.Close] ends the
// program and returns when it is gone. A program whose standard input is closed is to end by
// itself, so none outlives a process of ours that is killed.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"sync"
	"time"

	switching "github.com/weft-fabric/weft/switch"
)

// Config says which program to run.
type Config struct {
	Path    string
	Options map[string]string
	Log     *slog.Logger // nil: nothing is logged
	// A program that owes an answer for so long is ended, its hello four times as long; 0 is DefaultSilence.
	Silence time.Duration
}

// Times. Chosen by us.
const (
	DefaultSilence = 5 * time.Second // a second or two of a busy machine
	toStart        = 4               // times as long a hello may take: an interpreter is read from a disk
	firstBackoff   = 100 * time.Millisecond
	lastBackoff    = 10 * time.Second // between the end of a program that ends again and again and its next start
)

// Process is a program that runs as firmware.
type Process struct {
	Firmware switching.Firmware // that it declares to be; of use until Close
	cfg      Config
	hello    hello
	memory   *memory // nil: it is asked each time
	ctx      context.Context
	end      context.CancelCauseFunc // of ctx, for Close

	joining sync.Mutex
	next    *round // guarded by joining

	turn    chan struct{}   // capacity 1: whoever has put something in owns the rest
	run     *run            // the latest
	backoff time.Duration   // before the next start
	rules   map[string]bool // those that it has named
}

// Start starts a program, and returns when it has said what it is. The context bounds that alone.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)).With("program", cfg.Path)
	cfg.Silence = cmp.Or(cfg.Silence, DefaultSilence)
	p := &Process{
		cfg: cfg, turn: make(chan struct{}, 1), backoff: firstBackoff, rules: map[string]bool{},
		next: &round{done: make(chan struct{})},
	}
	p.ctx, p.end = context.WithCancelCause(context.Background())
	defer context.AfterFunc(ctx, func() { p.end(context.Cause(ctx)) })()
	var err error
	if p.run, err = start(p.ctx, &p.cfg); err == nil {
		p.hello = p.run.hello
		if p.Firmware, err = p.hello.firmware(); err != nil {
			err = p.run.stop(err)
		}
	}
	if err != nil {
		p.end(err)
		return nil, fmt.Errorf("firmware %s: %w", cfg.Path, err)
	}
	p.Firmware.Batch, p.Firmware.Route = p.batch, p.route
	if p.Firmware.DestinationBased && p.Firmware.Reads == (switching.Asked{}) {
		p.memory = &memory{registers: len(p.hello.Registers)}
	}
	return p, nil
}

var errClosed = errors.New("it has been ended with the command that started it")

// Close ends the program, and returns when it has ended. Whoever waits for an answer gets an error.
func (p *Process) Close() {
	p.end(errClosed)
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	_ = p.run.stop(errClosed)
}

// restart starts the program again, if it has ended. The caller has the turn.
func (p *Process) restart() error {
	if p.run.ctx.Err() == nil {
		return nil
	}
	why := p.run.stop(io.EOF)
	if time.Since(p.run.began) > lastBackoff {
		p.backoff = firstBackoff
	}
	select {
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	case <-time.After(p.backoff):
	}
	p.cfg.Log.Warn("firmware ended, and is started again", "after", p.backoff, "why", why)
	p.backoff = min(2*p.backoff, lastBackoff)
	r, err := start(p.ctx, &p.cfg)
	if err == nil && !reflect.DeepEqual(r.hello, p.hello) {
		err = r.stop(errors.New("it declares something else than when it was started first: start the command again"))
	}
	if err != nil {
		p.cfg.Log.Warn("firmware does not start", "why", err)
		return err
	}
	p.run = r
	return nil
}
