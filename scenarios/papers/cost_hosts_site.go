package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/registry"
)

// site is the processes of a run.
type site struct {
	dir             string
	urls            string // of all servers
	servers, agents []*process
	leader          *process
	lines           chan leaderLine // of the leader; bound: what it prints between two looks
}

// process is one, with what it has printed last.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   *tail
	ended chan struct{} // closed when it has
}

// leaderLine is what fabricd up --json prints, as far as it matters here.
type leaderLine struct {
	Up *struct {
		Seconds float64 `json:"start_seconds"`
		Links   int     `json:"links"`
		Placed  struct {
			Agents []struct {
				Ports int `json:"ports"`
			} `json:"agents"`
			PerPath float64 `json:"crossings_per_packet"`
		} `json:"placed"`
	} `json:"up"`
	Ledger *struct {
		Balanced bool `json:"balanced"`
		InFlight int  `json:"in_flight"`
	} `json:"ledger"`
}

// Chosen by us: how long processes may take to be there, and to end.
const (
	startTime = time.Minute
	endTime   = 2 * time.Minute
)

// startSite starts servers and agents, and the fabric on them. The caller ends it.
func startSite(ctx context.Context, bin string, r hostsRun) (s *site, err error) {
	s = &site{lines: make(chan leaderLine, 1024)}
	if s.dir, err = os.MkdirTemp("", "weft-site"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.end())
		}
	}()
	ports, err := freePorts(2 * len(r.cores))
	if err != nil {
		return s, err
	}
	var urls, routes []string
	for i := range r.cores {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[2*i]))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[2*i+1]))
	}
	s.urls = strings.Join(urls, ",")
	for i, cores := range r.cores {
		name := fmt.Sprintf("h%d", i+1)
		cluster := ""
		if len(r.cores) > 1 {
			cluster = fmt.Sprintf("cluster { name: weft, listen: \"127.0.0.1:%d\", routes: [ %s ] }", ports[2*i+1],
				strings.Join(routes, ", "))
		}
		// As deploy/nats.conf has it.
		text := fmt.Sprintf("server_name: %s\nlisten: \"127.0.0.1:%d\"\nmax_pending: 268435456\nwrite_deadline: "+
			"\"30s\"\n%s\njetstream { store_dir: %q }\n",
			name, ports[2*i], cluster, filepath.Join(s.dir, name))
		config := filepath.Join(s.dir, name+".conf")
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return s, err
		}
		p, err := s.start(cores, "server "+name, nil, filepath.Join(bin, "nats-server"), "-c", config)
		if err != nil {
			return s, err
		}
		s.servers = append(s.servers, p)
	}
	fabricd := filepath.Join(bin, "fabricd")
	for i, cores := range r.cores {
		if err := s.meets(ctx, ports[2*i], s.servers[i]); err != nil {
			return s, err
		}
		own := strings.Join(append([]string{urls[i]}, urls...), ",")
		p, err := s.start(cores, fmt.Sprintf("agent h%d", i+1), nil, fabricd, "agent", "--name", fmt.Sprintf("h%d", i+1),
			"--server", own, "--memory", "4GiB", "--cores", "1")
		if err != nil {
			return s, err
		}
		s.agents = append(s.agents, p)
	}
	names := strings.Split(strings.Repeat("h,", len(r.cores)), ",")[:len(r.cores)]
	for i := range names {
		names[i] += strconv.Itoa(i + 1)
	}
	if err := until(ctx, startTime, func() error {
		said, err := exec.CommandContext(ctx, fabricd, "agents", "--server", s.urls, "--names",
			strings.Join(names, ",")).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	}); err != nil {
		return s, err
	}
	if err := until(ctx, startTime, func() error { // a cluster chooses first who leads its store
		store, err := bus.OpenStore(ctx, bus.StoreConfig{Fabric: "hosts", URL: s.urls})
		if err == nil {
			store.Close()
		}
		return err
	}); err != nil {
		return s, err
	}
	args := append([]string{
		"up", "--fabric", "hosts", "--agents", strings.Join(names, ","), "--topology", r.topology,
		"--traffic", "none", "--server", s.urls, "--listen", "off", "--json",
	}, r.flags...)
	s.leader, err = s.start(r.leader, "leader", s.read, fabricd, args...)
	return s, err
}

// start starts a process on cores. What it prints is kept, or read.
func (s *site) start(cores, name string, read func(r io.Reader), program string, args ...string) (*process, error) {
	p := &process{
		name: name, cmd: exec.Command("taskset", append([]string{"-c", cores, program}, args...)...),
		log: new(tail), ended: make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), "WEFT_RUN_DIR="+filepath.Join(s.dir, "run"))
	p.cmd.Stderr = p.log
	var reading sync.WaitGroup
	if read == nil {
		p.cmd.Stdout = p.log
	} else {
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		reading.Go(func() { read(out) })
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w: taskset is of util-linux", name, err)
	}
	go func() { // end waits for it
		reading.Wait()
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.ended)
	}()
	return p, nil
}

// read takes what the leader prints.
func (s *site) read(r io.Reader) {
	defer close(s.lines)
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var l leaderLine
		if json.Unmarshal(in.Bytes(), &l) == nil && (l.Up != nil || l.Ledger != nil) {
			s.lines <- l
		}
	}
}

// next is the next line of the leader that matters.
func (s *site) next(ctx context.Context, within time.Duration) (l leaderLine, err error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case l, ok := <-s.lines:
		if !ok {
			return l, fmt.Errorf("the leader has ended: %s", s.said())
		}
		return l, nil
	case <-timer.C:
		return l, fmt.Errorf("the leader says nothing for %v: %s", within, s.said())
	case <-ctx.Done():
		return l, ctx.Err()
	}
}

// said is what leader and agents have printed last.
func (s *site) said() string {
	var b strings.Builder
	for _, list := range [][]*process{{s.leader}, s.agents} {
		for _, p := range list {
			fmt.Fprintf(&b, "\n%s: %s", p.name, p.log)
		}
	}
	return b.String()
}

// meets returns when the server of a port answers.
func (s *site) meets(ctx context.Context, port int, p *process) error {
	err := until(ctx, startTime, func() error {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			err = c.Close()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, err, p.log)
	}
	return nil
}

// until calls do until it gives no error.
func until(ctx context.Context, within time.Duration, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// end ends all processes, whatever they do, and leaves nothing of them.
func (s *site) end() error {
	for _, list := range [][]*process{{s.leader}, s.agents, s.servers} {
		for _, p := range list {
			if p != nil {
				_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
				<-p.ended
			}
		}
	}
	return os.RemoveAll(s.dir)
}

// freePorts are ports that nobody has.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu; bound: 4 KB
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-4096):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// measurer runs fabrics.
type measurer struct {
	bin  string
	span time.Duration
}

// hostsResult is what a run has shown.
type hostsResult struct {
	hostsRun
	up         float64 // seconds until all links were
	ends       int     // of links
	crossings  float64 // links across hosts that a packet takes in the mean, by the placement
	uneven     float64 // ports of the fullest host over the mean
	idle, busy hostsSpent
	megabytes  []float64 // resident, per agent, at the end of the traffic
	leaderMB   float64
	idleMB     float64 // of all agents, idle
	inFlight   uint64
	links      float64 // that a packet takes in the mean, those of NICs included
	balanced   bool
	linksDown  int
}

// hostsSpent is what happened in a time: processor seconds per second of the wall, and packets per
// second.
type hostsSpent struct {
	agents, servers []float64 // per process
	leader          float64
	delivered       float64
}

func sum(list []float64) (s float64) {
	for _, x := range list {
		s += x
	}
	return s
}

// measure runs a fabric on a site of its own.
func (m measurer) measure(ctx context.Context, r hostsRun) (got hostsResult, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s, %s: %w", r.topology, r.name, err)
		}
	}()
	fmt.Fprintf(os.Stderr, "%s: %s on %d hosts\n", r.name, r.topology, len(r.cores))
	s, err := startSite(ctx, m.bin, r)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	first, err := s.next(ctx, startTime)
	if err != nil {
		return got, err
	}
	if first.Up == nil {
		return got, fmt.Errorf("the leader begins with a ledger: %s", s.leader.log)
	}
	got = hostsResult{
		hostsRun: r, up: first.Up.Seconds, ends: 2 * first.Up.Links, crossings: first.Up.Placed.PerPath,
		uneven: 1,
	}
	var ports, most float64
	for _, a := range first.Up.Placed.Agents {
		ports, most = ports+float64(a.Ports), max(most, float64(a.Ports))
	}
	got.uneven = most * float64(len(first.Up.Placed.Agents)) / ports
	client, err := api.Dial(registry.Entry{Listed: registry.Listed{Name: "hosts", URL: s.urls}}, "hosts", true)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if err := sleep(ctx, m.span/4); err != nil { // what coming up has left behind
		return got, err
	}
	if got.idle, _, err = m.spend(ctx, s, client, m.span/2); err != nil {
		return got, err
	}
	for _, p := range s.agents {
		got.idleMB += resident(p.cmd.Process.Pid)
	}
	if _, err := client.SetTraffic(ctx, r.traffic); err != nil {
		return got, err
	}
	if err := sleep(ctx, m.span/4); err != nil { // until the flow is steady
		return got, err
	}
	var totals api.Status
	if got.busy, totals, err = m.spend(ctx, s, client, m.span); err != nil {
		return got, err
	}
	for _, p := range s.agents {
		got.megabytes = append(got.megabytes, resident(p.cmd.Process.Pid))
	}
	got.leaderMB = resident(s.leader.cmd.Process.Pid)
	got.inFlight, got.links, got.linksDown = totals.Ledger.InFlight, totals.Totals.MeanHops+1, totals.Sample.LinksDown
	return got, m.ledger(ctx, s, client, &got)
}

// ledger ends the fabric, and takes its last word.
func (m measurer) ledger(ctx context.Context, s *site, client *api.Client, got *hostsResult) error {
	if _, err := client.SetTraffic(ctx, "none"); err != nil {
		return err
	}
	if err := s.leader.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	for {
		l, err := s.next(ctx, endTime)
		if err != nil {
			return err
		}
		if l.Ledger != nil {
			got.balanced = l.Ledger.Balanced && l.Ledger.InFlight == 0
			return nil
		}
	}
}

// spend measures a time.
func (m measurer) spend(ctx context.Context, s *site, client *api.Client, span time.Duration) (d hostsSpent,
	last api.Status, err error,
) {
	look := func() (at time.Time, cpu []float64, st api.Status, err error) {
		st, err = client.Status(ctx)
		at = time.Now()
		for _, list := range [][]*process{s.agents, s.servers, {s.leader}} {
			for _, p := range list {
				cpu = append(cpu, processCPU(p))
			}
		}
		return at, cpu, st, err
	}
	began, before, first, err := look()
	if err != nil {
		return d, last, err
	}
	if err := sleep(ctx, span); err != nil {
		return d, last, err
	}
	ended, after, last, err := look()
	if err != nil {
		return d, last, err
	}
	wall := ended.Sub(began).Seconds()
	for i := range after {
		after[i] = (after[i] - before[i]) / wall
	}
	n := len(s.agents)
	d = hostsSpent{
		agents: after[:n], servers: after[n : 2*n], leader: after[2*n],
		delivered: float64(last.Totals.Delivered-first.Totals.Delivered) / wall,
	}
	return d, last, nil
}

// ticks of processor time are so many a second wherever Linux runs.
const ticks = 100

// processCPU is the processor time that a process has had; 0 of one that is gone.
func processCPU(p *process) float64 {
	said, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(said), ") ") // the name may have spaces
	f := strings.Fields(after)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / ticks
}
