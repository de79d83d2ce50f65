package opensm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// The real torus-2QoS moves packets between lanes on their way. Its tables have no cycle, and dqr,
// which would lose these packets, refuses them by name.
func TestTablesOfTheRealTorus2QoSAreReadAndLeftAlone(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	g := topologytest.Parse(t, "torus:5x5")
	sim, ctx := simulate(t, g)
	guid := func(name string) any {
		s, err := g.SwitchByName(name)
		require.NoError(t, err)
		return g.Identity(s.Node()).GUID
	}
	config := filepath.Join(t.TempDir(), "torus.conf")
	text := fmt.Sprintf("torus 5 5 1\nxp_link %v %v\nyp_link %v %v\n", guid("s0.0"), guid("s1.0"), guid("s0.0"),
		guid("s0.1"))
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	options := []string{"--torus_config", config}
	result, err := sim.Route(ctx, "torus-2QoS", options...)
	require.NoError(t, err)
	lids, err := opensm.AssignLIDs(g, 0, 0)
	require.NoError(t, err)
	levels, err := sim.PathSLs(ctx, "torus-2QoS", func(n weft.NICID) int { first, _ := lids.Of(n.Node()); return first },
		options...)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "path-sl")
	require.NoError(t, os.WriteFile(file, []byte(levels), 0o600))

	spec := result.File("opensm-lfts.dump") + ",sl2vl=" + result.File("opensm-sl2vl.dump") + ",path-sl=" + file
	r, err := opensm.Open(t.Context(), g, spec)
	require.NoError(t, err)
	assert.Greater(t, r.Layers, 1)
	assert.Zero(t, r.Unroutable)
	assert.Nil(t, r.Dependencies(t.Context()).Cycle())

	chosen, why := manage.For(t.Context(), "tables:"+spec, g)
	assert.Equal(t, manage.None, chosen.String())
	require.ErrorContains(t, why, "moves packets for")
	_, err = manage.New(t.Context(), g, "tables:"+spec, manage.Method{Kind: manage.DQR}, r.Layers)
	require.ErrorContains(t, err, "method dqr: reconfiguration of tables:")
}
