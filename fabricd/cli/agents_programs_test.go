//go:build linux

package cli_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// The leader tells what programs do on the NICs of all hosts.
func TestTheLeaderTellsOfProgramsOnAllAgents(t *testing.T) {
	testenv.Raced(t)
	testenv.Long(t)
	curl := testenv.Need(t, "curl", "curl")
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		testenv.Missing(t, "programs need a network: %v", err)
	}
	ownRegistry(t)
	url := keepingServer(t)
	for _, name := range []string{"h1", "h2"} {
		startAgent(t, url, name, "--memory", "128MiB", "--cores", "1")
	}
	up := begin(t, "up", "--listen", "off", "--fabric", "lab", "--server", url, "--agents", "all", "--topology",
		"kary-ntree:2,2",
		"--traffic", "none")
	up.out.Await(t, "Ctrl-C drains")
	e, err := registry.Find("lab")
	require.NoError(t, err)
	c, err := api.Dial(e, "test", false)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()

	var open []*namespace.Namespace
	for _, nic := range []string{"n00", "n11"} { // one on each host
		n, err := namespace.Open(t.Context(), namespace.Options{Fabric: "lab", NIC: nic})
		if err != nil {
			testenv.Missing(t, "programs need a network: %v", err)
		}
		open = append(open, n)
		require.NoError(t, n.Tell("tells", "steps/s", 2.5))
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { _ = null.Close() }()
	code, err := open[0].Run(namespace.Command{
		Args: []string{curl, "--max-time", "20", "http://n11/"}, Env: os.Environ(), Dir: "/",
		Files: [3]*os.File{null, null, null},
	}, nil)
	require.NoError(t, err)
	require.Equal(t, 7, code, "nobody listens there")
	var p api.Programs
	rig.Until(t, func() bool {
		p, err = c.Programs(t.Context())
		require.NoError(t, err)
		return len(p.NICs) == 2 && len(p.Rates) == 2 && len(p.Connections) > 0
	}, "%+v", &p)
	require.Empty(t, p.Silent)
	require.Equal(t, "n00", p.NICs[0].NIC)
	require.Equal(t, "n11", p.NICs[1].NIC)
	require.Positive(t, p.NICs[0].Out)
	require.Positive(t, p.NICs[1].In)
	require.InDelta(t, p.At, p.Rates[0].Points[0].At, rig.Patience.Seconds())
	require.Equal(t, 2.5, p.Rates[1].Points[0].Value)
	require.Equal(t, "n00", p.Connections[0].A.NIC)
	require.Regexp(t, `^(10\.64\.0\.4|\[fd77:6566:74::4\]):80$`, p.Connections[0].B.Address)
	require.True(t, p.Connections[0].Ended)
	for _, n := range open {
		require.NoError(t, n.Close())
	}
	up.end(t)
}
