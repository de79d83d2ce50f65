package measure

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// grid is a torus with links that are dead before the first packet.
func grid(t testing.TB, spec, routing string, faults int) Config {
	c := config(t, spec, routing, 0.2)
	c.FaultCount, c.FaultsBefore, c.Window, c.Switch.EagerCredits = faults, true, 500, true
	c.Warmup.Batch, c.Warmup.Batches = 250, 2
	return c
}

func TestARoutingThatIsToldWhatIsDeadGoesAroundIt(t *testing.T) {
	t.Parallel()
	r := measured(t, grid(t, "torus:4x4", "duato:mechanisms=I+D", 1))
	require.True(t, r.Connected)
	require.Zero(t, r.Discarded+r.LostTotal, "no packet meets the dead link")
	require.InDelta(t, r.Offered, r.Accepted, 0.05*r.Offered)

	plain := measured(t, grid(t, "torus:4x4", "duato", 1))
	require.False(t, plain.Connected)
	require.Positive(t, plain.Discarded, "one that is not told discards what cannot escape")
}

// With adaptive routing off alone not even one fault is tolerated (table 2): the pairs whose one
// way has it are discarded by their first switch.
func TestPairsWithoutAWayAreNotConnected(t *testing.T) {
	t.Parallel()
	r := measured(t, grid(t, "torus:4x4", "duato:mechanisms=D", 1))
	require.False(t, r.Connected)
	require.Positive(t, r.Discarded)
	require.Positive(t, r.Accepted)
}

func TestWaysAreComputedAnewForFaultsUnderLoad(t *testing.T) {
	t.Parallel()
	c := grid(t, "torus:4x4", "duato:mechanisms=I+D", 2)
	c.FaultsBefore = false
	at := measured(t, c)
	require.True(t, at.Connected)
	c.ReconfigureAfter = 400
	late := measured(t, c)
	require.True(t, late.Connected)
	require.Greater(t, late.Discarded+late.LostTotal, at.Discarded+at.LostTotal,
		"packets that meet a dead link until then")
	require.InDelta(t, late.Offered, late.Accepted, 0.05*late.Offered, "and none in the window, with new ways")
}

func TestADeadNICLinkIsNotConnected(t *testing.T) {
	t.Parallel()
	c := grid(t, "torus:3x3", "duato:mechanisms=I+D", 0)
	for _, l := range c.Topology.Links {
		if !l.BetweenSwitches() {
			c.Faults = []Fault{{Link: l.Name, Before: true}}
			break
		}
	}
	require.False(t, measured(t, c).Connected)
}

// What is left of a 4x4x3 torus without a plane is a 4x4x2 or a 4x3x3; the fewest switches are lost
// with a plane of 12.
func TestPlanesWithFaultsAreBypassed(t *testing.T) {
	t.Parallel()
	c := grid(t, "torus:4x4x3", "duato", 1)
	c.BypassPlanes = true
	r := measured(t, c)
	require.True(t, r.Connected)
	require.Equal(t, 1, r.Faults)
	require.Zero(t, r.Discarded+r.LostTotal)
	left := measured(t, grid(t, "torus:3x4x3", "duato", 0))
	require.InDelta(t, left.Accepted, r.Accepted, 0.05*left.Accepted)

	c.FaultsBefore = false
	_, err := Run(t.Context(), c)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "before")
	tree := config(t, "kary-ntree:2,2", "deterministic-link", 0.2)
	tree.BypassPlanes = true
	_, err = Run(t.Context(), tree)
	require.ErrorIs(t, err, ErrConfig)
}

func TestNothingLeftOfATorusDeliversNothing(t *testing.T) {
	t.Parallel()
	c := grid(t, "mesh:2x2", "duato", 4)
	c.BypassPlanes = true
	r := measured(t, c)
	require.Zero(t, r.Accepted)
	require.False(t, r.Connected)
	require.Equal(t, 4, r.Faults)
}

// Whenever a run is interrupted, also while it computes what the switches forward by, it ends with
// the error of its context, which is not that of a configuration.
func TestARunThatIsInterruptedAnywhereEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{
		grid(t, "torus:4x4", "duato:mechanisms=I+D", 1),
		config(t, "kary-ntree:2,3", DDRC, 0.3),
	} {
		c.FaultsBefore, c.FaultCount, c.MostCycles = false, 1, 3000
		ctx := testenv.NewInterrupted(t.Context(), 0)
		_, err := Run(ctx, c)
		require.NoError(t, err)
		all := ctx.Asked()
		for n := 1; n <= all; n += 1 + all/testenv.Levels(100, 15, 4) {
			_, err := Run(testenv.NewInterrupted(t.Context(), n), c)
			require.ErrorIs(t, err, context.Canceled, "%s, %d of %d", c.Routing, n, all)
			require.NotErrorIs(t, err, ErrConfig, "%s, %d of %d", c.Routing, n, all)
		}
	}
}
