package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus/outside"
)

// site is three hosts, each with a NATS server of one cluster: addresses of the loopback interface, or network namespaces.
type site struct {
	t       *testing.T
	bin     string // folder of our commands
	program string // the NATS server
	hosts   []*siteHost
	// cut parts one host from the others, and heal takes it back. What runs on it reaches what else runs on it all the time.
	cut, heal func(host int)
}

type siteHost struct {
	name, addr     string
	client, route  int      // ports of its server
	prefix         []string // of a command that is to run there
	routes         []string // to other servers
	advertise, dir string
	cwd            string // of what runs there; empty: ours
	server, agent  *siteProcess
}

// siteProcess is a process on a host.
type siteProcess struct {
	t         *testing.T
	cmd       *exec.Cmd
	out, errs buffer
	ended     chan struct{} // closed when it has
}

// builtCommands is a folder with our commands, built once for all tests.
var builtCommands = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weft-commands")
	if err != nil {
		return "", err
	}
	said, err := exec.Command("go", "build", "-buildvcs=false", "-o", dir+string(filepath.Separator), ".", "../linkmon").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return dir, nil
})

func (s *site) start(h *siteHost, program string, args ...string) *siteProcess {
	s.t.Helper()
	argv := append(append(append([]string{}, h.prefix...), program), args...)
	p := &siteProcess{t: s.t, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "WEFT_RUN_DIR="+filepath.Join(h.dir, "run"), "GOMAXPROCS=2")
	p.cmd.Dir = h.cwd
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	require.NoError(s.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // how it ended is in its output
		close(p.ended)
	}()
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("%v on %s:\n%s%s", args, h.name, tail(p.out.String()), tail(p.errs.String()))
		}
		p.kill()
	})
	return p
}

// tail is the end of a long text.
func tail(s string) string { return s[max(0, len(s)-3000):] }

func (p *siteProcess) signal(sig syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(sig))
}

// kill is kill -9.
func (p *siteProcess) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-p.ended
}

func (p *siteProcess) wait() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the process does not end:\n%s%s", tail(p.out.String()), tail(p.errs.String()))
	}
}

// servers are the addresses of all, that of the host itself first.
func (s *site) servers(own *siteHost) string {
	list := []string{own.url()}
	for _, h := range s.hosts {
		if h != own {
			list = append(list, h.url())
		}
	}
	return strings.Join(list, ",")
}

func (h *siteHost) url() string { return fmt.Sprintf("nats://%s:%d", h.addr, h.client) }

// startServer starts the NATS server of a host, and waits for nothing.
func (s *site) startServer(h *siteHost) {
	s.t.Helper()
	advertise := ""
	if h.advertise != "" {
		advertise = fmt.Sprintf("cluster_advertise: %q,", h.advertise)
	}
	// As docs/cluster/nats.conf has it, with times for tests.
	config := fmt.Sprintf(`server_name: %s
listen: "%s:%d"
ping_interval: "1s"
ping_max: 2
max_pending: 268435456
write_deadline: "30s"
cluster { name: weft, listen: "%s:%d", %s ping_interval: "500ms", routes: [ %s ] }
jetstream { store_dir: %q, max_memory_store: 64MB, max_file_store: 1GB }
`, h.name, h.addr, h.client, h.addr, h.route, advertise, strings.Join(h.routes, ", "), filepath.Join(h.dir, "nats"))
	path := filepath.Join(h.dir, "nats.conf")
	require.NoError(s.t, os.WriteFile(path, []byte(config), 0o600))
	h.server = s.start(h, s.program, "-c", path)
}

func (s *site) startAgent(h *siteHost) {
	s.t.Helper()
	h.agent = s.start(h, filepath.Join(s.bin, "fabricd"), "agent", "--name", h.name, "--server", s.servers(h), "--memory", "1GiB", "--cores", "2")
}

// startLeader starts fabricd up on a host. It leads, or stands by.
func (s *site) startLeader(h *siteHost, args ...string) *siteProcess {
	s.t.Helper()
	return s.start(h, filepath.Join(s.bin, "fabricd"), append([]string{"up", "--name", "lab", "--server", s.servers(h), "--listen", "off", "--json", "--hello-interval", "200ms"}, args...)...)
}

// says waits until a process has printed something.
func (p *siteProcess) says(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		select {
		case <-p.ended:
			p.t.Errorf("it has ended:\n%s%s", tail(p.out.String()), tail(p.errs.String()))
			return true
		default:
			return strings.Contains(p.out.String()+p.errs.String(), text)
		}
	}, 3*patience, 5*time.Millisecond, "%s\n%s%s", text, &p.out, &p.errs)
	if p.t.Failed() {
		p.t.FailNow()
	}
}

// loopbackSite is three hosts on three addresses of the loopback interface. Servers reach each other through relays that can be cut.
func loopbackSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	for i := range 3 {
		addr := fmt.Sprintf("127.0.0.%d", i+1)
		s.hosts = append(s.hosts, &siteHost{
			name: fmt.Sprintf("h%d", i+1), addr: addr, client: freePort(t, addr), route: freePort(t, addr), dir: t.TempDir(),
			advertise: "127.0.0.1:1", // where nobody is: else they found a way around the relays
		})
	}
	relays := map[int][]*relay{} // by host
	for i, h := range s.hosts {
		for j, to := range s.hosts {
			if i == j {
				continue
			}
			r := newRelay(t, fmt.Sprintf("%s:%d", to.addr, to.route))
			h.routes = append(h.routes, "nats://"+r.listener.Addr().String())
			relays[i], relays[j] = append(relays[i], r), append(relays[j], r)
		}
	}
	s.cut = func(host int) {
		for _, r := range relays[host] {
			r.cut()
		}
	}
	s.heal = func(host int) {
		for _, r := range relays[host] {
			r.heal()
		}
	}
	return s
}

func newSite(t *testing.T) *site {
	t.Helper()
	bin, err := builtCommands()
	require.NoError(t, err)
	program, err := outside.Program(outside.Newest)
	require.NoError(t, err)
	return &site{t: t, bin: bin, program: program}
}

func freePort(t *testing.T, addr string) int {
	t.Helper()
	l, err := net.Listen("tcp", addr+":0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// relay passes connections on to an address, unless it is cut.
type relay struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	dead  bool
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{listener: l, to: to, conns: map[net.Conn]bool{}}
	r.wg.Go(r.accept)
	t.Cleanup(func() {
		_ = l.Close()
		r.cut()
		r.wg.Wait()
	})
	return r
}

func (r *relay) accept() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		r.mu.Lock()
		if r.dead {
			_, _ = in.Close(), out.Close()
		} else {
			r.conns[in], r.conns[out] = true, true
			r.wg.Go(func() { r.pass(in, out) })
			r.wg.Go(func() { r.pass(out, in) })
		}
		r.mu.Unlock()
	}
}

func (r *relay) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from) // until one end goes
	_, _ = from.Close(), to.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, from)
	delete(r.conns, to)
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead = true
	for c := range r.conns {
		_ = c.Close()
	}
}

func (r *relay) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead = false
}
