package fabric_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host/hosttest"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
)

// soakSite is what the fabric of a soak runs on: a broker, hosts, and the leader. Where that runs
// nodes itself, some of its switches are processes of their own now and then; the others are never
// replaced. All are processes, but for the leader, which is this one.
type soakSite struct {
	*testing.T
	*fabric.Fabric // of who leads now
	broker         *natstest.Server
	relay          *rig.Relay // of the leader to the broker
	agents         []*Agent   // of its hosts
	processes      []*soakProcess
	options        fabric.Options
	detach         func() // the leader leaves
	end            func() // it leaves for good, and then the hosts end
	moving         sync.WaitGroup

	mu    sync.Mutex
	state []byte // guarded by mu: the latest fabric.State
}

const soakName = "soak"

// soakProcess is a switch that processes are now and then.
type soakProcess struct {
	name    string
	process *rig.Process // the latest; nil: none was
	said    string       // by the one before
	killed  bool         // it was to end, whatever it says
	leaves  bool         // it was told to leave
}

const soakProcesses = 3

// startSoak starts a fabric, which ends with the test. The leader's own process has the nodes that
// would be on a third host, or there is that host.
func startSoak(t *testing.T, seed uint64, own bool, load nic.Traffic) *soakSite {
	topology := three
	if testenv.Race {
		topology = smallTree
	}
	s := &soakSite{T: t, broker: natstest.Start(t, natstest.Newest)}
	address := strings.TrimPrefix(s.broker.URL, "nats://")
	s.relay = rig.NewRelay(t, address)
	g := topologytest.Parse(t, topology)
	placed := onHosts(g, 3)
	if own {
		for _, sw := range placed[2].Switches[:soakProcesses] {
			s.processes = append(s.processes, &soakProcess{name: g.Switches[sw].Name})
		}
		placed = placed[:2]
	}
	agents := newAgents(t)
	agents.URL = s.broker.URL
	for _, h := range placed {
		a := agents.Of(h.Name)
		a.Relay, a.Apart = rig.NewRelay(t, address), true
		s.agents = append(s.agents, a)
	}
	// Not adaptive-link, which is proven free of deadlock for as many dead links as its paper
	// claims, and here are more.
	const routing = "deterministic-link"
	s.options = fabric.Options{
		Topology: g, Seed: seed, Traffic: load, NIC: settings.NIC{QueueBytes: 16 << 10},
		Hosts: placed, Host: agents.Host,
		Checkpoint: s.checkpoint, Switch: settings.Switch{Requeue: seed%2 == 0},
		Processes: &fabric.ProcessOptions{Fabric: soakName, Routing: routing},
	}
	var err error
	s.options.Firmware, s.options.Switch.VCs, err = subnet.Firmware(t.Context(), routing, g)
	require.NoError(t, err)
	s.lead(nil)
	s.end = sync.OnceFunc(func() {
		s.detach()
		for _, a := range s.agents {
			a.Kill()
		}
	})
	t.Cleanup(s.end)
	return s
}

// checkpoint is what fabric.Options.Checkpoint wants.
func (s *soakSite) checkpoint(state fabric.State) <-chan struct{} {
	data, err := state.MarshalBinary()
	if err != nil {
		s.Errorf("checkpoint: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = data
	return nil
}

// lead has a leader begin, or go on where another has left.
func (s *soakSite) lead(adopt *fabric.State) {
	url := "nats://" + s.relay.Address
	places, err := fabric.Placements(s.options.Topology, s.options.Hosts, 1)
	require.NoError(s, err)
	layout, err := remote.LeaderLayout(s.options.Topology, places)
	require.NoError(s, err)
	links, err := bus.NewNATS(bus.NATSConfig{Fabric: soakName, URL: url, Layout: layout})
	require.NoError(s, err)
	peers, err := bus.Dial(bus.ClientConfig{Leads: true, Fabric: soakName, URL: url})
	require.NoError(s, err)
	control, err := bus.NewServer(bus.ServerConfig{Fabric: soakName, URL: url})
	require.NoError(s, err)
	o, processes := s.options, *s.options.Processes
	processes.Hosts = remote.Hosts{Peers: peers}
	o.Processes, o.Transport, o.Adopt = &processes, links, adopt
	f, err := fabric.New(o)
	require.NoError(s, err)
	require.NoError(s, f.Start(s.Context()))
	info := api.Info{Name: soakName, Routing: processes.Routing, Started: time.Now()}
	answers, err := api.NewServer(f, control, info)
	require.NoError(s, err)
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { answers.Run(ctx, nil) })
	s.Fabric = f
	s.detach = func() {
		stop()
		serving.Wait()
		f.Detach()
		require.NoError(s, control.Close())
		require.NoError(s, peers.Close())
		require.NoError(s, links.Close())
	}
}

// signal stops a process or has it go on, unless it has ended.
func signal(p *rig.Process, s syscall.Signal) {
	if !p.Ended() {
		_ = p.Cmd.Process.Signal(s) // it may have ended by now
	}
}

// join has a process be the switch, unless one is.
func (s *soakSite) join(p *soakProcess) {
	if p.process != nil {
		if !p.leaves && !p.process.Ended() {
			return
		}
		code, said := p.process.Ends()
		said = strings.TrimSpace(said)
		if !p.killed && code > 1 {
			s.Errorf("the process of %s has ended with %d:\n%s", p.name, code, said)
		} else if code == 1 && said != p.said {
			s.Logf("the process of %s has ended: %s", p.name, said)
		}
		p.said = said
	}
	p.process, p.killed, p.leaves = rig.Launch(s.T, hosttest.Process{Fabric: soakName, Switch: p.name, URL: s.broker.URL}),
		false, false
}

// joined returns when a process is the switch.
func (s *soakSite) joined(p *soakProcess) *rig.Process {
	rig.Until(s.T, func() bool {
		s.join(p)
		return strings.Contains(p.process.Out.String(), "attached")
	}, "a process is %s", p.name)
	return p.process
}

// leave has all switches come home, which nothing keeps them from.
func (s *soakSite) leave() {
	for _, p := range s.processes {
		if p.process == nil || p.process.Ended() {
			continue
		}
		if !p.leaves {
			signal(s.joined(p), syscall.SIGTERM)
			code, said := p.process.Ends()
			require.Zero(s, code, said)
		}
		p.process.Ends()
		p.leaves = true
	}
	rig.Until(s.T, func() bool { return len(s.SwitchProcesses()) == 0 }, "all have left")
	for _, sw := range s.movable() {
		_, err := s.Move(s.Context(), sw, "")
		require.NoError(s, err)
	}
}

// failureKind is a kind of failure of what the fabric runs on.
type failureKind struct {
	name string
	do   func(s *soak)
}

// kinds are those of failures that the fabric bears.
func (s *soakSite) kinds() []failureKind {
	if len(s.processes) > 0 {
		return append(failureKinds[:len(failureKinds):len(failureKinds)], processFailures...)
	}
	return append(failureKinds[:len(failureKinds):len(failureKinds)], leaderReplaced)
}

var failureKinds = []failureKind{
	{"host killed", func(s *soak) {
		a := pick(s, s.agents)
		s.fail("agent of "+a.Name, a.Kill, a.Back)
	}},
	{"host frozen", func(s *soak) {
		a := pick(s, s.agents)
		list := a.Processes()
		all := func(what syscall.Signal) func() {
			return func() {
				for _, p := range list {
					signal(p, what)
				}
			}
		}
		s.fail("processes of "+a.Name, all(rig.Freeze), all(rig.Thaw))
	}},
	{"host cut off", func(s *soak) {
		a := pick(s, s.agents)
		s.fail("way of "+a.Name, a.Relay.Cut, a.Relay.Restore)
	}},
	{"broker killed", func(s *soak) { s.fail("broker", s.broker.Kill, func() { s.broker.Start() }) }},
	{"broker frozen", func(s *soak) { s.fail("broker", s.broker.Pause, s.broker.Resume) }},
	{"switch moves", (*soak).move},
	{"leader cut off", func(s *soak) { s.fail("way of the leader", s.relay.Cut, s.relay.Restore) }},
}

var processFailures = []failureKind{
	{"process joins", func(s *soak) { s.join(pick(s, s.processes)) }},
	{"process killed", func(s *soak) {
		p := pick(s, s.processes)
		s.reach()
		q := s.joined(p)
		p.killed = true
		q.Kill()
	}},
	{"process frozen", func(s *soak) {
		p := pick(s, s.processes)
		s.reach()
		q := s.joined(p)
		s.fail("process of "+p.name, func() { signal(q, rig.Freeze) }, func() { signal(q, rig.Thaw) })
	}},
	{"process leaves", func(s *soak) {
		p := pick(s, s.processes)
		s.reach()
		s.endFailure("process of " + p.name)
		q := s.joined(p)
		p.leaves = true
		signal(q, syscall.SIGTERM)
	}},
}

var leaderReplaced = failureKind{"leader replaced", func(s *soak) {
	s.count()
	s.detach()
	s.reach()
	var state fabric.State
	s.mu.Lock()
	err := state.UnmarshalBinary(s.state)
	s.mu.Unlock()
	require.NoError(s, err)
	s.options.Term++
	s.lead(&state)
}}

// movable are the switches that are no processes.
func (s *soakSite) movable() (list []string) {
	for _, sw := range s.Topology().Switches {
		if !slices.ContainsFunc(s.processes, func(p *soakProcess) bool { return p.name == sw.Name }) {
			list = append(list, sw.Name)
		}
	}
	return list
}

// Of the soak's moves.
const (
	movesAtOnce = 4
	moveTime    = 10 * time.Second // how long the soak looks whether a move has ended
)

// move orders some switches, which are no processes, to hosts or home. It does not wait for them:
// what fails next may be what a move needs.
func (s *soak) move() {
	s.reach()
	for _, a := range s.agents {
		s.endFailure("agent of " + a.Name)
		s.endFailure("processes of " + a.Name)
		s.endFailure("way of " + a.Name)
	}
	rig.Until(s.T, func() bool {
		return !slices.ContainsFunc(s.Hosts(), func(h fabric.HostStatus) bool { return h.State != fabric.SwitchUp })
	}, "all hosts answer")
	led := s.Fabric
	for range movesAtOnce {
		sw, host := pick(s, s.movable()), pick(s, append([]*Agent{{}}, s.agents...)).Name
		s.moving.Go(func() {
			ctx, cancel := context.WithTimeout(s.Context(), moveTime)
			defer cancel()
			if _, err := led.Move(ctx, sw, host); err != nil {
				s.Logf("%s has not moved to %q: %v", sw, host, err)
			}
		})
	}
}

// pick draws one of a list.
func pick[T any](s *soak, list []T) T { return list[s.rand.IntN(len(list))] }

// reach has the leader and the broker reach each other.
func (s *soak) reach() {
	s.endFailure("broker")
	s.endFailure("way of the leader")
}
