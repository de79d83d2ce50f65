package command

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// readPatience is how long a command that has ended waits for somebody to read what it printed.
// Chosen by us.
const readPatience = time.Second

// Unhurried calls run, a command that others depend on, with outputs whose readers hold nothing up.
// What nobody has read of stdout when it ends is counted on stderr, with the last of it. Of JSON
// lines on stdout a line says how many were left out.
func Unhurried(stdout, stderr io.Writer, json bool, run func(stdout, stderr io.Writer) error) error {
	text := func(left int) string {
		return fmt.Sprintf("%d messages were left out here, for nobody read them\n", left)
	}
	note := text
	if json {
		note = func(left int) string { return fmt.Sprintf("{\"left_out\":%d}\n", left) }
	}
	out, errs := NewOutput(readers(stdout), note), NewOutput(readers(stderr), text) // what is kept has been made Printable
	err := run(Printable(out), Printable(errs))
	if unread := out.Close(readPatience); len(unread) > 0 {
		fmt.Fprintf(errs, "%d messages on standard output were not read; the last of them:\n", len(unread))
		for _, p := range unread[max(0, len(unread)-lastUnread):] {
			_, _ = errs.Write(p)
		}
	}
	errs.Close(readPatience)
	return err
}

// lastUnread is how many messages are repeated that nobody has read: the ledger is in them. Chosen
// by us.
const lastUnread = 4

// Output is what a process that others depend on writes to. Write never waits for whoever reads:
// what was written is kept until it is read, and of more than fits the oldest is left out, with a
// note in its place. For any goroutine.
type Output struct {
	w       io.Writer
	note    func(left int) string // a line, in place of what was left out
	writing sync.WaitGroup

	mu     sync.Mutex
	queue  [][]byte // what is to be written, by Write; bound: outputBytes
	size   int      // bytes in queue
	left   int      // Writes that were left out since the note before
	taken  []byte   // what is being written; nil: nothing is
	closed bool
	wake   chan struct{} // capacity 1: there is something to write, or it is closed
	wrote  chan struct{} // capacity 1: something has been written
}

// outputBytes is how much is kept for a reader. Chosen by us: an hour of one line a second.
const outputBytes = 1 << 20

// NewOutput returns an output on w that the caller closes. Note puts into words that so many pieces
// were left out.
func NewOutput(w io.Writer, note func(left int) string) *Output {
	o := &Output{w: w, note: note, wake: make(chan struct{}, 1), wrote: make(chan struct{}, 1)}
	o.writing.Go(o.run)
	return o
}

// Unwrap is the writer underneath, for [Terminal] and [Width].
func (o *Output) Unwrap() io.Writer { return o.w }

// Write keeps p to be written. It never fails: a pipe that is closed ends the process by signal.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return len(p), nil
	}
	o.queue = append(o.queue, append(make([]byte, 0, len(p)), p...))
	for o.size += len(p); o.size > outputBytes && len(o.queue) > 1; {
		o.size -= len(o.queue[0])
		o.queue[0] = nil
		o.queue, o.left = o.queue[1:], o.left+1
	}
	notify(o.wake)
	return len(p), nil
}

// next takes what is to be written next; nil: nothing is, for now. The second result is whether
// more may come.
func (o *Output) next() ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = nil
	notify(o.wrote)
	switch {
	case o.left > 0:
		o.taken, o.left = []byte(o.note(o.left)), 0
	case len(o.queue) > 0:
		o.taken, o.queue[0] = o.queue[0], nil
		o.queue, o.size = o.queue[1:], o.size-len(o.taken)
	}
	return o.taken, o.taken != nil || !o.closed
}

// run writes until the output is closed and empty.
func (o *Output) run() {
	for {
		p, more := o.next()
		switch {
		case p != nil:
			_, _ = o.w.Write(p) // see Write
		case !more:
			return
		default:
			<-o.wake
		}
	}
}

// Close ends the output once all is written, or when nothing was read for so long. It returns what
// was not read; the goroutine that still waits for the reader is then left behind, for the process
// is about to end.
func (o *Output) Close(patience time.Duration) (unread [][]byte) {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	notify(o.wake)
	for {
		if unread = o.unread(); len(unread) == 0 {
			o.writing.Wait()
			return nil
		}
		late := time.NewTimer(patience)
		select {
		case <-o.wrote:
			late.Stop()
		case <-late.C:
			return unread
		}
	}
}

// unread is what is not written, of the first maybe a part.
func (o *Output) unread() (list [][]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.taken != nil {
		list = append(list, o.taken)
	}
	return append(list, o.queue...)
}

// notify wakes whoever waits on a channel of capacity 1.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
