package fabric_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host/hosttest"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
)

// hostLab is a running fabric of hosts.
type hostLab struct {
	*live.Lab
	agents  *Agents
	options fabric.Options

	mu     sync.Mutex
	state  []byte // the latest fabric.State
	tables []byte // and its tables
	lost   bool   // what is to be kept from now on is not
}

// checkpoint is what fabric.Options.Checkpoint wants.
func (l *hostLab) checkpoint(s fabric.State) <-chan struct{} {
	data, err := s.MarshalBinary()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.NoError(l.agents, err)
	if l.lost {
		return nil
	}
	l.state, l.tables = data, s.Tables
	return nil
}

// deaf has nothing kept from now on, or again.
func (l *hostLab) deaf(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = yes
}

// succeed has another leader take the place of the one that was.
func (l *hostLab) succeed() {
	l.Helper()
	var state fabric.State
	l.mu.Lock()
	require.NoError(l, state.UnmarshalBinary(l.state))
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

// onHosts divides a topology among host0, host1 and so on, see [hosttest.Divide].
func onHosts(g *topology.Graph, n int) (list []fabric.HostOptions) {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("host%d", i))
	}
	for _, p := range hosttest.Divide(g, names...) {
		list = append(list, fabric.HostOptions{Name: p.Host, Switches: p.SwitchIDs(), NICs: p.NICIDs()})
	}
	return list
}

func startHosts(t *testing.T, n int, options ...func(*fabric.Options)) *hostLab {
	t.Helper()
	return startHostsOn(t, n, newAgents(t), options...)
}

// oneApart are agents of which that of host1 starts processes.
func oneApart(t *testing.T) *Agents {
	a := newAgents(t)
	a.Of("host1").Apart = true
	return a
}

func startHostsOn(t *testing.T, n int, agents *Agents, options ...func(*fabric.Options)) *hostLab {
	t.Helper()
	l := &hostLab{agents: agents}
	l.Lab = live.Start(t, live.Config{
		Topology: smallTree, Routing: "adaptive-link",
		Options: append([]func(*fabric.Options){func(o *fabric.Options) {
			o.Checkpoint = l.checkpoint
			o.Hosts, o.Host = onHosts(o.Topology, n), agents.Host
			agents.URL = o.Processes.Hosts.(remote.Hosts).Authorizer.(*bus.Broker).ClientURL()
		}}, append(options, func(o *fabric.Options) { l.options = *o })...),
	})
	return l
}

func (l *hostLab) load(traffic string) { l.Helper(); l.Load(traffic) }

func (l *hostLab) more(n uint64) { l.Helper(); l.More(n) }

func (l *hostLab) until(what string, ok func() bool) {
	l.Helper()
	rig.Until(l, ok, what)
}

// sound requires that every packet is accounted for, by the faults too, and that all pairs are
// connected.
func (l *hostLab) sound() {
	l.Helper()
	l.Settle()
	assert.NoError(l, l.Fabric.LossesReported())
	assert.Empty(l, l.Fabric.LinksDown())
	l.AllPairs(l.Settle)
	assert.NoError(l, l.Fabric.CreditsHome())
}
