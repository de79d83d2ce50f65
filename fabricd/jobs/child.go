package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/work"
)

// PieceCommand is the hidden command of a child: what follows it is the command line of an order.
const PieceCommand = "work-piece"

// StandInFlag is the flag of fabricd job results that has it hand out pieces and no more.
const StandInFlag = "stand-in"

// tailBytes is how much of what a child has printed last is told when it dies; memoryEvery is how
// often its memory is looked at. Chosen by us.
const (
	tailBytes   = 2048
	memoryEvery = 200 * time.Millisecond
)

// Limits are those of one piece; 0 is none.
type Limits struct {
	Memory int64 // bytes
	Time   time.Duration
}

// child is a process that computes pieces of an order, one at a time.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	pipe   *os.File // of its answers
	out    *json.Decoder
	errs   *tail
	folder string
	ends   []work.End
	died   chan struct{} // closed when it has ended
	err    error         // of its end; read after that
}

// startChild starts a child for an order whose command runs in dir, below folder, which is the
// child's.
func startChild(o *Order, dir, folder string, limits Limits, cores int) (*child, error) {
	c := &child{folder: folder, errs: &tail{}, died: make(chan struct{})}
	var err error
	if c.cmd, err = ownCommand(append([]string{PieceCommand, "--folder", folder, "--"}, o.Args...)...); err != nil {
		return nil, err
	}
	c.cmd.Dir, c.cmd.Stderr = dir, c.errs
	c.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "NATS_") })
	c.cmd.Env = append(c.cmd.Env, "GOMAXPROCS="+strconv.Itoa(max(1, cores)))
	if limits.Memory > 0 { // the collector works harder before the child is ended
		c.cmd.Env = append(c.cmd.Env, fmt.Sprintf("GOMEMLIMIT=%d", limits.Memory/10*9))
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, w, err := os.Pipe() // not that of exec, which Wait closes under who reads
	if err != nil {
		return nil, err
	}
	c.cmd.Stdout, c.pipe, c.out = w, out, json.NewDecoder(out)
	err = c.cmd.Start()
	_ = w.Close() // the child has it
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	go func() { // ends with the process, which stop waits for
		c.err = c.cmd.Wait()
		close(c.died)
	}()
	return c, nil
}

// ownCommand is this program with other arguments, by the name that it was started by.
func ownCommand(args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Args[0] = os.Args[0]
	return cmd, nil
}

// fits says whether it is where a batch is, or before that.
func (c *child) fits(ends []work.End) bool {
	same := func(a, b work.End) bool { return a.Key == b.Key }
	return len(c.ends) <= len(ends) && slices.EqualFunc(c.ends, ends[:len(c.ends)], same)
}

// errDied means that a child has ended instead of answering.
var errDied = errors.New("its process died")

// ask has it compute a piece. The error wraps errDied when it has died, or was ended for a limit.
func (c *child) ask(ctx context.Context, g Given, at Place, l Limits) (a work.Answer, err error) {
	answered := make(chan error, 1)
	go func() { // ends with the answer, or with the process
		err := json.NewEncoder(c.in).Encode(work.Request{Key: g.Key, Part: at.Part, Ends: at.Ends})
		if err == nil {
			err = c.out.Decode(&a)
		}
		answered <- err
	}()
	c.ends = at.Ends
	var late <-chan time.Time
	if l.Time > 0 {
		timer := time.NewTimer(l.Time)
		defer timer.Stop()
		late = timer.C
	}
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	why := ""
	for {
		select {
		case err = <-answered:
			if err == nil {
				return a, nil
			}
			<-c.died
			if why == "" {
				why = fmt.Sprintf("%v: %s", c.err, cmp.Or(c.errs.String(), err.Error()))
			}
			return a, fmt.Errorf("%w: %s", errDied, why)
		case <-ctx.Done():
			_ = c.cmd.Process.Kill()
			<-answered
			return a, ctx.Err()
		case <-late:
			why, late = fmt.Sprintf("it took more than %v", l.Time), nil
			_ = c.cmd.Process.Kill()
		case <-tick.C:
			if used := resident(c.cmd.Process.Pid); why == "" && l.Memory > 0 && used > l.Memory {
				why = fmt.Sprintf("it took %d MiB of memory, and may take %d", used>>20, l.Memory>>20)
				_ = c.cmd.Process.Kill()
			}
		}
	}
}

// stop ends it and takes its folder away.
func (c *child) stop() error {
	_ = c.cmd.Process.Kill()
	<-c.died
	_ = c.pipe.Close() // nobody writes to it any more
	return os.RemoveAll(c.folder)
}

// resident is how many bytes of memory a process has; 0: nobody knows.
func resident(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if f := strings.Fields(string(data)); err == nil && len(f) > 1 {
		n, _ := strconv.ParseInt(f[1], 10, 64)
		return n * int64(os.Getpagesize())
	}
	return 0
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu; bound: tailBytes
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	return len(p), nil
}

// String is what it keeps, in one line: of a Go program that panics the beginning says most.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(bytes.ReplaceAll(t.text, []byte("\n"), []byte("; "))))
}
