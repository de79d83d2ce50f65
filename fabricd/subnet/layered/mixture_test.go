package layered_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func TestAMixtureOfOneRoutingHasItsDependencies(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "irregular:16,32,4")
	for name, route := range map[string]func(context.Context, *topology.Graph, layered.Options) (*layered.Routing, error){
		"lash": layered.LASH, "updn": layered.UpDown, "minimal": layered.MinimalHop, "a-lash": layered.ALASH,
		"escape":  layered.EscapePaths,
		"mp-lash": layered.MPLASH, "adaptive": layered.UpDownAdaptive,
	} {
		r, err := route(t.Context(), g, layered.Options{})
		require.NoError(t, err, name)
		want := r.Dependencies(t.Context())
		got := layered.Mixture(nil, nil, r)
		require.Equal(t, want.All(), got.All(), name)
		require.Equal(t, want.Cycle() == nil, got.Acyclic(), name)

		even := func(d weft.NICID) bool { return d%2 == 0 }
		odd := func(d weft.NICID) bool { return d%2 == 1 }
		half := layered.Mixture(nil, even, r)
		before := half.All()
		require.Equal(t, want.All(), layered.Mixture(half, odd, r).All(), name)
		require.Equal(t, before, half.All(), "%s: what it begins with stays", name)
	}
}

// Two routings, each of them free from cycles: round a ring one goes past one switch in no
// direction, one past another.
func TestAMixtureOfTwoRoutingsWithoutCyclesMayHaveOne(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:6")
	a, err := layered.UpDown(t.Context(), g, layered.Options{Root: "s0"})
	require.NoError(t, err)
	b, err := layered.UpDown(t.Context(), g, layered.Options{Root: "s3"})
	require.NoError(t, err)
	assert.True(t, layered.Mixture(nil, nil, a).Acyclic())
	assert.True(t, layered.Mixture(nil, nil, b).Acyclic())
	m := layered.Mixture(nil, nil, a, b)
	assert.False(t, m.Acyclic())
	assert.NotNil(t, m.Cycle())
}
