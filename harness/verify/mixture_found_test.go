package verify_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

func last(n int, _ switching.View) []int { return []int{n - 1} }

// Packets that go along x first never wait in a circle, nor do those that go along y first. While
// some switches do the one and some the other, they do.
func TestTwoOrdersOfDimensionsDeadlockWhileTheOneReplacesTheOther(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:2x2")
	x, y := shortest{g, first}.firmware(), shortest{g, last}.firmware()
	for _, fw := range []switching.Firmware{x, y} {
		assert.True(t, run(t, verify.Config{Graph: g, Firmware: fw}).Pass)
	}
	r := run(t, verify.Config{
		Graph: g, Firmware: x, Name: "x-first", Mixed: &verify.Mixed{Firmware: y, Name: "y-first"},
	})
	assert.False(t, r.Pass)
	assert.Zero(t, r.Unconnected)
	assert.Equal(t, "y-first", r.Mixed)
	assert.EqualValues(t, 1, r.Deadlocks)
	require.NotNil(t, r.Counter)
	assert.Equal(t, verify.Deadlock, r.Counter.What)
	assert.Len(t, r.Counter.Channels, 4)
	assert.Len(t, r.Counter.Routings, 2, "two corners that face each other: %v", r.Counter)
	assert.Contains(t, r.Counter.String(), " runs y-first\n")
}

// mixture is that of two routings by name.
func mixture(t *testing.T, on, a, b string, faults int) verify.Config {
	t.Helper()
	c := config(t, on, a, verify.Links, faults, verify.Before)
	fw, _, err := subnet.Firmware(t.Context(), b, c.Graph)
	require.NoError(t, err)
	c.Mixed = &verify.Mixed{Firmware: fw, Name: b}
	return c
}

func TestADeadlockOfAMixtureIsReplayed(t *testing.T) {
	t.Parallel()
	c := mixture(t, "mesh:3x3", "direction-order", "lash", 0)
	counter := found(t, c)
	assert.Equal(t, verify.Deadlock, counter.What)
	assert.Len(t, counter.Routings, 1, "%v", counter)
	f, err := counter.Scenario(c, "direction-order")
	require.NoError(t, err)
	assert.Equal(t, counter.Routings, f.Routings)
	res, _ := virtually(t, f)
	assert.False(t, res.Pass)
	require.Len(t, res.Failed, 1)
	assert.Contains(t, res.Failed[0], "deadlock")
	f.Routings = nil
	f.Switch.VCs = 0
	res, _ = virtually(t, f)
	assert.True(t, res.Pass, "%v", res.Failed)
}

func TestAPacketOfAMixtureThatIsLostIsReplayed(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		on, a, b string
		faults   int
	}{
		{"torus:4x4", "dimension-order", "direction-order", 0},
		{"kary-ntree:3,2", "adaptive-link", "misroute-vector", 2},
		{"kary-ntree:2,2", "deterministic-link", "source-routed", 1},
	} {
		c := mixture(t, of.on, of.a, of.b, of.faults)
		c.Workers = 1
		counter := found(t, c)
		f, err := counter.Scenario(c, of.a)
		require.NoError(t, err)
		res, hops := virtually(t, f)
		assert.False(t, res.Pass, "%v", counter)
		if counter.What == verify.Unconnected {
			require.Len(t, hops, len(counter.Path), "%v", counter)
		}
		for i, s := range counter.Path {
			assert.Equal(t, s.Rule, hops[i].Rule, "step %d of %v", i, counter)
		}
	}
}

func TestAFirmwareMayReplaceOneThatDiffersInItsVectors(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	c := mixture(t, "kary-ntree:3,3", "adaptive-link", "adaptive-link-digit", testenv.Levels(2, 1, 1))
	r := run(t, c)
	assert.True(t, r.Pass, "%v\n%v", r, r.Counter)
	assert.NotEmpty(t, r.Symmetry)
	c.NoSymmetry = true
	every := run(t, c)
	assert.Equal(t, every.FaultSets, every.Explored)
	assert.Less(t, r.Explored, every.Explored)
	r.Symmetry, r.Explored, r.States, r.Seconds = "", every.Explored, every.States, every.Seconds
	assert.Equal(t, every, r)
}

func TestAMixtureNeedsWhatBothNeed(t *testing.T) {
	t.Parallel()
	c := mixture(t, "kary-ntree:2,2", "adaptive-link", "deterministic-switch", 0)
	assert.Equal(t, 3, run(t, c).VCs)
	c.VCs = 2
	_, err := verify.Run(t.Context(), c)
	require.ErrorIs(t, err, verify.ErrConfig)
	assert.ErrorContains(t, err, "deterministic-switch needs 3 virtual channels")
	c.VCs, c.Subfunction = 3, verify.FaultFreeSubtrees
	_, err = verify.Run(t.Context(), c)
	require.ErrorContains(t, err, "there is none for a mixture")
}
