//go:build linux

package namespace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// programs are those that a holder has started. As the first process of its namespace it waits for
// every other, also those whose parents have ended.
type programs struct {
	over atomic.Bool // the namespace ends, and no program by itself any more
	mu   sync.Mutex
	ends map[int]chan unix.WaitStatus // of the programs that run, by process; guarded by mu
}

func newPrograms() *programs {
	p := &programs{ends: map[int]chan unix.WaitStatus{}}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	go func() { // until the process ends
		for range children {
			p.reap()
		}
	}()
	return p
}

// reap takes the ends of all processes that have ended.
func (p *programs) reap() {
	p.mu.Lock() // so that no program ends before it is known
	defer p.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
		if c := p.ends[pid]; c != nil {
			delete(p.ends, pid)
			c <- status
		}
	}
}

// serve runs the program of a connection, until that ends or the connection does.
func (p *programs) serve(c *conn) {
	defer func() { _ = c.Close() }()
	files, err := c.receive(&run{})
	if err == nil {
		err = exactly(4, files)
	}
	if err != nil {
		return
	}
	pid, ends, err := p.start(files[0], files[1:])
	closeAll(files)
	if err != nil {
		_ = c.send(ended{Error: err.Error()})
		return
	}
	told, gone := make(chan int), make(chan struct{})
	over := make(chan struct{})
	defer close(over)
	go func() { // until the connection ends
		defer close(gone)
		for {
			var s signalled
			files, err := c.receive(&s)
			if closeAll(files); err != nil {
				return
			}
			select {
			case told <- s.Signal:
			case <-over:
				return
			}
		}
	}()
	for {
		select {
		case status := <-ends:
			if p.over.Load() {
				return // the server says why
			}
			code := status.ExitStatus()
			if status.Signaled() {
				code = 128 + int(status.Signal())
			}
			_ = c.send(ended{Code: code})
			return
		case s := <-told:
			_ = unix.Kill(-pid, unix.Signal(s)) // it may have just ended
		case <-gone: // whoever had it started has ended
			killSession(pid)
			<-ends
			return
		}
	}
}

// start starts a program, in a session of its own.
func (p *programs) start(command *os.File, files []*os.File) (pid int, ends chan unix.WaitStatus, err error) {
	text, err := readAll(command)
	if err != nil {
		return 0, nil, err
	}
	var c Command
	if err := json.Unmarshal(text, &c); err != nil || len(c.Args) == 0 {
		return 0, nil, errors.Join(errors.New("no program is named"), err)
	}
	path, err := find(c)
	if err != nil {
		return 0, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	process, err := os.StartProcess(path, c.Args, &os.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: files, Sys: &unix.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	pid = process.Pid
	_ = process.Release() // reap waits for it
	ends = make(chan unix.WaitStatus, 1)
	p.ends[pid] = ends
	return pid, ends, nil
}

// find is the file of a program, by the PATH that it is to have.
func find(c Command) (string, error) {
	name := c.Args[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir, name)
		}
		return name, nil
	}
	for i := len(c.Env) - 1; i >= 0; i-- {
		if list, ok := strings.CutPrefix(c.Env[i], "PATH="); ok {
			for _, dir := range filepath.SplitList(list) {
				if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
					return path, nil
				}
			}
			break
		}
	}
	return "", fmt.Errorf("there is no program %s in PATH", name)
}

// killSession kills all processes of a session.
func killSession(session int) {
	_ = unix.Kill(-session, unix.SIGKILL)
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		if of, err := unix.Getsid(pid); err == nil && of == session {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
