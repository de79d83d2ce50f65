// Package peer runs OpenSM, the subnet manager of InfiniBand, on fabrics that ibsim simulates, to
// hold our results against its. Both are processes of their own, of Debian's packages opensm,
// ibsim-utils, libumad2sim0 and infiniband-diags. It is no _test file because tests of several
// packages use it, and the experiment that compares speeds; nothing else imports it.
package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// ErrMissing is wrapped by the error for programs that are not installed.
var ErrMissing = errors.New(
	"not installed: install the packages opensm, ibsim-utils, libumad2sim0 and infiniband-diags")

// ErrRefused is wrapped by the error for an engine that cannot route the fabric.
var ErrRefused = errors.New("the engine refuses this fabric")

const (
	ready = "Network simulator ready." // what ibsim says when it serves
	poll  = 5 * time.Millisecond       // how often files are looked at that another process writes
)

// Sim is an ibsim that simulates a fabric. Its methods are for one goroutine.
type Sim struct {
	graph *topology.Graph
	dir   string
	sock  string
	lib   string
	cmd   *exec.Cmd
	stdin io.WriteCloser // its console
	runs  int
}

var sims atomic.Int64 // numbers the simulators of this process, to tell their sockets apart

// Start starts ibsim with a graph, writing into a folder of the caller's. Stop ends it; so does the
// end of ctx.
func Start(ctx context.Context, dir string, g *topology.Graph) (*Sim, error) {
	s := &Sim{graph: g, dir: dir, sock: fmt.Sprintf("weft-%d-%d", os.Getpid(), sims.Add(1))}
	var err error
	if s.lib, err = library(); err != nil {
		return nil, err
	}
	program, err := find("ibsim")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := g.WriteIBNet(&text); err != nil {
		return nil, err
	}
	net := filepath.Join(dir, "fabric.net")
	if err := os.WriteFile(net, text.Bytes(), 0o600); err != nil {
		return nil, err
	}
	log := filepath.Join(dir, "ibsim.log")
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the process has its own
	s.cmd = exec.CommandContext(ctx, program, "-s", net)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, out, out
	s.cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+s.sock)
	if s.stdin, err = s.cmd.StdinPipe(); err != nil { // it ends when its console does
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start ibsim: %w", err)
	}
	for !contains(log, ready) {
		if !wait(ctx) {
			s.Stop()
			return nil, fmt.Errorf("ibsim does not get ready: %w\n%s", context.Cause(ctx), tail(log))
		}
	}
	return s, nil
}

// Stop ends the simulator.
func (s *Sim) Stop() {
	_ = s.stdin.Close()
	_ = s.cmd.Process.Kill() // or it has ended already
	_ = s.cmd.Wait()
}

// Result is what OpenSM left when it had routed the fabric.
type Result struct {
	Dir string // where its files are
	// Compute is how long lash took by the log, from its first line to its tables or to where it
	// gives up; 0 for other engines.
	Compute time.Duration
	Lanes   int // how many virtual lanes lash says that it needs, 0 for other engines
}

// File is the path of one of its files.
func (r *Result) File(name string) string { return filepath.Join(r.Dir, name) }

// Route has OpenSM route the fabric once, from the first NIC, with an engine and more of its
// options. The error wraps [ErrRefused] when the engine cannot, and then there is a result too,
// without tables; others are that ctx ended, and what OpenSM says.
func (s *Sim) Route(ctx context.Context, engine string, options ...string) (*Result, error) {
	m, err := s.manage(ctx, engine, append(options, "-o")...)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	for {
		select {
		case err := <-m.ended:
			m.ended <- err
			if err != nil {
				return nil, fmt.Errorf("opensm: %w\n%s", err, tail(m.log))
			}
			return m.result(engine)
		default:
		}
		if contains(m.log, refusal) { // then it never ends
			return m.result(engine)
		}
		if !wait(ctx) {
			return nil, fmt.Errorf("opensm -R %s: %w\n%s", engine, context.Cause(ctx), tail(m.log))
		}
	}
}

const refusal = "No routing engine able to successfully configure"

// manager is an OpenSM that runs.
type manager struct {
	dir, log string
	cmd      *exec.Cmd
	ended    chan error // capacity 1: what Wait said
}

// manage starts an OpenSM. Its log is short, since a long one would take most of the time.
func (s *Sim) manage(ctx context.Context, engine string, options ...string) (*manager, error) {
	program, err := find("opensm")
	if err != nil {
		return nil, err
	}
	s.runs++
	m := &manager{dir: filepath.Join(s.dir, fmt.Sprintf("opensm%d", s.runs)), ended: make(chan error, 1)}
	if err := os.Mkdir(m.dir, 0o700); err != nil { // a fresh one, or it remembers LIDs
		return nil, err
	}
	m.log = filepath.Join(m.dir, "log")
	out, err := os.Create(filepath.Join(m.dir, "out"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	args := append([]string{"-R", engine + ",no_fallback", "-Q", "-D", "0x43", "-f", m.log}, options...)
	m.cmd = exec.CommandContext(ctx, program, args...)
	m.cmd.Dir, m.cmd.Stdout, m.cmd.Stderr = m.dir, out, out
	m.cmd.Env = append(s.env(), "OSM_CACHE_DIR="+m.dir, "OSM_TMP_DIR="+m.dir)
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start opensm: %w", err)
	}
	go func() { m.ended <- m.cmd.Wait() }() // stop waits for it
	return m, nil
}

// env is that of a program which talks to the simulator as the host of the first NIC.
func (s *Sim) env() []string {
	host := fmt.Sprintf("H-%016x", uint64(s.graph.Identity(s.graph.NICs[0].ID.Node()).GUID))
	return append(os.Environ(), "IBSIM_SOCKNAME="+s.sock, "SIM_HOST="+host, "LD_PRELOAD="+s.lib)
}

func (m *manager) stop() {
	_ = m.cmd.Process.Kill() // or it has ended already
	<-m.ended
}

// result reads the log.
func (m *manager) result(engine string) (*Result, error) {
	r := &Result{Dir: m.dir}
	data, err := os.ReadFile(m.log)
	if err != nil {
		return nil, err
	}
	var begin, end time.Time
	refused := false
	for line := range strings.Lines(string(data)) {
		switch {
		case strings.Contains(line, "discover_network_properties: "):
			begin = stamp(line)
		case strings.Contains(line, "tables configured on all switches"), strings.Contains(line, "cannot build fwd tables"):
			end = stamp(line)
		case strings.Contains(line, refusal):
			refused = true
		default:
			r.lanes(line)
		}
	}
	if !begin.IsZero() && !end.IsZero() {
		r.Compute = end.Sub(begin)
	}
	switch {
	case refused:
		return r, fmt.Errorf("opensm -R %s: %w", engine, ErrRefused)
	case end.IsZero():
		return nil, fmt.Errorf("%s: no routing was configured", m.log)
	}
	return r, nil
}

// lanes reads how many lash needs: when it has them, and when it has not.
func (r *Result) lanes(line string) {
	for _, before := range []string{"Lanes needed: ", "Lane requirements ("} {
		_, after, _ := strings.Cut(line, before)
		digits := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
		if n, err := strconv.Atoi(digits); err == nil {
			r.Lanes = n
		}
	}
}

// stamp reads the time at the beginning of a line: "Nov 21 22:41:53 215224 [...".
func stamp(line string) time.Time {
	at, _, _ := strings.Cut(line, " [")
	i := strings.LastIndexByte(at, ' ')
	if i < 0 {
		return time.Time{}
	}
	t, err := time.Parse("Jan _2 15:04:05.000000", at[:i]+"."+at[i+1:])
	if err != nil {
		return time.Time{}
	}
	return t
}

// find looks where Debian installs, too: users do not have that on their PATH.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + program)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, ErrMissing)
	}
	return path, nil
}

// library is what makes programs of InfiniBand talk to ibsim.
func library() (string, error) {
	found, err := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("libumad2sim.so: %w", ErrMissing)
	}
	return found[0], nil
}

// wait lets others work; false when ctx has ended.
func wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(poll):
		return true
	}
}

func contains(file, text string) bool {
	data, err := os.ReadFile(file)
	return err == nil && bytes.Contains(data, []byte(text))
}

// tail is the end of a log, for errors.
func tail(file string) string {
	const most = 2000
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-most):])
}
