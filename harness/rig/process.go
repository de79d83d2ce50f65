package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// env tells a test binary what process to be.
const env = "WEFT_TEST_BE"

// Be is for TestMain: the test binary is also the process that tests start. Where it was told what
// to be it is that, until it is interrupted, and ends; else Be returns.
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
	testing.TB
	Cmd *exec.Cmd
	PID int
	Out Output // what it has said, on standard output and standard error

	done chan struct{} // closed when it has ended
}

// Launch starts the test binary as what it is to be, see Be. It is killed with the test.
func Launch(t testing.TB, as any) *Process {
	t.Helper()
	text, err := json.Marshal(as)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+string(text))
	return Run(t, cmd)
}

// Run starts a command, which is killed with the test. What it has said is logged when the test
// fails.
func Run(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{TB: t, Cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.Out, &p.Out
	require.NoError(t, cmd.Start())
	p.PID = cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			said := p.Out.String()
			t.Logf("process %d, %v:\n%s", p.PID, cmd.Args, said[max(0, len(said)-3000):])
		}
	})
	return p
}

// Says waits until it has said something.
func (p *Process) Says(what string) {
	p.Helper()
	Until(p, func() bool { return strings.Contains(p.Out.String(), what) || p.Ended() }, "process %d says %q", p.PID,
		what)
	require.Contains(p, p.Out.String(), what)
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
	Until(p, p.Ended, "process %d ends", p.PID)
	return p.Cmd.ProcessState.ExitCode(), p.Out.String()
}

// Signal sends it a signal. Of Freeze it returns when the process does nothing any more.
func (p *Process) Signal(s syscall.Signal) {
	p.Helper()
	p.needsSignals()
	require.NoError(p, p.Cmd.Process.Signal(s))
	if s == Freeze {
		Until(p, func() bool { return Stopped(p.Cmd.Process.Pid) }, "process %d stops", p.Cmd.Process.Pid)
	}
}

// Stopped reports whether all threads of a process have stopped or ended, as far as the system
// tells.
func Stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // none where there is no /proc
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		// The state follows the name, which stands in parentheses and may hold anything.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if err == nil && len(state) > 0 && !bytes.Contains([]byte("TtZX"), state[:1]) {
			return false
		}
	}
	return true
}

// Kill ends it at once, and returns when it has ended.
func (p *Process) Kill() {
	p.Helper()
	p.Signal(syscall.SIGKILL)
	p.Ends()
}
