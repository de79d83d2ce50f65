// Package rig has the processes that tests start: the test binary itself, as something else. It is no _test file because the tests of
// several packages use it; nothing but tests imports it.
package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is for what must happen; only a failing test waits so long.
const Patience = 2 * time.Minute

// env tells a test binary what process to be.
const env = "WEFT_TEST_BE"

// Be is for TestMain: the test binary is also the process that tests start. Where it was told what to be it is that, until it is
// interrupted, and ends; else Be returns.
func Be[T any](be func(ctx context.Context, as T) error) {
	text := os.Getenv(env)
	if text == "" {
		return
	}
	var as T
	if err := json.Unmarshal([]byte(text), &as); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := be(ctx, as)
	stop()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Process is one that a test has started.
type Process struct {
	*testing.T
	PID int

	cmd  *exec.Cmd
	out  output
	done chan struct{} // closed when it has ended
}

type output struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Launch starts the test binary as what it is to be, see Be. It is killed with the test.
func Launch(t *testing.T, as any) *Process {
	t.Helper()
	text, err := json.Marshal(as)
	require.NoError(t, err)
	p := &Process{T: t, cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env+"="+string(text))
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	require.NoError(t, p.cmd.Start())
	p.PID = p.cmd.Process.Pid
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("process %d: %s", p.PID, p.out.String())
		}
	})
	return p
}

// Says waits until it has said something.
func (p *Process) Says(what string) {
	p.Helper()
	require.Eventually(p, func() bool { return strings.Contains(p.out.String(), what) || p.Ended() }, Patience, time.Millisecond)
	require.Contains(p, p.out.String(), what)
}

// Ended reports whether it has.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Ends waits for its end, and returns its exit code and what it said.
func (p *Process) Ends() (code int, said string) {
	p.Helper()
	require.Eventually(p, p.Ended, Patience, time.Millisecond, "%s", &p.out)
	return p.cmd.ProcessState.ExitCode(), p.out.String()
}

// Signal sends it a signal.
func (p *Process) Signal(s syscall.Signal) {
	p.Helper()
	require.NoError(p, p.cmd.Process.Signal(s))
}

// Kill ends it at once, and returns when it has ended.
func (p *Process) Kill() {
	p.Helper()
	p.Signal(syscall.SIGKILL)
	p.Ends()
}
