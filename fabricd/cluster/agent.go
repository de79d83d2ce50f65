package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Runner makes a host of its spec and runs it until ctx ends or the host is told to end. It
// calls ready once the host answers its leader.
type Runner func(ctx context.Context, c host.Spec, ready func()) error

// AgentConfig says what an agent offers. All but Log and Note are required.
type AgentConfig struct {
	Name        string // of the host
	URL         string // of the broker
	Credentials bus.Credentials
	Version     bus.Build
	Room        Room
	Run         Runner
	Log         *slog.Logger
	Note        func(string) // hears, a sentence each, what becomes of its hosts; must not block
}

// errNoAccess is for brokers that are not ours and say no more.
var errNoAccess = fmt.Errorf("%w: give it other credentials and start it again", reply.ErrNoAccess)

// ErrTaken means that another agent has the name.
var ErrTaken = errors.New("another agent has this name")

// Times of an agent, chosen by us.
const (
	askTime  = 2 * time.Second  // for another agent to answer
	makeTime = 60 * time.Second // for a host to be made, of the largest fabrics too
)

// RunAgent is the agent of a host until ctx ends, and then ends its hosts. The error wraps ErrTaken
// when another has its name.
func RunAgent(ctx context.Context, cfg AgentConfig) (err error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Note == nil {
		cfg.Note = func(string) {}
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("cluster: name of this host: %w", err)
	}
	a := &agent{cfg: cfg, hosts: make(map[hostKey]*hosted), terms: make(map[string]uint64)}
	a.status = Status{
		Name: cfg.Name, Host: host, PID: os.Getpid(), Started: time.Now().UTC(), Version: cfg.Version, Room: cfg.Room,
	}
	others, err := bus.Dial(bus.ClientConfig{
		Leads: true, URL: cfg.URL, Credentials: cfg.Credentials, Program: "agent-" + cfg.Name + "-look",
		Build: cfg.Version,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, others.Close()) }()
	if err := a.free(ctx, others); err != nil {
		return err
	}
	s, err := bus.NewServer(bus.ServerConfig{
		Agent: cfg.Name, URL: cfg.URL, Credentials: cfg.Credentials, Build: cfg.Version, Metadata: a.status.metadata(),
		OnError: func(err error) { cfg.Log.Warn("agent", "err", err) }, Log: cfg.Log,
	})
	if err != nil {
		return err
	}
	a.status.ID = s.ID()
	ctx, cancel := context.WithCancel(ctx)
	a.ctx = ctx
	defer func() {
		err = errors.Join(err, s.Close()) // so that no host comes after this
		cancel()
		a.running.Wait()
	}()
	if err := errors.Join(answer(s, verbStatus, a.answerStatus), answer(s, verbDrop, a.drop)); err != nil {
		return err
	}
	if err := a.alone(ctx, others); err != nil {
		return err
	}
	if err := answer(s, verbHost, a.host); err != nil {
		return err
	}
	but := ""
	if !s.JetStream() {
		but = "; its server runs without JetStream, which keeps what is known of a fabric on agents: unless another of " +
			"its cluster has it, " + bus.NoStoreHelp
	}
	cfg.Note(fmt.Sprintf("offers room for %d ports of switches and NICs (%s, %d cores)%s", cfg.Room.Ports,
		Bytes(cfg.Room.Memory), cfg.Room.Cores, but))
	select {
	case <-ctx.Done():
		return nil
	case <-s.Done():
		return fmt.Errorf("cluster: agent %s ends, and its hosts with it: %w", cfg.Name, cmp.Or(s.Err(), errNoAccess))
	}
}

// agent is one that runs.
type agent struct {
	cfg     AgentConfig
	status  Status // but Used and Hosts; constant once it serves
	ctx     context.Context
	running sync.WaitGroup // of hosts

	mu    sync.Mutex
	hosts map[hostKey]*hosted
	terms map[string]uint64 // the highest heard of, by fabric; bound: the fabrics that were hosted here
}

// hostKey tells the hosts of an agent apart: of each fabric it runs its own host and any number of
// moved switches.
type hostKey struct{ fabric, sw string }

// hosted is a host that runs here.
type hosted struct {
	HostedSpec
	ctx    context.Context // its life
	cancel context.CancelCauseFunc
	ended  chan struct{}
}

func (s Status) metadata() map[string]string {
	return map[string]string{
		"name": s.Name, "host": s.Host, "pid": strconv.Itoa(s.PID), "started": s.Started.Format(time.RFC3339Nano),
		"protocol": strconv.Itoa(s.Version.Protocol), "revision": s.Version.Revision,
		"ports": strconv.Itoa(s.Room.Ports), "switches": strconv.Itoa(s.Room.Switches),
		"cores":  strconv.Itoa(s.Room.Cores),
		"memory": strconv.FormatInt(s.Room.Memory, 10),
	}
}

// free looks whether the name is free.
func (a *agent) free(ctx context.Context, others *bus.Client) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	switch s, err := ask[Status](ctx, others, a.cfg.Name, verbStatus, nil); {
	case errors.Is(err, reply.ErrNobody):
		return nil
	case errors.Is(err, reply.ErrSilent):
		return fmt.Errorf("cluster: agent %s: %w: it does not answer, so it is stopped, or its host is gone and the "+
			"broker has not noticed yet: end it, wait, or choose another name with --name: %w",
			a.cfg.Name, ErrTaken, err)
	case err != nil:
		return err
	default:
		return a.taken(s)
	}
}

func (a *agent) taken(s Status) error {
	return fmt.Errorf("cluster: agent %s: %w: process %d on host %s, since %s: "+
		"end that, or choose another name with --name",
		a.cfg.Name, ErrTaken, s.PID, s.Host, s.Started.Format(time.RFC3339))
}

// alone looks whether another agent of the same name has come at the same moment; then the one that
// began first stays. One that began later and does not go has looked before this one could be seen,
// so it stays.
func (a *agent) alone(ctx context.Context, others *bus.Client) error {
	for end := time.Now().Add(askTime); ; {
		found, err := others.Discover(ctx, bus.AgentService, func([]bus.Found) bool { return false })
		if err != nil {
			return err
		}
		var later *Status
		for _, f := range found {
			s, err := statusOf(f)
			if err != nil || s.Name != a.cfg.Name || s.ID == a.status.ID {
				continue
			}
			if c := s.Started.Compare(a.status.Started); c < 0 || c == 0 && s.ID < a.status.ID {
				return a.taken(s)
			}
			later = &s
		}
		switch {
		case later == nil:
			return nil
		case time.Now().After(end):
			return a.taken(*later)
		}
	}
}

// statusOf reads what an agent says of itself without being asked.
func statusOf(f bus.Found) (s Status, err error) {
	s = Status{
		Name: f.Metadata["name"], ID: f.ID, Host: f.Metadata["host"],
		Version: bus.Build{Revision: f.Metadata["revision"]},
	}
	number := func(key string) int64 {
		n, e := strconv.ParseInt(f.Metadata[key], 10, 64)
		err = cmp.Or(err, e)
		return n
	}
	s.PID, s.Version.Protocol = int(number("pid")), int(number("protocol"))
	s.Room = Room{
		Ports: int(number("ports")), Switches: int(number("switches")), Cores: int(number("cores")),
		Memory: number("memory"),
	}
	s.Started, _ = time.Parse(time.RFC3339Nano, f.Metadata["started"])
	if err == nil {
		err = bus.ValidateAgent(s.Name)
	}
	if err != nil {
		return s, fmt.Errorf("cluster: an agent of version %.64s says what this fabricd does not understand: %w: run the "+
			"same version on all hosts", f.Version, err)
	}
	return s, nil
}

// answerStatus serves verbStatus.
func (a *agent) answerStatus(context.Context, struct{}) (Status, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.status
	s.Used = a.used()
	for _, h := range a.hosts {
		s.Hosts = append(s.Hosts, h.HostedSpec)
	}
	slices.SortFunc(s.Hosts, func(a, b HostedSpec) int {
		return cmp.Or(strings.Compare(a.Fabric, b.Fabric), strings.Compare(a.Switch, b.Switch))
	})
	return s, nil
}

// used is what the hosts take. The caller holds mu.
func (a *agent) used() (r Room) {
	for _, h := range a.hosts {
		r.Ports += h.Needs.Ports
		r.Switches += h.Needs.Switches
	}
	return r
}

// host serves verbHost.
func (a *agent) host(ctx context.Context, r hostRequest) (answer hostAnswer, err error) {
	c := r.Spec
	if err := bus.RequesterOf(ctx).Build.Fits("agent "+a.cfg.Name, a.cfg.Version); err != nil {
		return answer, err
	}
	h, runs, err := a.enter(r)
	if runs != nil && runs.Switch != "" && runs.Number < c.Number { // no leader asks for it any more
		runs.cancel(errors.New("it was written off, and runs anew"))
		select {
		case <-runs.ended:
		case <-ctx.Done():
			return answer, ctx.Err()
		}
		h, runs, err = a.enter(r)
	}
	switch {
	case err != nil:
		return answer, err
	case runs != nil:
		return hostAnswer{Runs: runs.Number}, nil
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	a.running.Go(func() {
		err := a.cfg.Run(h.ctx, c, sync.OnceFunc(func() { close(ready) }))
		ended <- err
		a.leave(h, err)
	})
	timer := time.NewTimer(makeTime)
	defer timer.Stop()
	select {
	case <-ready:
		a.cfg.Note(fmt.Sprintf("runs %v: %d switches, %d ports", h, h.Needs.Switches, h.Needs.Ports))
		return answer, nil
	case err := <-ended:
		return answer, fmt.Errorf("the host cannot be made: %w", cmp.Or(err, errors.New("it has ended at once")))
	case <-timer.C:
		h.cancel(errors.New("it took too long to be made"))
		return answer, fmt.Errorf("the host is not ready after %v", makeTime)
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

// enter takes room for a host, or returns the one that runs in its place already.
func (a *agent) enter(r hostRequest) (h, runs *hosted, err error) {
	c := r.Spec
	if err := bus.ValidateFabric(c.Fabric); err != nil {
		return nil, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.heed(c.Fabric, c.Term); err != nil {
		return nil, nil, err
	}
	h = &hosted{
		HostedSpec: HostedSpec{Fabric: c.Fabric, Number: c.Number, Term: c.Term, Needs: r.Needs},
		ended:      make(chan struct{}),
	}
	if c.Placement.Shared {
		h.Switch = c.Host
	}
	if runs := a.hosts[h.key()]; runs != nil {
		return nil, runs, nil
	}
	if err := a.cfg.Room.Minus(a.used()).Holds(r.Needs); err != nil {
		return nil, nil, fmt.Errorf("%w on agent %s", err, a.cfg.Name)
	}
	h.ctx, h.cancel = context.WithCancelCause(a.ctx)
	a.hosts[h.key()] = h
	return h, nil, nil
}

// heed refuses a leader that has been replaced. The caller holds mu.
func (a *agent) heed(fabric string, term uint64) error {
	if seen := a.terms[fabric]; term < seen {
		return fmt.Errorf("another process leads fabric %s: its term is %d, and this leader's is %d; if the store was "+
			"lost, start the agent again", fabric, seen, term)
	}
	a.terms[fabric] = term
	return nil
}

// leave gives the room of a host back that has ended.
func (a *agent) leave(h *hosted, err error) {
	a.mu.Lock()
	delete(a.hosts, h.key())
	a.mu.Unlock()
	close(h.ended)
	why := context.Cause(h.ctx)
	h.cancel(nil)
	if why == nil || errors.Is(why, context.Canceled) {
		why = err
	}
	if why == nil || errors.Is(why, context.Canceled) {
		a.cfg.Note(fmt.Sprintf("%v has ended", h))
		return
	}
	a.cfg.Note(fmt.Sprintf("%v has ended: %v", h, why))
}

// drop serves verbDrop, and answers when the agent's own host of the fabric and its moved switches
// have ended.
func (a *agent) drop(ctx context.Context, r dropRequest) (answer dropAnswer, err error) {
	var all []*hosted
	a.mu.Lock()
	err = a.heed(r.Fabric, r.Term)
	for k, h := range a.hosts {
		if k.fabric == r.Fabric {
			all = append(all, h)
		}
	}
	a.mu.Unlock()
	if err != nil {
		return answer, err
	}
	for _, h := range all {
		h.cancel(errors.New(r.Why))
	}
	for _, h := range all {
		select {
		case <-h.ended:
			answer.Dropped = true
		case <-ctx.Done():
			return dropAnswer{}, ctx.Err()
		}
	}
	return answer, nil
}
