package measure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

func TestADeadlockIsFoundWithItsCycle(t *testing.T) {
	t.Parallel()
	r := measured(t, around(t))
	require.True(t, r.Deadlocked)
	require.Positive(t, r.DeadlockAt)
	require.Equal(t, r.Cycles, r.DeadlockAt)
	require.Equal(t, "s0 -> s1 vc0, s1 -> s2 vc0, s2 -> s3 vc0, s3 -> s0 vc0", r.Cycle)

	quiet := around(t)
	quiet.Traffic.Load = 0.05
	r = measured(t, quiet)
	require.False(t, r.Deadlocked)
	require.EqualValues(t, -1, r.DeadlockAt)
	require.Empty(t, r.Cycle)
}

// The paper's two layers are what keeps deterministic re-routing from deadlock: the same faults, traffic and decisions.
func TestDeterministicReroutingDeadlocksWithoutItsSecondLayer(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(4) {
		c := config(t, "kary-ntree:3,3", "deterministic-link-flat", 1)
		c.FaultCount, c.Seed, c.Hunt, c.MostCycles, c.FaultSpacing, c.Warmup.Skip = 6, seed, true, 6000, 100, true
		if r := measured(t, c); r.Deadlocked {
			found++
			require.NotEmpty(t, r.Cycle)
		}
		c.Routing = "deterministic-link"
		r := measured(t, c)
		require.False(t, r.Deadlocked)
		require.EqualValues(t, 6000, r.Cycles)
		require.Positive(t, r.Accepted)
	}
	require.Positive(t, found)
}

// withTimer is a firmware with a register that is never used.
type withTimer struct {
	clockwise
	expire weft.Time
}

func (w withTimer) Registers(*weft.Place) []switching.Register {
	return []switching.Register{{Name: "unused", Width: 1, Expire: w.expire}}
}

// A timer could free the packets, so that they count only when they have outlived it, or when it could not run out any more.
func TestPacketsThatATimerMayFreeAreNoDeadlockYet(t *testing.T) {
	t.Parallel()
	at := measured(t, around(t)).DeadlockAt
	c := around(t)
	c.Firmware = withTimer{clockwise{c.Topology}, 5000 * cycle}
	c.Warmup.Most = 20_000
	r := measured(t, c)
	require.True(t, r.Deadlocked)
	require.Greater(t, r.DeadlockAt, at+5000)
	require.LessOrEqual(t, r.DeadlockAt, at+6000)

	c.Firmware = withTimer{clockwise{c.Topology}, 1_000_000 * cycle}
	require.Equal(t, at, measured(t, c).DeadlockAt, "the run is over long before")
	c.RegisterExpire = 3000
	require.Greater(t, measured(t, c).DeadlockAt, at+3000)
	c.RegisterExpire = NeverExpire
	require.Equal(t, at, measured(t, c).DeadlockAt)
}
