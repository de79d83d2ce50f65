package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// errUnread means that a command was interrupted while nobody read what it prints.
var errUnread = errors.New("nobody reads what is printed")

// leavable is a writer that an interrupt frees: once ctx has ended, a Write waits [readPatience]
// for its reader and no longer. The goroutine that still waits is then left behind, for the process
// is about to end. Terminals are not wrapped, since they can be scrolled and stopped by hand.
type leavable struct {
	ctx  context.Context
	w    io.Writer
	left atomic.Bool // a Write was given up: nothing more is written
}

// newLeavable returns w itself where nothing interrupts the command or w is a terminal.
func newLeavable(ctx context.Context, w io.Writer) io.Writer {
	if ctx.Done() == nil || Terminal(w) {
		return w
	}
	return &leavable{ctx: ctx, w: w}
}

// readers is what a command prints to, without what [Execute] has put before it: an [Output] does
// its own waiting.
func readers(w io.Writer) io.Writer {
	w = Raw(w)
	if l, ok := w.(*leavable); ok {
		return l.w
	}
	return w
}

// Unwrap is the writer underneath.
func (l *leavable) Unwrap() io.Writer { return l.w }

// Write returns what the writer underneath does, or errUnread.
func (l *leavable) Write(p []byte) (int, error) {
	if l.left.Load() {
		return 0, errUnread
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1) // capacity 1: the goroutine ends, whoever waits
	data := bytes.Clone(p)
	go func() {
		n, err := l.w.Write(data)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-l.ctx.Done():
	}
	late := time.NewTimer(readPatience)
	defer late.Stop()
	select {
	case r := <-done:
		return r.n, r.err
	case <-late.C:
		l.left.Store(true)
		return 0, errUnread
	}
}
