package lead_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/lead"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ownRegistry(t *testing.T) { t.Setenv("WEFT_RUN_DIR", filepath.Join(t.TempDir(), "run")) }

func TestAProgramStartsWhatFabricdUpDoesAndEndsIt(t *testing.T) {
	ownRegistry(t)
	ended := make(chan lead.Result, 1)
	c := lead.Config{
		Name: "lab", Settings: settings.Settings{Topology: "kary-ntree:2,2", Traffic: "uniform:0.05"},
		Listen: "127.0.0.1:0", Page: lead.Page{Listen: "127.0.0.1:0"},
		Observer: lead.Observer{Ended: func(r lead.Result) { ended <- r }},
	}
	l, err := lead.Start(t.Context(), c)
	require.NoError(t, err)
	up := l.Term()
	require.Equal(t, "adaptive-link", up.Settings.Routing, "it is chosen for the topology")
	require.NotEmpty(t, up.Page)
	_, err = lead.Start(t.Context(), c)
	require.ErrorIs(t, err, registry.ErrRunning)

	e, err := registry.Find("lab")
	require.NoError(t, err)
	client, err := api.Dial(e, "test", false)
	require.NoError(t, err)
	status, err := client.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, up.Fabric.Topology().Spec, status.Topology)
	require.NoError(t, client.Close())
	rig.Until(t, func() bool { return up.Fabric.Totals().Delivered > 0 })

	require.NoError(t, l.Close())
	r := <-ended
	require.True(t, r.Ledger.Balanced)
	require.Positive(t, r.Ledger.Delivered)
	require.NoError(t, l.Wait(), "again")
	require.Empty(t, registry.Names())
}

func TestSettingsThatDoNotFitAreAllNamed(t *testing.T) {
	ownRegistry(t)
	_, err := lead.Start(t.Context(), lead.Config{
		Name: "lab", Settings: settings.Settings{Topology: "ring:4", Routing: "adaptive-lnk", Traffic: "unifrm:0.1"},
	})
	var wrong *lead.MistakesError
	require.ErrorAs(t, err, &wrong)
	require.Len(t, wrong.List, 2)
	require.ErrorContains(t, err, "adaptive-link")
	require.ErrorContains(t, err, "uniform")
	require.Empty(t, registry.Names())
}

// agent runs an agent until the test ends.
func agent(t *testing.T, url string, build bus.Build) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var said rig.Output
	ended := make(chan error, 1)
	go func() {
		ended <- cluster.RunAgent(ctx, cluster.AgentConfig{
			Name: "h1", URL: url, Version: build, Room: cluster.Room{Ports: 1000, Switches: 100, Cores: 2},
			Run: func(ctx context.Context, c host.Spec, ready func()) error {
				return remote.Run(ctx, remote.Config{Spec: c, URL: url, Ready: ready})
			},
			Note: func(text string) { fmt.Fprintln(&said, text) },
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	said.Await(t, "room for")
}

func TestWhatOneLeaderLeavesOnAgentsAnotherResumes(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	at := bus.Resolved{URL: natstest.Start(t, natstest.Newest,
		fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir())).URL}
	build := bus.Build{Protocol: bus.Protocol, Revision: "test"}
	agent(t, at.URL, build)
	c := lead.Config{
		Name: "lab", Build: build, Server: at, OnAgents: true, Detach: true, Drain: time.Minute,
		Settings: settings.Settings{Topology: "kary-ntree:2,2", Routing: "updown", Traffic: "uniform:0.05"},
	}
	l, err := lead.Start(t.Context(), c)
	require.NoError(t, err)
	first := l.Term()
	require.Len(t, first.Placement.Hosts, 1)
	rig.Until(t, func() bool { return first.Fabric.Totals().Delivered > 0 })
	require.ErrorIs(t, l.Close(), lead.ErrLeft)

	c.Settings.Topology = "ring:4"
	_, err = lead.Start(t.Context(), c)
	require.ErrorContains(t, err, "runs on agents already, and is kary-ntree:2,2")

	var existing settings.Settings
	c.OnAgents, c.Detach, c.Settings = false, false, settings.Settings{}
	c.Existing = func(is settings.Settings) { existing = is }
	l, err = lead.Start(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, first.Settings, existing)
	require.Equal(t, first.Settings, l.Term().Settings)
	require.GreaterOrEqual(t, l.Term().Fabric.Totals().Delivered, first.Fabric.Totals().Delivered)
	require.NoError(t, l.Close())
}
