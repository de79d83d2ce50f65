package fabric_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
)

// hosts are the agents of a test: goroutines that run hosts, each with connections of its own.
type hosts struct {
	*testing.T
	url   string
	apart string // the host that has a way of its own to the broker,
	way   string // to this address,
	alone bool   // or is a process of its own:
	proc  *rig.Process
	// clocks of hosts, by host; nil: that of the process
	clocks map[string]func() time.Duration
	base   bus.Credentials // how to connect, for those whose spec says only who

	mu      sync.Mutex
	running map[string]*hosted
	down    map[string]bool // agents that are not there
}

type hosted struct {
	end  context.CancelFunc
	over chan struct{}
}

func newHosts(t *testing.T) *hosts {
	h := &hosts{T: t, running: map[string]*hosted{}, down: map[string]bool{}}
	t.Cleanup(func() {
		for name := range h.running {
			h.kill(name)
		}
	})
	return h
}

// host is what fabric.Options.Host wants.
func (h *hosts) host(_ context.Context, name string, c host.Spec) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down[name] {
		return reply.ErrNobody
	}
	if r := h.running[name]; r != nil {
		select {
		case <-r.over:
		default:
			return host.ErrRuns
		}
	}
	url := h.url
	if name == h.apart {
		url = h.way
		if h.alone {
			h.proc = rig.Launch(h.T, hostProcess{Spec: c, URL: h.url})
			return nil
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &hosted{cancel, make(chan struct{})}
	h.running[name] = r
	go func() {
		defer close(r.over)
		if err := remote.Run(ctx, remote.Config{Spec: c, URL: url, Credentials: h.base, Elapsed: h.clocks[name]}); err != nil && ctx.Err() == nil {
			h.Errorf("host %s: %v", name, err)
		}
	}()
	return nil
}

// hostProcess is how a test tells a process what host to be, or what switch of the soak.
type hostProcess struct {
	Spec   host.Spec
	URL    string
	Switch string
}

// be is such a process.
func (p hostProcess) be(ctx context.Context) error {
	if p.Switch != "" {
		return member.Run(ctx, member.Config{
			Fabric: soakName, URL: p.URL, Switch: p.Switch, Attached: func(host.Spec) { fmt.Println("attached") },
		})
	}
	return remote.Run(ctx, remote.Config{Spec: p.Spec, URL: p.URL})
}

// kill ends a host without a word to its leader, and keeps its agent away.
func (h *hosts) kill(name string) {
	h.mu.Lock()
	r := h.running[name]
	h.down[name] = true
	h.mu.Unlock()
	if r != nil {
		r.end()
		<-r.over
	}
}

// back has the agent of a host come back.
func (h *hosts) back(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down[name] = false
}

// hostLab is a running fabric of hosts.
type hostLab struct {
	*live.Lab
	hosts   *hosts
	options fabric.Options

	mu     sync.Mutex
	kept   []byte // the latest fabric.State
	tables []byte // and its tables
}

// keep is what fabric.Options.Keep wants.
func (l *hostLab) keep(s fabric.State) <-chan struct{} {
	data, err := s.MarshalBinary()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.NoError(l.hosts, err)
	l.kept, l.tables = data, s.Tables
	return nil
}

// succeed has another leader take the place of the one that was.
func (l *hostLab) succeed() {
	l.Helper()
	var state fabric.State
	l.mu.Lock()
	require.NoError(l, state.UnmarshalBinary(l.kept))
	state.Tables = l.tables
	l.mu.Unlock()
	next, process := l.options, *l.options.Processes
	l.Begin(func(o *fabric.Options) {
		process.Hosts = o.Processes.Hosts
		next.Processes, next.Transport, next.Adopt = &process, o.Transport, &state
		*o = next
	})
	l.options = next
}

// onHosts divides a topology: switch i and its NICs are on host i modulo n.
func onHosts(g *topology.Graph, n int) []fabric.HostOptions {
	list := make([]fabric.HostOptions, n)
	for i := range list {
		list[i].Name = fmt.Sprintf("host%d", i)
	}
	for _, s := range g.Switches {
		p := &list[int(s.ID)%n]
		p.Switches = append(p.Switches, s.ID)
		for port := range weft.PortID(s.Ports) {
			if e, _, ok := g.Peer(weft.End{Node: s.ID.Node(), Port: port}); ok && !e.Node.IsSwitch() {
				p.NICs = append(p.NICs, weft.NICID(e.Node.Index))
			}
		}
	}
	for i := range list {
		slices.Sort(list[i].NICs)
	}
	return list
}

func startHosts(t *testing.T, n int, options ...func(*fabric.Options)) *hostLab {
	t.Helper()
	return startHostsOn(t, n, nil, nil, options...)
}

// startHostsOn starts a fabric with hosts as they are to be; to hears of the broker's address.
func startHostsOn(t *testing.T, n int, be func(h *hosts), to func(url string), options ...func(*fabric.Options)) *hostLab {
	t.Helper()
	h := newHosts(t)
	if be != nil {
		be(h)
	}
	l := &hostLab{hosts: h}
	l.Lab = live.Start(t, live.Config{Topology: smallTree, Routing: "adaptive-link", Options: append([]func(*fabric.Options){func(o *fabric.Options) {
		o.Checkpoint = l.keep
		o.Hosts, o.Host = onHosts(o.Topology, n), h.host
		h.url = o.Processes.Hosts.(remote.Hosts).Authorizer.(*bus.Broker).ClientURL()
		if to != nil {
			to(h.url)
		}
	}}, append(options, func(o *fabric.Options) { l.options = *o })...)})
	return l
}

func (l *hostLab) load(traffic string) { l.Helper(); l.Load(traffic) }

func (l *hostLab) more(n uint64) { l.Helper(); l.More(n) }

func (l *hostLab) until(what string, ok func() bool) {
	l.Helper()
	rig.Until(l, ok, what)
}

// sound requires that every packet is accounted for, by the faults too, and that all pairs are connected.
func (l *hostLab) sound() {
	l.Helper()
	l.Settle()
	assert.NoError(l, l.Fabric.LossesReported())
	assert.Empty(l, l.Fabric.LinksDown())
	l.AllPairs(l.Settle)
	assert.NoError(l, l.Fabric.CreditsHome())
}
