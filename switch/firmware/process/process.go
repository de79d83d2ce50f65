// Package process runs any program as the firmware of switches. It starts the program, and speaks
// with it over its standard input and output as docs/reference/exec.md says; what it prints on its
// standard error goes to a log.
//
// # Who owns what
//
// [Start] starts the program and one goroutine that owns it: that starts it anew when it has ended,
// later each time that it ends soon. Each run has a goroutine that reads. [Process.Close] ends the
// program and returns when both are gone. A program whose standard input is closed is to end by
// itself, so none outlives a process of ours that is killed.
package process

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Config says which program to run.
type Config struct {
	Path    string
	Args    []string
	Options map[string]string
	Log     *slog.Logger  // nil: nothing is logged
	Silence time.Duration // a program that owes an answer and says nothing for so long is ended; 0 is DefaultSilence
}

// DefaultSilence is how long a program may think. Chosen by us: a second or two of a busy machine.
const DefaultSilence = 5 * time.Second

// Times between two starts of a program that ends again and again. Chosen by us.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 10 * time.Second
)

// Process is a program that runs as firmware.
type Process struct {
	cfg      Config
	hello    hello
	firmware switching.Firmware
	memory   *memory // nil: it is asked each time
	rulesMu  sync.Mutex
	rules    map[string]string // guarded by rulesMu

	end   context.CancelFunc
	ended chan struct{} // the owner has returned

	mu  sync.Mutex
	run *run          // guarded by mu; of the program that runs; nil: none does
	why error         // guarded by mu; of the last that ended
	up  chan struct{} // guarded by mu; closed when run is set
}

// Start starts a program, and returns when it has said what it is. The context bounds that alone.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Silence == 0 {
		cfg.Silence = DefaultSilence
	}
	p := &Process{cfg: cfg, ended: make(chan struct{}), up: make(chan struct{}), rules: map[string]string{}}
	r, err := p.start(ctx)
	if err != nil {
		return nil, fmt.Errorf("firmware %s: %w", cfg.Path, err)
	}
	p.hello = r.hello
	p.firmware, _ = r.hello.firmware() // it has been checked
	p.firmware.Batch, p.firmware.Route = p.batch, p.route
	for _, o := range r.hello.Options {
		p.firmware.Options = append(p.firmware.Options, switching.Option{Name: o.Name, Values: o.Values, About: o.About})
	}
	if f := &p.firmware; f.DestinationBased && f.Reads == (switching.Asked{}) && len(r.hello.Registers) <= maxRemembered {
		p.memory = &memory{}
	}
	owner, end := context.WithCancel(context.Background())
	p.end = end
	go func() {
		defer close(p.ended)
		p.own(owner, r)
	}()
	return p, nil
}

// Firmware is the firmware that the program declares to be. It is of use until Close.
func (p *Process) Firmware() switching.Firmware { return p.firmware }

// Close ends the program, and returns when it has ended. Whoever waits for an answer gets an error.
func (p *Process) Close() {
	p.end()
	<-p.ended
}

var errClosed = errors.New("it has been ended with the command that started it")

// own keeps the program running until ctx ends.
func (p *Process) own(ctx context.Context, r *run) {
	backoff := firstBackoff
	for {
		if r != nil {
			since := time.Now()
			p.mu.Lock()
			if !r.over {
				p.run = r
				close(p.up)
			}
			p.mu.Unlock()
			select {
			case <-ctx.Done():
				r.kill(errClosed)
			case <-r.done:
			}
			<-r.done
			if time.Since(since) > lastBackoff {
				backoff = firstBackoff
			}
			if ctx.Err() == nil {
				p.cfg.Log.Warn("firmware ended, and is started again", "program", p.cfg.Path, "in", backoff, "why", r.err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, lastBackoff)
		var err error
		if r, err = p.start(ctx); err == nil && !reflect.DeepEqual(r.hello, p.hello) {
			err = errors.New("it declares something else than when it was started first: start the command again")
			r.kill(err)
			<-r.done
			r = nil
		}
		if ctx.Err() != nil && r == nil {
			return
		}
		if err != nil {
			p.mu.Lock()
			p.why = err
			p.mu.Unlock()
			p.cfg.Log.Warn("firmware does not start", "program", p.cfg.Path, "why", err)
		}
	}
}

// over notes that a run has ended.
func (p *Process) over(r *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.over, p.why = true, r.err; p.run == r {
		p.run, p.up = nil, make(chan struct{})
	}
}

// run is one run of the program.
type run struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	hello hello
	log   *logLines
	over  bool          // guarded by Process.mu; it has ended
	done  chan struct{} // the program has ended, and nobody reads any more
	err   error         // why; to be read once done is closed

	heard atomic.Int64 // when it last answered, in nanoseconds since began
	began time.Time

	writing sync.Mutex // the rest; held while messages are written, so that they stay whole and in order
	out     messages
	places  map[placeKey]int
	recent  []placeKey // by number
	next    int        // the number of the next place

	mu      sync.Mutex
	killed  error                   // guarded by mu; why it was
	reaped  bool                    // guarded by mu; its number may be another's
	batches uint64                  // guarded by mu; asked so far
	waiting map[uint64]chan answers // guarded by mu; nil: it has ended
}

// start starts the program and waits for its hello.
func (p *Process) start(ctx context.Context) (*run, error) {
	cmd := exec.Command(p.cfg.Path, p.cfg.Args...)
	alone(cmd)
	cmd.WaitDelay = time.Second // what it has started itself may hold its standard error open
	r := &run{
		cmd: cmd, done: make(chan struct{}), began: time.Now(), places: map[placeKey]int{}, waiting: map[uint64]chan answers{},
		log: &logLines{log: p.cfg.Log, program: p.cfg.Path},
	}
	cmd.Stderr = r.log
	var stdout io.ReadCloser
	var err error
	if r.in, err = cmd.StdinPipe(); err == nil {
		stdout, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%w: make it executable, as by chmod +x", err)
	case err != nil:
		return nil, fmt.Errorf("%w: is it a program, with #! and an interpreter in its first line?", err)
	}
	m := &messages{r: bufio.NewReaderSize(stdout, 1<<16), w: r.in}
	r.out.w = r.in
	hello := make(chan error, 2)
	go func() {
		err := r.read(m, p.cfg.Options, hello)
		p.over(r)
		close(r.done)
		hello <- err // has room
	}()
	timer := time.NewTimer(p.cfg.Silence)
	defer timer.Stop()
	err = fmt.Errorf("it has not said what it is within %v: the first line that it prints is its hello, flushed", p.cfg.Silence)
	select {
	case err = <-hello:
	case <-timer.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		r.kill(err)
		<-r.done
		return nil, fmt.Errorf("%w%s", r.err, r.log.last())
	}
	return r, nil
}

// greet exchanges the first messages.
func (r *run) greet(m *messages, options map[string]string) error {
	if options == nil {
		options = map[string]string{}
	}
	_ = m.write(start{Version, options}) // if that fails, so does reading, and says why
	if err := m.read(&r.hello); err != nil {
		return fmt.Errorf("its hello: %w: docs/reference/exec.md says what it is", err)
	}
	if _, err := r.hello.firmware(); err != nil {
		return err
	}
	var known []string
	for _, o := range r.hello.Options {
		known = append(known, o.Name)
	}
	for _, o := range slices.Sorted(maps.Keys(options)) {
		if !slices.Contains(known, o) {
			return fmt.Errorf("unknown option %q: it takes %s", o, cmp.Or(strings.Join(known, ", "), "none"))
		}
	}
	m.packed = r.hello.Format == "msgpack"
	r.out.packed = m.packed
	return nil
}

// read reads what the program says, until it ends or says what cannot be, and returns why it ended.
func (r *run) read(m *messages, options map[string]string, hello chan<- error) error {
	err := r.greet(m, options)
	if err == nil {
		hello <- nil
	}
	for err == nil {
		var a answers
		if err = m.read(&a); err != nil {
			break
		}
		r.heard.Store(int64(time.Since(r.began)))
		r.mu.Lock()
		to, ok := r.waiting[a.Batch]
		delete(r.waiting, a.Batch)
		r.mu.Unlock()
		if !ok {
			err = fmt.Errorf("it answers batch %d, which nobody asked, or which it has answered", a.Batch)
			break
		}
		to <- a // has room
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		r.kill(err)
	}
	_ = r.in.Close()
	r.mu.Lock()
	r.reaped = true
	r.mu.Unlock()
	late := time.AfterFunc(time.Second, func() { _ = r.cmd.Process.Kill() }) // it has closed its output and goes on
	status := r.cmd.Wait()
	late.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = r.killed
	if r.err == nil {
		r.err = fmt.Errorf("it ended: %s", r.cmd.ProcessState)
		if status == nil {
			r.err = errors.New("it ended by itself")
		}
	}
	r.waiting = nil
	return r.err
}

// kill ends the program, for a reason.
func (r *run) kill(why error) {
	r.mu.Lock()
	if r.killed == nil {
		r.killed = why
	}
	if !r.reaped {
		endAll(r.cmd)
	}
	r.mu.Unlock()
}

// ask asks one batch.
func (r *run) ask(asks []*switching.Ask, p *Process) (a answers, err error) {
	reply := make(chan answers, 1)
	r.mu.Lock()
	if r.waiting == nil {
		r.mu.Unlock()
		<-r.done
		return a, r.err
	}
	r.batches++
	number := r.batches
	r.waiting[number] = reply
	r.mu.Unlock()

	asked := time.Since(r.began)
	if err := r.write(number, asks, p); err != nil {
		r.kill(fmt.Errorf("it does not read its standard input: %w", err))
	}
	timer := time.NewTimer(p.cfg.Silence)
	defer timer.Stop()
	for {
		select {
		case a = <-reply:
			return a, nil
		case <-r.done:
			return a, r.err
		case <-timer.C:
			quiet := time.Since(r.began) - max(asked, time.Duration(r.heard.Load()))
			if quiet >= p.cfg.Silence {
				r.kill(fmt.Errorf("no answer within %v", p.cfg.Silence))
				<-r.done
				return a, r.err
			}
			timer.Reset(p.cfg.Silence - quiet) // it answers others meanwhile
		}
	}
}

func (r *run) write(number uint64, asks []*switching.Ask, p *Process) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	var list []any
	q := questions{Batch: number, Questions: make([]question, len(asks))}
	for i, k := range asks {
		place, fresh := r.place(placeKey{k.View.Place(), k.View.VCs()})
		if fresh {
			list = append(list, placeOf(place, k.View.Place(), k.View.VCs()))
		}
		p.question(&q.Questions[i], k, place)
	}
	if w, ok := r.in.(interface{ SetWriteDeadline(t time.Time) error }); ok {
		_ = w.SetWriteDeadline(time.Now().Add(p.cfg.Silence)) // it is a pipe, which has deadlines
	}
	return r.out.write(append(list, q)...)
}

// maxPlaces is how many places a program has to know at a time. Chosen by us: more than switches that
// one machine runs.
const maxPlaces = 1 << 16

type placeKey struct {
	place *weft.Place
	vcs   int
}

// place is the number of a place. One that has not been used for long loses its number to another.
func (r *run) place(k placeKey) (number int, fresh bool) {
	if n, ok := r.places[k]; ok {
		return n, false
	}
	number = r.next
	r.next = (number + 1) % maxPlaces
	if number < len(r.recent) {
		delete(r.places, r.recent[number])
		r.recent[number] = k
	} else {
		r.recent = append(r.recent, k)
	}
	r.places[k] = number
	return number, true
}

// current is the run of the program, once there is one.
func (p *Process) current() (*run, error) {
	timer := time.NewTimer(p.cfg.Silence)
	defer timer.Stop()
	for {
		p.mu.Lock()
		r, up, why := p.run, p.up, p.why
		p.mu.Unlock()
		if r != nil {
			return r, nil
		}
		select {
		case <-up:
		case <-p.ended:
			return nil, errClosed
		case <-timer.C:
			return nil, why
		}
	}
}

// logLines sends what a program prints to the log, line by line.
type logLines struct {
	log     *slog.Logger
	program string
	mu      sync.Mutex
	line    []byte
	latest  string
}

// maxLine is the most of a line that is logged.
const maxLine = 1 << 10

// Write implements [io.Writer].
func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range b {
		switch {
		case c == '\n':
			l.latest = string(l.line)
			l.log.Warn("firmware prints", "program", l.program, "line", l.latest)
			l.line = l.line[:0]
		case len(l.line) < maxLine:
			l.line = append(l.line, c)
		}
	}
	return len(b), nil
}

// last is the last line, for errors.
func (l *logLines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest == "" {
		return ""
	}
	return fmt.Sprintf("; the last that it printed: %.200q", l.latest)
}
