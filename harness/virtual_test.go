package harness_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
)

// long is longer than any test here may take on the wall, and passes in some tens of milliseconds;
// with the race detector, on a busy machine, in some seconds.
const long = 5 * time.Minute

func TestInVirtualTimeMinutesPassAtOnce(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	h := harness.New(t, tree, harness.Virtual(), harness.NoLiveness())
	h.Pause(long)
	require.GreaterOrEqual(t, h.Fabric().Now(), weft.FromDuration(long))
	h.RequireDelivered(h.Send("n000", "n111"))
	h.RequireLedger()
}

func TestEveryCallOfTheHarnessWorksInVirtualTime(t *testing.T) {
	t.Parallel()
	h := harness.New(t, tree, harness.Virtual(), harness.Seed(1), harness.Traffic("uniform:0.5"), harness.TraceEvery(1),
		harness.Liveness(10*time.Millisecond, 3),
		harness.Damping(settings.Damping{HalfLife: "50ms", Suppress: 4, Reuse: 1, Max: "200ms"}))
	h.Pause(20 * time.Millisecond)

	h.Cut("s0.00", "s1.00")
	h.RequireDelivered(h.Send("n100", "n000"))
	h.Restore("s0.00", "s1.00")

	r := h.CutSilently("s0.01", "s1.01", harness.OneWay)
	began := h.Fabric().Now()
	r = h.AwaitSeen(r, 2)
	// The one that hears nothing says so after three intervals, and the other hears that at once.
	assert.InDelta(t, 0.03, r.SeenAfter, 0.0101, "the first hello missed was due within an interval")
	assert.InDelta(t, 30, (h.Fabric().Now()-began).Duration().Seconds()*1000, 12)
	h.Restore("s0.01", "s1.01")

	h.Flap("s1.10", "s2.10", fault.Flap{Period: fault.Duration(4 * time.Millisecond), Count: 2})
	h.Eventually(func() error {
		for _, f := range h.Faults() {
			if f.Kind == string(fault.VerbFlap) && f.RestoredAt > 0 {
				return nil
			}
		}
		return assert.AnError
	})
	h.Impair("s1.11", "s2.11", fault.Impair{Delay: new(fault.Duration(2 * time.Millisecond))},
		harness.For(10*time.Millisecond))
	require.Equal(t, []string{"s1.11-s2.11"}, h.Fabric().ImpairedLinks())
	h.Pause(10 * time.Millisecond)
	require.Empty(t, h.Fabric().ImpairedLinks(), "it has ended to the instant")

	h.Crash("s0.11")
	h.Pause(5 * time.Millisecond)
	h.Restart("s0.11")
	h.Apply(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"}, fault.Spec{Do: fault.VerbCrash, A: "s0.10"})
	require.ElementsMatch(t, []string{"s0.00-s1.00", "s0.10"}, h.Heal())

	h.SetTraffic("pairwise:0.3")
	h.Pause(10 * time.Millisecond)
	l := h.RequireLedger()
	require.Positive(t, l.Delivered)
	require.Len(t, h.Faults(), 7)
	require.NotEmpty(t, h.Paths())
	require.NoError(t, h.Fabric().LossesExplained())
}

func TestADeadlockInVirtualTimeIsNamedWhileOthersMove(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:4", harness.Virtual(), routed("clockwise", clockwise), harness.Buffers(1, 1),
		harness.Traffic("uniform:1"), harness.Links(settings.Link{Rate: 256_000, Paced: true}))
	h.Eventually(func() error {
		if len(h.Fabric().Deadlock()) == 0 {
			return assert.AnError
		}
		return nil
	})
	found := h.Fabric().Now()
	cycle := h.Fabric().Deadlock()
	require.Len(t, cycle, 4)
	stuck := h.QuiesceStuck()
	require.ElementsMatch(t, cycle, stuck.Cycle, "once exact, always exact")
	require.Less(t, found, h.Fabric().Now())
}

func TestAPacketThatIsLostInVirtualTimeIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, tree, harness.Virtual(), harness.Patience(long), harness.Links(settings.Link{Delay: "1s"}),
			harness.NoLiveness())
		p := h.Send("n000", "n111")
		h.Pause(time.Second / 2)
		h.Cut("n000", "s2.00")
		h.RequireDelivered(p)
	})
	require.True(t, failed)
	require.Contains(t, text, "packet n000 -> n111 #0: lost on the wire")
}

func TestVirtualTimeHasNoBroker(t *testing.T) {
	t.Parallel()
	text, failed := failing(t, "TestMine", func(t testing.TB) { harness.New(t, tree, harness.Virtual(), live.OverNATS()) })
	require.True(t, failed)
	require.Contains(t, text, "harness: Virtual with OverNATS: a broker lives by the clock on the wall")
}

func TestPatienceInVirtualTimeIsVirtual(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, "ring:4", harness.Virtual(), routed("waitsForPort1", waitsForPort1), harness.Patience(long))
		h.Cut("s0", "s1")
		h.RequireDelivered(h.Send("n0", "n1"))
	})
	require.True(t, failed)
	require.Contains(t, text, "packet is still in flight after 5m0s")
}

// A harness that waits for what cannot come says so when its patience ends, however long that is.
// A machine that carries little takes longer than anybody's patience to carry what has gathered;
// what becomes less is not stuck.
func TestAFabricThatTakesItsTimeIsDrained(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	h := harness.New(t, tree, harness.Virtual(), harness.Patience(50*time.Millisecond),
		harness.Links(settings.Link{Rate: 256_000, Paced: true}))
	for range 400 { // a thousand go over a link in a second
		h.Send("n000", "n111")
	}
	began := h.Fabric().Now()
	require.EqualValues(t, 400, h.RequireLedger().Delivered)
	require.Greater(t, h.Fabric().Now()-began, 300*weft.Millisecond)
}

func TestWaitingInVirtualTimeEndsWithWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	text, failed := failing(t, "TestMine", func(t testing.TB) {
		h := harness.New(t, tree, harness.Virtual(), harness.NoLiveness(), harness.Patience(long))
		h.Eventually(func() error { return errors.New("no link is down") })
	})
	require.True(t, failed)
	require.Contains(t, text, "not yet after 5m0s: no link is down")
}

func TestSeedsRunEverySeedOnceAndTheSameEachTime(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	seeds := testenv.Levels(20, 4, 4)
	all := func() map[uint64]uint64 {
		var mu sync.Mutex
		hashes := map[uint64]uint64{}
		t.Run("all", func(t *testing.T) {
			harness.Seeds(t, seeds, tree, func(h *harness.Harness) {
				cutUnderTraffic(h)
				hash, ok := h.Fabric().Hash()
				require.True(h.T(), ok)
				mu.Lock()
				defer mu.Unlock()
				require.NotContains(h.T(), hashes, h.Seed())
				hashes[h.Seed()] = hash
			}, harness.Traffic("uniform:0.5"))
		})
		return hashes
	}
	first := all()
	require.Len(t, first, seeds)
	distinct := map[uint64]bool{}
	for seed := uint64(1); seed <= uint64(seeds); seed++ {
		distinct[first[seed]] = true
	}
	require.Len(t, distinct, seeds)
	require.Equal(t, first, all())
}

func TestNoSeedsAreNoTest(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, -1} {
		text, failed := failing(t, "TestMine", func(t testing.TB) { harness.Count(t, n) })
		require.True(t, failed)
		require.Contains(t, text, "seeds would test nothing: run 1 or more")
	}
	require.NotZero(t, harness.Count(t, 3))
}

func TestAConditionOfOnesOwnThatFailsNamesItsSeedToo(t *testing.T) {
	t.Parallel()
	for what, fails := range map[string]func(t testing.TB){
		"at once":          func(t testing.TB) { t.Fatalf("five is too many") },
		"when it has gone": func(t testing.TB) { t.Errorf("five is too many") },
	} {
		text, failed := failing(t, "TestMine", func(t testing.TB) {
			harness.One(t, 37, tree, func(h *harness.Harness) { fails(h.T()) })
		})
		require.True(t, failed, what)
		require.Contains(t, text, "five is too many", what)
		require.Contains(t, text, "run it again: go test -run '^TestMine$' -count=1 -weft.seed=37", what)
	}
}
