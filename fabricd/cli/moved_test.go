package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

// An agent says that it runs a switch of another host, and runs it no longer than somebody asks for
// it.
func TestAMovedSwitchThatNobodyAsksEndsByItself(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	url := keepingServer(t)
	h1 := startAgent(t, url, "h1", "--memory", "128MiB")
	g := topologytest.Parse(t, "kary-ntree:2,2")
	id, err := g.SwitchByName("s1.0")
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, g.WriteYAML(&text))
	packed, err := wire.Compress(text.Bytes())
	require.NoError(t, err)
	hosts := cluster.Hosts{
		Agents: bustest.Client(t, bus.ClientConfig{Leads: true, URL: url, Program: "test", Build: command.ThisVersion()}),
		Fabric: "lab", Graph: g,
	}
	require.NoError(t, hosts.Host(t.Context(), "h1", host.Spec{
		Fabric: "lab", Host: "s1.0", Number: 1, Topology: packed, Routing: "deterministic-link",
		Placement: host.Placement{Host: "s1.0", Switches: host.Spans([]weft.SwitchID{id}), Shards: 1, Shared: true},
		Switch:    settings.Switch{VCs: 2, InputBuffer: 2, OutputBuffer: 2},
		Link:      settings.Link{Rate: 256_000}, Inbox: 64,
	}))
	list, _, code := fabricd(t, "agents", "--server", url)
	require.Zero(t, code)
	require.Regexp(t,
		`^h1 .*, 128 MiB, room for 2044 of 2048 ports; runs switch s1\.0 of fabric lab \(1 switches, 4 ports\)\n$`, list)
	h1.out.Await(t, "runs switch s1.0 of fabric lab: 1 switches, 4 ports")
	h1.out.Await(t,
		"switch s1.0 of fabric lab has ended: host s1.0 of fabric lab: nobody asks it anything any more: 10 s have passed")
	list, _, code = fabricd(t, "agents", "--server", url)
	require.Zero(t, code)
	require.Regexp(t, `^h1 .*, 128 MiB, room for 2048 of 2048 ports; runs nothing\n$`, list)
}

// A switch moves between the agents of a fabric, on the operator's word, and packets flow through
// it.
func TestASwitchMovesBetweenAgents(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	url := keepingServer(t)
	h1 := startAgent(t, url, "h1", "--memory", "128MiB")
	h2 := startAgent(t, url, "h2", "--memory", "128MiB")
	up := registered(t, begin(t, "up", "--listen", "off", "--fabric", "lab", "--server", url, "--agents", "h1,h2",
		"--topology", "kary-ntree:2,2", "--traffic", "uniform:0.2",
		"--hello-interval", "0")) // a busy machine looks like silence
	delivers(t, up.running)
	c := up.operator(t)
	s, err := c.Status(t.Context())
	require.NoError(t, err)
	home, other, agent := "h1", "h2", h2
	if m, err := c.Move(t.Context(), "s1.0", "h1"); err != nil || m.Changed {
		require.NoError(t, err)
		home, other, agent = "h2", "h1", h1
	} else {
		m, err = c.Move(t.Context(), "s1.0", other)
		require.NoError(t, err)
		require.True(t, m.Changed, "%+v", m)
	}
	agent.out.Await(t, "runs switch s1.0 of fabric lab: 1 switches, 4 ports")
	rig.Until(t, func() bool {
		now, err := c.Status(t.Context())
		return err == nil && now.Totals.Delivered > s.Totals.Delivered+200
	})
	m, err := c.Move(t.Context(), "s1.0", "")
	require.NoError(t, err)
	require.Equal(t, []string{other, home}, []string{m.From, m.To})
	agent.out.Await(t, "switch s1.0 of fabric lab has ended")
	text := up.end(t)
	// A machine that stands still looks like a dead switch, and costs packets.
	if !strings.Contains(text, "does not answer") {
		require.Regexp(t, `(?m)^ledger: \d+ injected = \d+ delivered \+ 0 lost \+ \d+ discarded \+ 0 in flight: balanced$`,
			text)
	}
}
