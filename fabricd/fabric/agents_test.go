package fabric_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/hosttest"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/nic/nicd"
	"github.com/weft-fabric/weft/switch/wire"
)

// Agents start the hosts of a fabric when its leader asks for them, as those of machines do. The
// hosts end with the test.
type Agents struct {
	testing.TB
	URL         string          // of the broker; set before a host is asked for
	Credentials bus.Credentials // for hosts whose spec says only who they are

	mu     sync.Mutex
	agents map[string]*Agent // guarded by mu
}

// Agent starts one host, and again when that has ended, and beside it those of switches that move
// there. What is exported is set before its host is asked for.
type Agent struct {
	Name    string
	Relay   *rig.Relay           // of its hosts to the broker; nil: they have none of their own
	Apart   bool                 // its hosts are processes, see [hosttest.RunProcess]
	Elapsed func() time.Duration // see [remote.Config]; of hosts in this process

	agents *Agents
	mu     sync.Mutex
	away   bool               // guarded by mu: it does not answer
	hosts  map[string]*hosted // guarded by mu: the latest of each name

	nic func(weft.NICID) *nicd.NIC // guarded by mu: of its latest host in this process; nil: none has run
}

// hosted is a host that an agent has started. Constant, but for killed.
type hosted struct {
	end    func()       // ends it, and returns when it has
	over   func() bool  // reports whether it has ended
	proc   *rig.Process // nil: it is none
	killed bool         // guarded by [Agent].mu: it was to end
}

// newAgents returns those of all hosts that a leader asks for.
func newAgents(t testing.TB) *Agents {
	a := &Agents{TB: t, agents: map[string]*Agent{}}
	t.Cleanup(func() {
		for _, g := range a.agents {
			g.Kill()
		}
	})
	return a
}

// Of returns the agent of a host.
func (a *Agents) Of(name string) *Agent {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.agents[name] == nil {
		a.agents[name] = &Agent{Name: name, agents: a, hosts: map[string]*hosted{}}
	}
	return a.agents[name]
}

// Host is what fabric.Options.Host wants.
func (a *Agents) Host(_ context.Context, name string, c host.Spec) error { return a.Of(name).start(c) }

func (g *Agent) start(c host.Spec) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.hosts[c.Host]
	switch {
	case g.away, g.agents.Context().Err() != nil: // the test is over, and its processes end before its leader
		return reply.ErrNobody
	case before != nil && !before.over():
		return host.ErrRuns
	}
	p := hosttest.Process{Spec: c, URL: g.agents.URL, Credentials: g.agents.Credentials}
	if g.Relay != nil {
		g.Relay.To(strings.TrimPrefix(p.URL, scheme))
		p.URL = scheme + g.Relay.Address
	}
	if !g.Apart {
		g.hosts[c.Host] = g.run(p)
		return nil
	}
	if before != nil && !before.killed && !c.Placement.Shared {
		if _, said := before.proc.Ends(); !strings.Contains(said, ": bus: ") { // it has reached the broker
			g.agents.Errorf("%s has ended by itself:\n%s", g.Name, said)
		}
	}
	g.hosts[c.Host] = g.launch(p)
	return nil
}

// run has a host be a goroutine.
func (g *Agent) run(p hosttest.Process) *hosted {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	c := p.Config()
	c.Elapsed = g.Elapsed
	c.Programs = func(_ *topology.Graph, nic func(weft.NICID) *nicd.NIC, _ func() weft.Time) (remote.Programs, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.nic = nic
		return nil, nil
	}
	ready := false
	c.Ready = func() { ready = true }
	go func() {
		defer close(over)
		err := remote.Run(ctx, c)
		// On a busy machine its leader may give it up before it is ready, and take its credentials back.
		givenUp := !ready && (errors.Is(err, wire.ErrClosed) || errors.Is(err, wire.ErrDisconnected) ||
			err != nil && strings.Contains(err.Error(), " refuses user "))
		if err != nil && ctx.Err() == nil && !errors.Is(err, remote.ErrAlone) && !givenUp {
			g.agents.Errorf("host %s on %s: %v", p.Spec.Host, g.Name, err)
		}
	}()
	return &hosted{
		end: func() { cancel(); <-over },
		over: func() bool {
			select {
			case <-over:
				return true
			default:
				return false
			}
		},
	}
}

// NIC is one of its latest host.
func (g *Agent) NIC(id weft.NICID) *nicd.NIC {
	g.mu.Lock()
	nic := g.nic
	g.mu.Unlock()
	return nic(id)
}

// launch has it be a process.
func (g *Agent) launch(p hosttest.Process) *hosted {
	proc := rig.Launch(g.agents, p)
	return &hosted{proc: proc, over: proc.Ended, end: func() {
		_ = proc.Cmd.Process.Kill() // it may have ended by now
		proc.Ends()
	}}
}

// Process is that of its own host.
func (g *Agent) Process() *rig.Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hosts[g.Name].proc
}

// Runs reports whether it runs a host of that name.
func (g *Agent) Runs(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.hosts[name]
	return h != nil && !h.over()
}

// Processes are those of all its hosts.
func (g *Agent) Processes() (list []*rig.Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.hosts {
		list = append(list, h.proc)
	}
	return list
}

// End ends its hosts without a word to their leader.
func (g *Agent) End() {
	g.mu.Lock()
	list := slices.Collect(maps.Values(g.hosts))
	for _, h := range list {
		h.killed = true
	}
	g.mu.Unlock()
	for _, h := range list {
		h.end()
	}
}

// Kill ends its hosts, and the agent is away.
func (g *Agent) Kill() {
	g.mu.Lock()
	g.away = true
	g.mu.Unlock()
	g.End()
}

// Back has the agent come back.
func (g *Agent) Back() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.away = false
}

const scheme = "nats://"
