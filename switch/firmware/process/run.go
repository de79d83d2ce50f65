package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/weft-fabric/weft"
)

// run is one run of the program. Whoever has [Process].turn owns it.
type run struct {
	cmd     *exec.Cmd
	ctx     context.Context         // ends with the run, for a reason
	end     context.CancelCauseFunc // of ctx
	done    chan struct{}           // the program is gone
	out     *os.File                // what the program writes
	printed printed
	*messages
	silence time.Duration // of the next exchange
	began   time.Time

	hello   hello
	batches uint64              // asked so far
	places  map[*weft.Place]int // that it has been told, and their numbers
}

// start starts the program and waits for its hello. ctx ends the program.
func start(ctx context.Context, cfg *Config) (*run, error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r := &run{
		done: make(chan struct{}), out: out, printed: printed{log: cfg.Log},
		silence: toStart * cfg.Silence, began: time.Now(), places: map[*weft.Place]int{},
	}
	r.ctx, r.end = context.WithCancelCause(ctx)
	r.cmd = exec.CommandContext(r.ctx, cfg.Path)
	r.cmd.Stdout, r.cmd.Stderr = theirs, &r.printed
	r.cmd.WaitDelay = time.Second // what it has started itself may hold its standard error open
	alone(r.cmd)
	in, err := r.cmd.StdinPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	_ = theirs.Close() // the program has it now
	if err != nil {
		r.end(err)
		_ = out.Close()
		return nil, fmt.Errorf("%w: is it a program, executable (chmod +x), with #! and an interpreter in its first "+
			"line?", err)
	}
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait() // its ProcessState says what there is to say
		r.end(io.EOF)
		_ = out.SetReadDeadline(time.Now().Add(time.Second)) // what it has started may hold that open, too
	}()
	r.messages = newMessages(out, in)
	if err := r.exchange(&r.hello, map[string]any{"version": Version, "options": cfg.Options}); err != nil {
		return nil, fmt.Errorf("its hello: %w: docs/reference/exec.md says what it is", r.stop(err))
	}
	r.packed, r.silence = r.hello.Format == "msgpack", cfg.Silence
	return r, nil
}

// exchange sends messages and reads the answer. It ends a program that does not answer in time.
func (r *run) exchange(answer any, list ...any) error {
	silence := r.silence // the timer may be late
	timer := time.AfterFunc(silence, func() {
		r.end(fmt.Errorf("no answer within %v: does it flush what it prints?", silence))
	})
	defer timer.Stop()
	r.write(list...)
	return r.read(answer)
}

// ask asks one batch.
func (r *run) ask(asks []*asked) (_ []answer, err error) {
	r.batches++
	q := batch{Batch: r.batches}
	var list []any
	if len(r.places)+len(asks) > maxPlaces {
		clear(r.places)
	}
	for _, k := range asks {
		number, told := r.places[k.place]
		if !told {
			number = len(r.places)
			r.places[k.place] = number
			list = append(list, placeOf(number, k.place))
		}
		k.question.Place = number
		q.Questions = append(q.Questions, &k.question)
	}
	var a batch
	err = r.exchange(&a, append(list, q)...)
	switch {
	case err != nil:
	case a.Batch != q.Batch:
		err = fmt.Errorf("it answers batch %d, which nobody asked or which it has answered, and not %d",
			a.Batch, q.Batch)
	case len(a.Answers) != len(asks):
		err = fmt.Errorf("it gives %d answers to %d questions", len(a.Answers), len(asks))
	}
	if err != nil {
		return nil, r.stop(err)
	}
	return a.Answers, nil
}

// stop ends the program because of err, waits until it is gone, and returns the reason: where err
// is only that it says no more, what ended it.
func (r *run) stop(err error) error {
	r.end(err)
	<-r.done
	_ = r.out.Close()
	if errors.Is(err, io.EOF) {
		err = context.Cause(r.ctx)
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("it ended: %s; the last that it printed: %.200q", r.cmd.ProcessState, r.printed.last)
	}
	return err
}

// printed logs what a program prints on its standard error.
type printed struct {
	log  *slog.Logger
	last string // line
}

// Write implements [io.Writer].
func (l *printed) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b))
	l.log.Warn("firmware prints", "text", text)
	l.last = text[strings.LastIndexByte(text, '\n')+1:]
	return len(b), nil
}
