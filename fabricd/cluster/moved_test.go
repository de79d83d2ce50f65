package cluster_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// movedSpec is a switch of another host that is moved to an agent.
func movedSpec(name string, id weft.SwitchID, number uint64) host.Spec {
	return host.Spec{Fabric: "lab", Host: name, Number: number, Term: 5, Placement: host.Placement{
		Host: name, Switches: host.Spans([]weft.SwitchID{id}), Shards: 1, Shared: true,
	}}
}

// An agent runs its own host of a fabric and moved switches beside it, each counted, until the
// fabric is dropped.
func TestAnAgentRunsMovedSwitchesBesideItsOwnHost(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	url := startServer(t, false)
	offer := room(20)
	offer.Switches = 5
	a := startAgent(t, url, "h1", offer, v1)
	h := hosts(t, url, 5, map[string]cluster.Room{"h1": {Ports: 12, Switches: 2}})
	h.Graph = topologytest.Parse(t, "kary-ntree:2,2") // leaves have four ports, the top switches two with a link
	id := func(name string) weft.SwitchID {
		id, err := h.Graph.SwitchByName(name)
		require.NoError(t, err)
		return id
	}
	leaf, top := id("s1.0"), id("s0.0")
	require.NoError(t, h.Host(t.Context(), "h1", movedSpec("s1.0", leaf, 2)))
	require.NoError(t, h.Host(t.Context(), "h1", host.Spec{Fabric: "lab", Host: "h1", Number: 1, Term: 5}))
	require.NoError(t, h.Host(t.Context(), "h1", movedSpec("s0.0", top, 3)))
	require.Equal(t, 3, a.count())
	require.Contains(t, a.notes(), "runs host 1 of fabric lab: 2 switches, 12 ports")
	require.Contains(t, a.notes(), "runs switch s1.0 of fabric lab: 1 switches, 4 ports")

	// An order that comes twice, or late, does no harm to what runs, and says which one that is.
	for _, number := range []uint64{1, 2} {
		err := h.Host(t.Context(), "h1", movedSpec("s1.0", leaf, number))
		require.ErrorIs(t, err, host.ErrRuns)
		require.ErrorContains(t, err, "number 2: ")
	}
	require.ErrorIs(t, h.Host(t.Context(), "h1", host.Spec{Fabric: "lab", Host: "h1", Number: 9, Term: 5}), host.ErrRuns)
	require.Equal(t, 3, a.count())

	// All that it runs counts, and a moved switch of another leaf finds no room.
	err := h.Host(t.Context(), "h1", movedSpec("s1.1", id("s1.1"), 10))
	require.ErrorIs(t, err, reply.ErrRefused)
	require.ErrorContains(t, err, "room for 2 ports is missing on agent h1")
	found, err := cluster.Find(t.Context(), h.Agents, v1, nil)
	require.NoError(t, err)
	require.Equal(t, cluster.Room{Ports: 18, Switches: 4}, found[0].Used)
	require.Equal(t, []cluster.HostedSpec{
		{Fabric: "lab", Number: 1, Term: 5, Needs: cluster.Room{Ports: 12, Switches: 2}},
		{Fabric: "lab", Switch: "s0.0", Number: 3, Term: 5, Needs: cluster.Room{Ports: 2, Switches: 1}},
		{Fabric: "lab", Switch: "s1.0", Number: 2, Term: 5, Needs: cluster.Room{Ports: 4, Switches: 1}},
	}, found[0].Hosts)

	// The end of the fabric ends all of it, and nothing of another fabric.
	other := movedSpec("s0.0", top, 4)
	other.Fabric = "other"
	require.NoError(t, h.Host(t.Context(), "h1", other))
	dropped, err := h.Drop(t.Context(), []string{"h1"}, "the fabric is over")
	require.NoError(t, err)
	require.Equal(t, []string{"h1"}, dropped)
	found, err = cluster.Find(t.Context(), h.Agents, v1, nil)
	require.NoError(t, err)
	require.Equal(t, []cluster.HostedSpec{{
		Fabric: "other", Switch: "s0.0", Number: 4, Term: 5, Needs: cluster.Room{Ports: 2, Switches: 1},
	}}, found[0].Hosts)
	require.Empty(t, h.Stale(found))
	// It notes that after it has freed the room.
	rig.Until(t, func() bool { return len(a.notes()) == 8 }, "%q", a.notes())
	require.Contains(t, a.notes(), "switch s1.0 of fabric lab has ended: the fabric is over")
	require.NoError(t, h.Host(t.Context(), "h1", movedSpec("s1.0", leaf, 11)), "the room is free again")
}

// A leader that wants a switch of a later number has written off the one that runs, which nobody
// has told so: the agent ends it, and runs the other.
func TestAMovedSwitchThatWasWrittenOffGivesWay(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	url := startServer(t, false)
	a := startAgent(t, url, "h1", room(4), v1)
	h := hosts(t, url, 5, nil)
	h.Graph = topologytest.Parse(t, "kary-ntree:2,2")
	require.NoError(t, h.Host(t.Context(), "h1", movedSpec("s1.0", 2, 1)))
	require.NoError(t, h.Host(t.Context(), "h1", movedSpec("s1.0", 2, 2)))
	require.Equal(t, 2, a.count())
	found, err := cluster.Find(t.Context(), h.Agents, v1, nil)
	require.NoError(t, err)
	require.Len(t, found[0].Hosts, 1)
	require.EqualValues(t, 2, found[0].Hosts[0].Number)
	rig.Until(t, func() bool {
		return slices.Contains(a.notes(), "switch s1.0 of fabric lab has ended: it was written off, and runs anew")
	})
}

// A moved switch alone makes an agent one that runs something of a fabric, which a new one of that
// name drops.
func TestAMovedSwitchAloneIsDroppedWithItsFabric(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	url := startServer(t, false)
	a := startAgent(t, url, "h1", room(20), v1)
	h := hosts(t, url, 5, nil)
	h.Graph = topologytest.Parse(t, "kary-ntree:2,2")
	require.NoError(t, h.Host(t.Context(), "h1", movedSpec("s0.0", 0, 1)))
	found, err := cluster.Find(t.Context(), h.Agents, v1, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"h1"}, h.Stale(found))
	h.Term = 4
	_, err = h.Drop(t.Context(), h.Stale(found), "over")
	require.ErrorContains(t, err, "another process leads fabric lab")
	h.Term = 6
	dropped, err := h.Drop(t.Context(), h.Stale(found), "over")
	require.NoError(t, err)
	require.Equal(t, []string{"h1"}, dropped)
	require.Equal(t, 1, a.count())
}

// A leader that does not say which switch a moved switch is asks no agent.
func TestAMovedSwitchThatIsNoSwitchIsRefused(t *testing.T) {
	t.Parallel()
	url := startServer(t, false)
	a := startAgent(t, url, "h1", room(20), v1)
	h := hosts(t, url, 5, nil)
	require.ErrorContains(t, h.Host(t.Context(), "h1", movedSpec("s0.0", 0, 1)),
		"switch s0.0 of agent h1: it is not one switch of this fabric")
	h.Graph = topologytest.Parse(t, "kary-ntree:2,2")
	require.ErrorContains(t, h.Host(t.Context(), "h1", movedSpec("s0.9", 99, 1)), "it is not one switch")
	require.Zero(t, a.count())
}
