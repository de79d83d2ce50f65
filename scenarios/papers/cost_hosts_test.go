package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// made is what a run would show whose hosts pay exactly these processor seconds, and use their
// cores up.
func made(r hostsRun, links, crossings float64, within, across hop) hostsResult {
	each := float64(len(r.cores))
	got := hostsResult{hostsRun: r, links: links, crossings: crossings, uneven: 1, ends: 1000, idleMB: 100}
	agent := (links-crossings)*within.agent + crossings*across.agent
	server := (links-crossings)*within.server + crossings*across.server
	got.busy.delivered = float64(len(r.hostCores())) / (agent + server)
	for range r.cores {
		got.busy.agents = append(got.busy.agents, got.busy.delivered*agent/each)
		got.busy.servers = append(got.busy.servers, got.busy.delivered*server/each)
	}
	got.idle = hostsSpent{agents: []float64{0.1}, servers: []float64{0.1}}
	return got
}

func layoutOn(t *testing.T, layout hostsRun, spec string) hostsRun {
	t.Helper()
	r, err := layout.on(spec)
	require.NoError(t, err)
	return r
}

func TestAModelPredictsWhatItWasMadeOf(t *testing.T) {
	within, alone, crowded := hop{3e-6, 1e-6}, hop{8e-6, 4e-6}, hop{16e-6, 9e-6}
	one, apart, together := layoutOn(t, layouts[0], smallFabric), layoutOn(t, layouts[1], smallFabric),
		layoutOn(t, layouts[3], smallFabric)
	oneWay := made(oneWay, 3, 1, within, crowded)
	oneWay.busy.agents, oneWay.busy.servers = []float64{0.2, 0.3}, []float64{0.1, 0.1}
	m, err := fit(made(one, 5, 0, within, hop{}),
		[]hostsResult{made(apart, 5, 0.8, within, alone), made(together, 5, 0.8, within, crowded)}, oneWay)
	require.NoError(t, err)
	for _, r := range []hostsResult{
		made(one, 7, 0, within, hop{}), made(apart, 6, 1.5, within, alone), made(together, 6, 1.5, within, crowded),
		made(apart, 4, 0.1, within, alone),
	} {
		assert.InEpsilon(t, r.busy.delivered, m.delivered(r), 1e-9, r.name)
		assert.InEpsilon(t, (sum(r.busy.agents)+sum(r.busy.servers))/r.busy.delivered, m.packet(r), 1e-9, r.name)
	}
	full := made(apart, 6, 1.5, within, alone)
	full.uneven = 1.25
	assert.InEpsilon(t, full.busy.delivered/1.25, m.delivered(full), 1e-9, "the fullest host bounds the others")
	m.leader = 0.5
	assert.InEpsilon(t, full.busy.delivered/1.25*1.5/2, m.delivered(full), 1e-9, "the leader has its share of the cores")
	assert.InDelta(t, 0.4, m.send, 1e-9)
	text := m.String()
	assert.Contains(t, text, "| link across hosts, agent that sends | 1 | 3.20 | us")
	assert.Contains(t, text, "| link across hosts, server of the receiver | 2 | 4.50 | us")
	assert.Contains(t, text, "| end of a link, idle |  | 200.00 | us")
	assert.Contains(t, text, "| end of a link, memory |  | 100.0 | KB")
	m.leader = 0
	got := made(apart, 6, 1.5, within, alone)
	require.Len(t, got.row(m), len(hostsHeader))
	delivered := strconv.FormatFloat(got.busy.delivered, 'f', 0, 64)
	runs := hostsTable([]hostsResult{got, made(largeRun, 6, 1.5, within, alone)}, m)
	assert.Contains(t, runs, "| 2 hosts, a core each | `kary-ntree:4,3` | 6.00 | 1.50 | "+delivered+" | "+delivered+
		" | 1.00 | 36.0 | 36.0 |")
	assert.NotContains(t, runs, largeRun.topology, "which is not saturated")
}

func TestNoModelIsMadeOfRunsThatSayNothing(t *testing.T) {
	good := made(layoutOn(t, layouts[0], smallFabric), 5, 0, hop{1e-6, 1e-6}, hop{})
	two := made(layoutOn(t, layouts[1], smallFabric), 5, 1, hop{1e-6, 1e-6}, hop{1e-6, 1e-6})
	for _, bad := range []hostsResult{
		{hostsRun: layouts[1]},
		made(layoutOn(t, layouts[1], smallFabric), 5, 0, hop{1e-6, 1e-6}, hop{}),
	} {
		_, err := fit(good, []hostsResult{bad}, two)
		require.ErrorContains(t, err, "2 hosts, a core each")
	}
}

// Of one way the first host sends: the NIC that all send to is at the other switch.
func TestTheFirstHostOfOneWaySends(t *testing.T) {
	g := topologytest.Parse(t, oneWay.topology)
	p, err := placement.Place(g,
		[]placement.Agent{{Name: "h1", Ports: 1000, Cores: 1}, {Name: "h2", Ports: 1000, Cores: 1}})
	require.NoError(t, err)
	require.Equal(t, "h1", p.Hosts[0].Agent)
	require.Equal(t, []weft.SwitchID{1}, p.Hosts[0].Switches)
	require.Contains(t, oneWay.traffic, "to=0")
}

func TestAProcessIsReadAndItsLogKept(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	p := &process{cmd: &exec.Cmd{Process: self}, log: new(tail)}
	assert.Greater(t, resident(os.Getpid()), 1.0)
	before := processCPU(p)
	for x := 0; processCPU(p) == before; x++ {
	}
	_, err = p.log.Write([]byte(strings.Repeat("x", 5000) + "end"))
	require.NoError(t, err)
	assert.Len(t, p.log.String(), 4096)
	assert.True(t, strings.HasSuffix(p.log.String(), "end"))
}

func TestASiteThatCannotStartIsNamedAndLeavesNothing(t *testing.T) {
	m := measurer{bin: filepath.Join(t.TempDir(), "nothing")}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.measure(ctx, layoutOn(t, layouts[0], "mesh:2"))
	require.ErrorContains(t, err, "mesh:2, 1 host, 1 core: server h1")
	require.ErrorIs(t, until(ctx, startTime, func() error { return errNever }), errNever)
}

var errNever = errors.New("never")
