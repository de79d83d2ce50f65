package measure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
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

// The paper's two layers are what keeps deterministic re-routing from deadlock: the same faults,
// traffic and decisions.
func TestDeterministicReroutingDeadlocksWithoutItsSecondLayer(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	found := 0
	for seed := range uint64(testenv.Levels(4, 2, 2)) {
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

// A hunt that stops when it is safe finds what one to the end finds.
func TestAHuntThatStopsWhenSafeMissesNoDeadlock(t *testing.T) {
	t.Parallel()
	safe, deadlocks := 0, 0
	for _, waiting := range []string{"all", "one"} {
		for seed := range uint64(testenv.Levels(12, 6, 6)) {
			c := config(t, "kary-ntree:3,3", "adaptive-link", 1)
			c.FaultCount, c.Seed, c.Switch.Waiting, c.Switch.EagerCredits, c.FaultSpacing = 4, seed, waiting, false, 100
			c.Hunt, c.MostCycles, c.Warmup.Skip, c.CrossbarDelay, c.WireDelay = true, 4000, true, cycle, cycle
			long := measured(t, c)
			c.StopWhenSafe = true
			short := measured(t, c)
			require.Equal(t, []any{long.Deadlocked, long.DeadlockAt, long.Cycle, long.Connected},
				[]any{short.Deadlocked, short.DeadlockAt, short.Cycle, short.Connected})
			require.Equal(t, short.Acyclic, short.Cycles < long.Cycles, "seed %d, waiting for %s", seed, waiting)
			if short.Acyclic {
				require.Greater(t, short.Cycles, short.WarmupCycles, "packets of before the last fault are waited for")
				safe++
			} else if short.Deadlocked {
				deadlocks++
			}
		}
	}
	require.Positive(t, safe)
	require.Positive(t, deadlocks)
}

// The checker cannot say what is safe where the firmware knows what is dead, or has registers that
// may keep what was written with fewer faults.
func TestAHuntGoesToItsEndWhereTheCheckerDoesNotKnow(t *testing.T) {
	t.Parallel()
	fw, ok := firmware.ByName("deterministic-link")
	require.True(t, ok)
	hunted := func(c Config) Result {
		c.FaultCount, c.FaultSpacing, c.Hunt, c.StopWhenSafe, c.MostCycles, c.Warmup.Skip = 1, 100, true, true, 3000, true
		return measured(t, c)
	}
	c := config(t, "kary-ntree:2,2", "", 0.3)
	c.Firmware = fw
	require.Less(t, hunted(c).Cycles, int64(3000))
	c.Firmware.Registers = func(*weft.Place) []switching.Register {
		return []switching.Register{{Name: "unused", Width: 1}}
	}
	require.EqualValues(t, 3000, hunted(c).Cycles)
	require.EqualValues(t, 3000, hunted(config(t, "kary-ntree:2,2", DDRC, 0.3)).Cycles)
}

// What is left in the network of the time before a fault may still deadlock, safe as the rest may be.
func TestAHuntWaitsForPacketsOfBeforeTheLastFault(t *testing.T) {
	t.Parallel()
	n := newNetwork(config(t, "kary-ntree:2,2", "adaptive-link", 1).Filled())
	m := n.meters[0]
	var early, late, again weft.Header
	m.enter(10, &early)
	n.meters.mark(20)
	m.enter(20, &late)
	m.enter(21, &again)
	require.Equal(t, 2, n.meters.marked())
	m.deliver(30, &again)
	require.Equal(t, 2, n.meters.marked())
	m.deliver(31, &early)
	m.loseWire(&weft.Frame{Packets: []weft.Header{late}})
	require.Zero(t, n.meters.marked())
}

// once is a firmware whose register is written by the first packet, and again when it has run out.
// It says nothing.
func once(g *topology.Graph, expire weft.Time) switching.Firmware {
	fw := withTimer(g, expire)
	on := fw.Route
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := on(pkt, at, sw)
		d.Write = switching.RegisterWrite{Do: sw.Register(0) == 0, Value: 1}
		return d
	}
	return fw
}

// A timer that runs may free them before the run ends, even if one that was set now could not.
func TestATimerThatRunsIsWaitedFor(t *testing.T) {
	t.Parallel()
	at := measured(t, around(t)).DeadlockAt
	c := around(t)
	timer := at + 600
	c.Firmware = once(c.Topology, weft.Time(timer)*cycle)
	c.MostCycles = int(at + 1500)
	r := measured(t, c)
	require.True(t, r.Deadlocked)
	require.Greater(t, r.DeadlockAt, timer)
}

// Packets that a timer has freed are gone when others wait in their place: time counts anew for
// these.
func TestOnePairOfWaitingPacketsAfterAnotherIsNoDeadlock(t *testing.T) {
	t.Parallel()
	l := &lookout{longest: 10, shortest: 10, ends: 1000}
	a, b := []switching.Channel{{Switch: 1}, {Switch: 2}}, []switching.Channel{{Switch: 3}, {Switch: 2}}
	require.False(t, l.certain(100, a, []uint64{5, 5}, 110))
	require.False(t, l.certain(111, a, []uint64{6, 5}, 120), "one of them has sent")
	require.False(t, l.certain(122, b, []uint64{6, 5}, 130), "they are others")
	require.False(t, l.certain(132, b, []uint64{6, 5}, 140))
	require.False(t, l.certain(133, nil, nil, weft.Never))
	require.False(t, l.certain(134, b, []uint64{6, 5}, 140))
	require.False(t, l.certain(144, b, []uint64{6, 5}, 150))
	require.True(t, l.certain(145, b, []uint64{6, 5}, 150))
	require.False(t, l.certain(991, a, []uint64{5, 5}, 995), "one runs out before the end")
	require.True(t, l.certain(991, a, []uint64{5, 5}, 1001))
	require.False(t, l.certain(990, b, []uint64{5, 5}, 1001), "one may be set and run out before the end")
}

// withTimer is a firmware with a register that is never used.
func withTimer(g *topology.Graph, expire weft.Time) switching.Firmware {
	fw := clockwise(g)
	fw.Registers = func(*weft.Place) []switching.Register {
		return []switching.Register{{Name: "unused", Width: 1, Expire: expire}}
	}
	return fw
}

// A timer could free the packets, so that they count only when they have outlived it, or when it
// could not run out any more.
func TestPacketsThatATimerMayFreeAreNoDeadlockYet(t *testing.T) {
	t.Parallel()
	at := measured(t, around(t)).DeadlockAt
	c := around(t)
	c.Firmware = withTimer(c.Topology, 5000*cycle)
	c.Warmup.Most = 20_000
	r := measured(t, c)
	require.True(t, r.Deadlocked)
	require.Greater(t, r.DeadlockAt, at+5000)
	require.LessOrEqual(t, r.DeadlockAt, at+6000)

	c.Firmware = withTimer(c.Topology, 1_000_000*cycle)
	require.Equal(t, at, measured(t, c).DeadlockAt, "the run is over long before")
	c.RegisterExpire = 3000
	require.Greater(t, measured(t, c).DeadlockAt, at+3000)
	c.RegisterExpire = NeverExpire
	require.Equal(t, at, measured(t, c).DeadlockAt)
}
