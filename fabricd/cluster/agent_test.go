package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/testenv"
)

func room(ports int) cluster.Room { return cluster.Room{Ports: ports, Cores: 2, Memory: 1 << 30} }

func hosts(t *testing.T, url string, term uint64, needs map[string]cluster.Room) cluster.Hosts {
	t.Helper()
	return cluster.Hosts{Agents: dial(t, url), Fabric: "lab", Term: term, Needs: needs}
}

func TestAnAgentRunsOneHostOfAFabricUntilItIsDropped(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	url := startServer(t, false)
	a := startAgent(t, url, "h1", room(100), v1)
	h := hosts(t, url, 5, map[string]cluster.Room{"h1": {Ports: 60, Switches: 3}})
	c := host.Spec{Fabric: "lab", Host: "h1", Number: 1, Term: 5, Routing: "updown"}
	require.NoError(t, h.Host(t.Context(), "h1", c))
	require.Equal(t, 1, a.count())

	// A second one of the same fabric does no harm to the first; one of another finds what room is
	// left.
	c.Number = 2
	require.ErrorIs(t, h.Host(t.Context(), "h1", c), host.ErrRuns)
	other := host.Spec{Fabric: "other", Host: "h1", Number: 1}
	err := h.Host(t.Context(), "h1", other)
	require.ErrorIs(t, err, reply.ErrRefused)
	require.ErrorContains(t, err, "room for 20 ports is missing on agent h1")
	require.Equal(t, 1, a.count())

	found, err := cluster.Find(t.Context(), h.Agents, v1, nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, cluster.Room{Ports: 60, Switches: 3}, found[0].Used)
	require.Equal(t, []cluster.HostedSpec{{
		Fabric: "lab", Number: 1, Term: 5,
		Needs: cluster.Room{Ports: 60, Switches: 3},
	}}, found[0].Hosts)
	require.Equal(t, []string{"h1"}, h.Stale(found))

	// A leader that was replaced can neither drop nor host.
	late := hosts(t, url, 4, h.Needs)
	_, err = late.Drop(t.Context(), []string{"h1"}, "over")
	require.ErrorContains(t, err, "another process leads fabric lab: its term is 5, and this leader's is 4")
	dropped, err := h.Drop(t.Context(), []string{"h1"}, "the fabric is over")
	require.NoError(t, err)
	require.Equal(t, []string{"h1"}, dropped)
	dropped, err = h.Drop(t.Context(), []string{"h1"}, "the fabric is over")
	require.NoError(t, err)
	require.Empty(t, dropped)
	c.Term = 4
	require.ErrorContains(t, late.Host(t.Context(), "h1", c), "another process leads fabric lab")
	c.Term = 6
	require.NoError(t, h.Host(t.Context(), "h1", c), "the room is free again")
	require.Contains(t, a.notes(), "host 1 of fabric lab has ended: the fabric is over")
	a.kill()
	err = h.Host(t.Context(), "h1", c)
	require.ErrorIs(t, err, reply.ErrNobody)
}

func TestAHostThatCannotBeMadeIsToldAndTakesNoRoom(t *testing.T) {
	t.Parallel()
	url := startServer(t, false)
	a := startAgent(t, url, "h1", room(100), v1)
	a.fail = errMade
	h := hosts(t, url, 0, map[string]cluster.Room{"h1": {Ports: 60}})
	for range 2 {
		require.ErrorContains(t, h.Host(t.Context(), "h1", host.Spec{Fabric: "lab", Number: 1}),
			"the host cannot be made: no such firmware")
	}
	require.ErrorContains(t, h.Host(t.Context(), "h1", host.Spec{Fabric: "Lab"}), "fabric name")
}

func TestASecondAgentOfANameIsRefused(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	url := startServer(t, false)
	a := startAgent(t, url, "h1", room(100), v1)
	config := cluster.AgentConfig{Name: "h1", URL: url, Version: v1, Room: room(1), Run: (&madeHosts{}).run}
	err := cluster.RunAgent(t.Context(), config)
	require.ErrorIs(t, err, cluster.ErrTaken)
	require.Regexp(t,
		`agent h1: another agent has this name: process \d+ on host .*, since .*: end that, or choose another name with --name`, err.Error())
	a.kill()
	startAgent(t, url, "h1", room(100), v1)

	// Of two that come at the same moment one stays.
	errs := make(chan error, 2)
	ctx, cancel := context.WithCancel(t.Context())
	config.Name = "h2"
	began := make(chan string, 2)
	config.Note = func(s string) { began <- s }
	for range 2 {
		go func() { errs <- cluster.RunAgent(ctx, config) }()
	}
	require.ErrorIs(t, <-errs, cluster.ErrTaken)
	<-began
	cancel()
	require.NoError(t, <-errs)
	require.Empty(t, began)
}

// One that began later, by the clock of its host, but looked before this one could be seen, does
// not go.
func TestAnAgentThatWasSlowToBeSeenGivesWay(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	url := startServer(t, false)
	s, err := bus.NewServer(bus.ServerConfig{Agent: "h1", URL: url, Metadata: map[string]string{
		"name": "h1", "host": "far", "pid": "7", "started": time.Now().Add(time.Hour).Format(time.RFC3339Nano),
		"protocol": "2",
		"ports":    "1", "switches": "0", "cores": "1", "memory": "1",
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	err = cluster.RunAgent(t.Context(),
		cluster.AgentConfig{Name: "h1", URL: url, Version: v1, Room: room(1), Run: (&madeHosts{}).run})
	require.ErrorIs(t, err, cluster.ErrTaken)
	require.ErrorContains(t, err, "process 7 on host far")
}

func TestAgentsAreFoundByNameAndVersion(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	url := startServer(t, false)
	agents := dial(t, url)
	_, err := cluster.Find(t.Context(), agents, v1, nil)
	require.ErrorIs(t, err, cluster.ErrNoAgents)
	require.ErrorContains(t, err, "start one on each host, as: fabricd agent --server "+url)
	startAgent(t, url, "h2", room(100), v1)
	startAgent(t, url, "h1", room(100), v1)
	found, err := cluster.Find(t.Context(), agents, v1, nil)
	require.NoError(t, err)
	require.Equal(t, "h1", found[0].Name)
	require.Equal(t, room(100), found[1].Room)
	found, err = cluster.Find(t.Context(), agents, v1, []string{"h2"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	_, err = cluster.Find(t.Context(), agents, v1, []string{"h3", "h1"})
	require.ErrorContains(t, err, `unknown agent "h3": did you mean "h1"?`)
	_, err = cluster.Find(t.Context(), agents, v1, []string{"h1", "h1"})
	require.ErrorContains(t, err, "agent h1 is named twice")

	startAgent(t, url, "old", room(100), bus.Build{Protocol: bus.Protocol, Revision: "def+dirty"})
	_, err = cluster.Find(t.Context(), agents, v1, nil)
	require.ErrorContains(t, err, "agent old on host ")
	require.ErrorContains(t, err,
		"is of version 5.0.0+def-dirty, and this fabricd of 5.0.0+abc: run the same version on all hosts")
	_, err = cluster.Find(t.Context(), agents, v1, []string{"h1", "h2"})
	require.NoError(t, err, "it is not asked")
	h := hosts(t, url, 0, nil)
	require.ErrorContains(t, h.Host(t.Context(), "old", host.Spec{Fabric: "lab"}),
		"is of version 5.0.0+def-dirty, and this fabricd of 5.0.0+abc")
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b bus.Build
		fits bool
	}{
		{v1, v1, true},
		{v1, bus.Build{Protocol: bus.Protocol}, true},
		{v1, bus.Build{Protocol: bus.Protocol + 1, Revision: "abc"}, false},
		{v1, bus.Build{Protocol: bus.Protocol, Revision: "abd"}, false},
	} {
		require.Equal(t, c.fits, c.a.Fits("x", c.b) == nil, c)
	}
}

// An agent can be found before it hosts anything: it looks first whether it is the only one of its
// name.
func TestAnAgentThatHasJustBegunHostsAllTheSame(t *testing.T) {
	url := startServer(t, false)
	s := bustest.Server(t, bus.ServerConfig{Agent: "h1", URL: url, Build: v1})
	queries := 0
	require.NoError(t, bus.Handle(s, bus.Subject{Kind: bus.SubjectAgent, Verb: "status"},
		func(context.Context, struct{}) (cluster.Status, error) {
			if queries++; queries == 2 {
				require.NoError(t, bus.Handle(s, bus.Subject{Kind: bus.SubjectAgent, Verb: "host"},
					func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }))
			}
			return cluster.Status{Name: "h1"}, nil
		}))
	hosts := cluster.Hosts{Agents: dial(t, url), Fabric: "lab"}
	require.NoError(t, hosts.Host(t.Context(), "h1", host.Spec{Fabric: "lab", Host: "h1"}))
	require.ErrorIs(t, hosts.Host(t.Context(), "h2", host.Spec{Fabric: "lab", Host: "h2"}), reply.ErrNobody)
}
