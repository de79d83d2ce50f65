// Package natstest starts NATS servers as processes of their own, for tests against brokers that
// are not Weft's: killed, paused, started again, configured as others configure theirs. It is no
// _test file because the tests of several packages use it; nothing but tests imports it.
package natstest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Release says which nats-server.
type Release string

// The releases that tests run against.
const (
	Newest Release = "newest" // built from the module that go.mod names
	Debian Release = "debian" // nats-server on the PATH, as Debian's package of this name installs
)

// Releases are those that tests try: all, and at short the newest.
var Releases = releases()

func releases() []Release {
	if testenv.Short() {
		return []Release{Newest}
	}
	return []Release{Newest, Debian}
}

const listens = "Listening for client connections" // what a server prints when it has its port

const startTries = 5 // with another port each, since a free one may be taken before the server has it

// Server is a nats-server process. Its methods are for the goroutine of the test, and fail the test
// when they cannot do what they say.
type Server struct {
	URL string // nats://127.0.0.1:<port>, constant

	t       testing.TB
	program string
	port    int
	host    string // where it answers
	dir     string // it runs in; empty: ours
	args    []string
	config  string       // path
	process *rig.Process // the last
	runs    bool
}

// Start starts a server on a free port of the loopback interface and returns when it answers. The
// process ends with the test. config is lines of a nats-server configuration file, such as
// "max_payload: 1000". The test is skipped when there is no such server on this machine, but fails
// where CI=true.
func Start(t testing.TB, release Release, config ...string) *Server {
	t.Helper()
	program, err := program(release)
	if err != nil {
		testenv.Missing(t, "natstest: no %s nats-server: %v", release, err)
	}
	s := &Server{t: t, program: program, host: "127.0.0.1", config: filepath.Join(t.TempDir(), "nats.conf")}
	s.write(config)
	for range startTries {
		s.port = rig.FreePort(t)
		s.args = []string{"-a", s.host, "-p", fmt.Sprint(s.port), "-c", s.config}
		if err = s.start(); err == nil {
			s.URL = fmt.Sprintf("nats://127.0.0.1:%d", s.port)
			return s
		}
	}
	t.Fatalf("natstest: %v", err)
	return nil
}

// StartIn starts a server in a folder, with the configuration file nats.conf there, which says that
// it listens at address and port.
func StartIn(t testing.TB, release Release, dir, address string, port int) *Server {
	t.Helper()
	program, err := program(release)
	if err != nil {
		testenv.Missing(t, "natstest: no %s nats-server: %v", release, err)
	}
	s := &Server{
		t: t, program: program, host: address, port: port, dir: dir, args: []string{"-c", "nats.conf"},
		URL: "nats://" + net.JoinHostPort(address, fmt.Sprint(port)), config: filepath.Join(dir, "nats.conf"),
	}
	if err := s.start(); err != nil {
		t.Fatalf("natstest: %v", err)
	}
	return s
}

// Output is what the server has printed since it was started last.
func (s *Server) Output() string { return s.process.Out.String() }

// Start starts the server again, on the same port, after Kill or Stop. Lines of config replace
// those given before.
func (s *Server) Start(config ...string) {
	s.t.Helper()
	if len(config) > 0 {
		s.write(config)
	}
	if s.runs {
		s.t.Fatalf("natstest: the server at %s runs already", s.URL)
	}
	if err := s.start(); err != nil {
		s.t.Fatalf("natstest: again: %v", err)
	}
}

// Kill ends the process at once, as kill -9 does, running or not.
func (s *Server) Kill() {
	s.t.Helper()
	if s.runs {
		s.signal(syscall.SIGKILL)
		s.await()
	}
}

// Stop asks the process to end, and waits for that.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	s.await()
}

// Pause stops the process where it is, with its connections open, and returns when it does nothing
// any more.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(rig.Freeze)
	rig.Until(s.t, func() bool { return rig.Stopped(s.process.PID) }, "the server at %s pauses", s.URL)
}

// Resume lets a paused process go on.
func (s *Server) Resume() {
	s.t.Helper()
	s.signal(rig.Thaw)
}

// Reload replaces the configuration given to Start by config, and returns when the server has taken
// it.
func (s *Server) Reload(config ...string) {
	s.t.Helper()
	const taken = "Reloaded server configuration"
	count := func() int { return strings.Count(s.Output(), taken) }
	before := count()
	s.write(config)
	s.signal(syscall.SIGHUP)
	rig.Until(s.t, func() bool { return count() > before }, "the server at %s reloads its configuration", s.URL)
}

func (s *Server) write(config []string) {
	s.t.Helper()
	if err := os.WriteFile(s.config, []byte(strings.Join(config, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatalf("natstest: %v", err)
	}
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if !s.runs {
		s.t.Fatalf("natstest: the server at %s does not run", s.URL)
	}
	if err := s.process.Cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatalf("natstest: send %v to the server at %s: %v", sig, s.URL, err)
	}
}

// await waits until the process has ended.
func (s *Server) await() {
	s.t.Helper()
	s.process.Ends()
	s.runs = false
}

// start runs the process and waits until it answers.
func (s *Server) start() error {
	cmd := exec.Command(s.program, s.args...)
	cmd.Dir = s.dir
	p := rig.Run(s.t, cmd)
	rig.Until(s.t, func() bool { // somebody else may answer until it finds that the port is taken
		return strings.Contains(p.Out.String(), listens) && answers(s.host, s.port) || p.Ended()
	}, "%s answers at port %d:\n%s", s.program, s.port, &p.Out)
	if p.Ended() {
		return fmt.Errorf("%s has ended at port %d:\n%s", s.program, s.port, &p.Out)
	}
	s.process, s.runs = p, true
	return nil
}

// answers reports whether a NATS server greets at port.
func answers(host string, port int) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, fmt.Sprint(port)), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	greeting := make([]byte, len("INFO "))
	// One that waits for TLS first greets late. On an open connection this cannot fail.
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err = io.ReadFull(conn, greeting)
	return err == nil && string(greeting) == "INFO "
}
