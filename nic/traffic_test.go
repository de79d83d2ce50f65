package nic

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestParseTrafficReadsWhatStringPrints(t *testing.T) {
	for _, s := range []string{"none", "uniform:0.2", "pairwise:0.5", "uniform:1", "uniform:0.001"} {
		traffic, err := ParseTraffic(s)
		require.NoError(t, err)
		require.Equal(t, s, traffic.String())
		require.Equal(t, s == "none", traffic.Idle())
	}
	require.Equal(t, "none", Traffic{}.String(), "the zero value injects nothing")
	require.NoError(t, Traffic{}.Validate())
}

func TestParseTrafficRefusesWhatItCannotUse(t *testing.T) {
	for _, s := range []string{
		"", "uniform", "uniform:", "uniform:x", "uniform:0", "uniform:-0.1", "uniform:1.01", "uniform:NaN", "uniform:Inf",
		"uniform:0.2:0.3", "none:0.2", "none:", "hotsopt:0.2", "Uniform:0.2", " uniform:0.2", "pairwise:2",
	} {
		_, err := ParseTraffic(s)
		require.ErrorIs(t, err, ErrTraffic, "%q", s)
	}
	require.ErrorIs(t, Traffic{Pattern: "x"}.Validate(), ErrTraffic)
}

func TestUniformNeverSendsToItselfAndReachesAllOthersAlike(t *testing.T) {
	const nics, draws = 7, 6000
	r := rand.NewPCG(3, 4)
	for self, s := range sources(t, "uniform:0.5", nics, r) {
		got := make([]int, nics)
		for range draws {
			dst, ok := s.To.Next(r)
			require.True(t, ok)
			got[dst]++
		}
		for dst, n := range got {
			if dst == self {
				require.Zero(t, n, "NIC %d sends to itself", self)
				continue
			}
			require.InDelta(t, draws/(nics-1), n, draws/(nics-1)*0.12, "%d -> %d", self, dst)
		}
	}
}

func TestPairwiseMatchesEveryNICWithAnother(t *testing.T) {
	for nics := 0; nics <= 33; nics++ {
		list := sources(t, "pairwise:0.5", nics, rand.NewPCG(5, uint64(nics)))
		idle := 0
		for i := range list {
			if list[i].To == nil {
				idle++
				continue
			}
			dst, ok := list[i].To.Next(nil)
			require.True(t, ok)
			require.NotEqual(t, weft.NICID(i), dst, "no fixed point")
			back, ok := list[dst].To.Next(nil)
			require.True(t, ok)
			require.Equal(t, weft.NICID(i), back, "an involution")
		}
		require.Equal(t, nics%2, idle, "of %d NICs", nics)
	}
}

func TestPairsAreMatchedAtRandom(t *testing.T) {
	partners := map[weft.NICID]int{}
	for seed := range uint64(300) {
		dst, _ := sources(t, "pairwise:0.5", 4, rand.NewPCG(9, seed))[0].To.Next(nil)
		partners[dst]++
	}
	require.Len(t, partners, 3)
	for dst, n := range partners {
		require.InDelta(t, 100, n, 35, "0 with %d", dst)
	}
}

func TestTrafficThatHasNowhereToGoInjectsNothing(t *testing.T) {
	for _, c := range []struct {
		traffic Traffic
		nics    int
	}{
		{Traffic{}, 3},
		{Traffic{Pattern: "none"}, 3},
		{Traffic{Pattern: "uniform", Load: 1}, 1},
		{Traffic{Pattern: "pairwise", Load: 1}, 1},
	} {
		list, err := c.traffic.Sources(over(c.nics, nil))
		require.NoError(t, err)
		require.Equal(t, make([]Source, c.nics), list)
	}
}

// injections is when a source of the given mean generates packets, until the end.
func injections(t *testing.T, seed uint64, mean, until weft.Time) (at []weft.Time) {
	r := newDarkRig(t, Config{Rand: rand.NewPCG(seed, 0), QueueBytes: 1 << 30})
	to := sources(t, "uniform:1", 8, nil)[0].To
	require.NoError(t, r.SetSource(0, Source{To: to, Mean: mean}, &r.out))
	for r.out.WakeAt <= until {
		now := r.out.WakeAt
		before := r.Stats().Injected
		r.out.Reset()
		r.Tick(now, &r.out)
		require.Equal(t, before+1, r.Stats().Injected)
		at = append(at, now)
	}
	return at
}

func TestTheSourceIsAPoissonProcessOfItsMean(t *testing.T) {
	const mean, n = 10_000, 20_000
	at := injections(t, 1, mean, n*mean)
	require.InDelta(t, n, len(at), 4*141, "four standard deviations of the count")
	longer := 0
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] > mean {
			longer++
		}
	}
	require.InDelta(t, 0.3679, float64(longer)/float64(len(at)), 0.02, "1/e of exponential intervals exceed the mean")
	require.Equal(t, at, injections(t, 1, mean, n*mean), "the same draws, the same times")
	require.NotEqual(t, at, injections(t, 2, mean, n*mean))
}

func TestALateTickGeneratesWhatIsOwedAtItsOwnTimes(t *testing.T) {
	at := injections(t, 1, 100, 10_000)
	r := newDarkRig(t, Config{Rand: rand.NewPCG(1, 0)})
	to := sources(t, "uniform:1", 8, nil)[0].To
	require.NoError(t, r.SetSource(0, Source{To: to, Mean: 100}, &r.out))
	r.Tick(10_000, &r.out)
	require.Equal(t, uint64(len(at)), r.Stats().Injected)
	for i := range at {
		require.Equal(t, at[i], r.queue.fifos[0].At(i).injected)
	}
}

// gap saturates: with a mean of years the next packet is far away, not in the past.
func TestARareSourceDoesNotOverflowTheClock(t *testing.T) {
	for _, mean := range []weft.Time{weft.Never / 10, weft.Never} {
		r := newDarkRig(t, Config{})
		for range 100 {
			require.NoError(t, r.SetSource(weft.Second, Source{To: only(1), Mean: mean}, &r.out))
			require.Greater(t, r.nextAt, weft.Second, "mean %v", mean)
		}
	}
}

func TestASourceThatCannotBeIsRefusedAndTheOldOneStays(t *testing.T) {
	r := newDarkRig(t, Config{})
	require.NoError(t, r.SetSource(0, Source{To: only(1), Mean: 10}, &r.out))
	was := r.nextAt
	for _, s := range []Source{
		{To: only(1)},
		{To: only(1), Mean: -1},
		{To: only(1), Mean: 1, Bytes: -1},
		{To: only(1), Mean: 1, Bytes: weft.MaxPacket + 1},
	} {
		require.ErrorContains(t, r.SetSource(0, s, &r.out), "source")
		require.Equal(t, was, r.nextAt)
	}
	require.NoError(t, r.SetSource(0, Source{}, &r.out))
	require.Equal(t, weft.Never, r.nextAt, "no destinations: nothing more")
}

func TestOneInSoManyPacketsIsTraced(t *testing.T) {
	r := newDarkRig(t, Config{})
	require.NoError(t, r.SetSource(0, Source{To: only(1), Mean: 100, TraceEvery: 4, Bytes: 9}, &r.out))
	r.Tick(20_000, &r.out)
	require.Greater(t, r.queue.packets, int32(100))
	for i := range int(r.queue.packets) {
		require.Equal(t, i%4 == 0, r.queue.fifos[0].At(i).traced)
		require.Equal(t, uint32(9), r.queue.fifos[0].At(i).size)
	}
}
