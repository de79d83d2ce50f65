package reroute_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/subnet/reroute"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func query(t *testing.T, spec string) *reroute.Query {
	t.Helper()
	m, err := manage.Parse("dqr:plugin=mesh")
	require.NoError(t, err)
	q, err := reroute.NewQuery(t.Context(), topologytest.Parse(t, spec), "xy", m, reroute.Options{VCs: weft.MaxVCs})
	require.NoError(t, err)
	return q
}

// Each link alone is the same question as all draws of one link: 2 x 3 x 4 links.
func TestEachLinkIsTriedAlone(t *testing.T) {
	t.Parallel()
	var told []int
	r, err := query(t, "mesh:4x4").Each(t.Context(), nil, func(done, of int) { told = append(told, done, of) })
	require.NoError(t, err)
	assert.True(t, r.Holds())
	assert.Equal(t, 24, r.Runs)
	assert.Equal(t, []int{24, 24}, told[len(told)-2:])
	assert.InDelta(t, 1.0/9, r.ByFaults[0].Moved, 1e-12, "1/(3(n-1))")
}

func TestAQueryOfFaultsThatAreNotThereIsRefused(t *testing.T) {
	t.Parallel()
	_, err := query(t, "mesh:2x2").Random(t.Context(), nil, 1, 5, 1, func(int, int) {})
	require.ErrorContains(t, err, "mesh:2x2 has 4 links between switches")
	_, err = reroute.Between(topologytest.Parse(t, "mesh:2x2"), "n0.0", "n9.9")
	require.ErrorContains(t, err, `"n9.9"`)
}

func TestAnInterruptedQueryEnds(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	runs := 0
	_, err := query(t, "mesh:4x4").Random(ctx, nil, 1_000_000, 1, 1, func(done, _ int) {
		runs = done
		interrupt()
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.LessOrEqual(t, runs, 2, "one may have begun")
	_, err = query(t, "mesh:4x4").Given(ctx, []reroute.Fault{{Name: "s0.0-s0.1"}}, nil)
	require.ErrorIs(t, err, context.Canceled)
}
