package hosttest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
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

// Agent starts one host, and again when that has ended. What is exported is set before its host is
// asked for.
type Agent struct {
	Name    string
	Way     *rig.Relay           // of its hosts to the broker; nil: they have none of their own
	Apart   bool                 // its hosts are processes, see [Be]
	Elapsed func() time.Duration // see [remote.Config]; of hosts in this process

	agents *Agents
	mu     sync.Mutex
	away   bool         // guarded by mu: it does not answer
	killed bool         // guarded by mu: the latest was to end
	end    func()       // guarded by mu: ends the latest, and returns when it has; nil: there was none
	over   func() bool  // guarded by mu: reports whether it has ended
	proc   *rig.Process // guarded by mu: the latest; nil: it is none
}

// NewAgents returns those of all hosts that a leader asks for.
func NewAgents(t testing.TB) *Agents {
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
		a.agents[name] = &Agent{Name: name, agents: a}
	}
	return a.agents[name]
}

// Host is what fabric.Options.Host wants.
func (a *Agents) Host(_ context.Context, name string, c host.Spec) error { return a.Of(name).start(c) }

func (g *Agent) start(c host.Spec) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.away, g.agents.Context().Err() != nil: // the test is over, and its processes end before its leader
		return reply.ErrNobody
	case g.end != nil && !g.over():
		return host.ErrRuns
	}
	p := Process{Spec: c, URL: g.agents.URL, Credentials: g.agents.Credentials}
	if g.Way != nil {
		g.Way.To(strings.TrimPrefix(p.URL, scheme))
		p.URL = scheme + g.Way.Address
	}
	if g.Apart {
		g.launch(p)
	} else {
		g.run(p)
	}
	g.killed = false
	return nil
}

// run has the host be a goroutine. The caller holds mu.
func (g *Agent) run(p Process) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		err := remote.Run(ctx, remote.Config{Spec: p.Spec, URL: p.URL, Credentials: p.Credentials, Elapsed: g.Elapsed})
		if err != nil && ctx.Err() == nil {
			g.agents.Errorf("host %s: %v", g.Name, err)
		}
	}()
	g.end = func() { cancel(); <-over }
	g.over = func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	}
}

// launch has it be a process. The caller holds mu.
func (g *Agent) launch(p Process) {
	if g.proc != nil && !g.killed && !strings.Contains(g.proc.Out.String(), ": bus: ") { // it has not reached the broker
		g.agents.Errorf("%s has ended by itself:\n%s", g.Name, g.proc.Out.String())
	}
	proc := rig.Launch(g.agents, p)
	g.proc, g.over = proc, proc.Ended
	g.end = func() {
		if !proc.Ended() {
			proc.Kill()
		}
	}
}

// Process is that of the latest host.
func (g *Agent) Process() *rig.Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proc
}

// End ends the host without a word to its leader.
func (g *Agent) End() {
	g.mu.Lock()
	g.killed = true
	end := g.end
	g.mu.Unlock()
	if end != nil {
		end()
	}
}

// Kill ends the host, and the agent is away.
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
