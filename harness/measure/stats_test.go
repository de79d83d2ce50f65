package measure

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/virtual"
)

// The quantiles are those of tables of Student's t. With 3 degrees of freedom it is 3.1824, and the
// deviation of 1, 2, 3, 4 is the root of 5/3.
func TestAnIntervalIsStudents(t *testing.T) {
	t.Parallel()
	for degrees, want := range map[int]float64{1: 12.706, 9: 2.262, 499: 1.965} {
		require.InDelta(t, want, StudentT(degrees, Usual), 0.001, degrees)
	}
	mean, half := Interval([]float64{1, 2, 3, 4})
	require.InDelta(t, 2.5, mean, 1e-12)
	require.InDelta(t, 3.182446*math.Sqrt(5.0/3)/2, half, 1e-5)
	mean, half = Interval([]float64{7})
	require.Equal(t, []float64{7, 0}, []float64{mean, half})
	mean, half = Interval(nil)
	require.Equal(t, []float64{0, 0}, []float64{mean, half})
	mean, half = Interval([]float64{5, 5, 5})
	require.Equal(t, []float64{5, 0}, []float64{mean, half})
}

// Three packets, generated at 0, 0 and 10, leaving at 1, 4 and 12, there at 9, 8 and 22 cycles; the
// first before the window.
func TestTheMeterCountsWhatPassesIt(t *testing.T) {
	t.Parallel()
	all := newMeters(1, cycle)
	m := all[0]
	at := func(generated, left weft.Time) weft.Header {
		h := weft.Header{Injected: generated * cycle, Hops: 3}
		m.enter(left*cycle, &h)
		return h
	}
	a, b := at(0, 1), at(0, 4)
	require.Equal(t, 2, m.inside())
	m.deliver(9*cycle, &a)
	require.Zero(t, a.Injected, "its NIC gets it back as it was")
	r := &run{network: &network{meters: all, cfg: Config{}.Filled(), engine: virtual.New(virtual.Config{})}}
	r.open()
	c := at(10, 12)
	require.Equal(t, 2, m.inside())
	m.deliver(8*cycle, &b)
	m.deliver(22*cycle, &c)
	require.Equal(t, 10*cycle, c.Injected)
	lost, discarded, crashed, flying := at(0, 0), at(0, 0), at(0, 0), at(0, 0)
	m.Observe(0, &weft.Actions{Drops: []weft.Drop{
		{Account: weft.LostQueued, Header: lost},
		{Account: weft.Discarded, Header: discarded},
		{Account: weft.LostCrash, Header: crashed},
	}})
	m.loseWire(&weft.Frame{Packets: []weft.Header{flying}})
	require.Equal(t, []uint64{1, 1, 1, 1, 3}, []uint64{m.lostQueue, m.lostWire, m.lostCrash, m.discarded, m.lost()})
	require.Zero(t, m.inside())

	w := m.window
	require.EqualValues(t, 2, w.delivered)
	require.EqualValues(t, 5, w.entered)
	require.InDelta(t, 8+12, float64(w.latency)/float64(cycle), 1e-9)
	require.InDelta(t, 4+10, float64(w.network)/float64(cycle), 1e-9)
	require.EqualValues(t, 6, w.hops)
	require.Equal(t, []weft.Time{12 * cycle, 10 * cycle}, []weft.Time{w.latencyMax, w.networkMax})

	r.result.Cycles = 100
	r.finishWindow(totals{offered: 50})
	require.InDelta(t, 0.02, r.result.Accepted, 1e-12)
	require.InDelta(t, 0.05, r.result.Injected, 1e-12)
	require.InDelta(t, 0.5, r.result.Offered, 1e-12)
	require.InDelta(t, 10, r.result.LatencyMean, 1e-12)
	require.InDelta(t, 7, r.result.NetworkLatencyMean, 1e-12)
	require.InDelta(t, 8, r.result.LatencyP50, 0.01)
	require.InDelta(t, 12, r.result.LatencyP95, 0.02)
	require.InDelta(t, 10, r.result.NetworkLatencyP99, 0.02)
	require.InDelta(t, 3, r.result.HopsMean, 1e-12)
}

func warmed(t *testing.T, batches ...batch) int {
	s := steady{w: Config{}.Filled().Warmup}
	for i, b := range batches {
		if s.add(b) {
			return i + 1
		}
	}
	return 0
}

func TestANetworkIsSteadyWhenFourBatchesAgree(t *testing.T) {
	t.Parallel()
	at := func(latency, inside, queued float64) batch {
		return batch{delivered: 10_000, latency: latency, network: 20, inside: inside, queued: queued, offered: 12_000}
	}
	still := at(40, 500, 10)
	require.Equal(t, 4, warmed(t, still, still, still, still))
	require.Equal(t, 5, warmed(t, at(50, 500, 10), still, still, still, still), "latency was higher")
	require.Equal(t, 5, warmed(t, at(40, 300, 10), still, still, still, still), "there were fewer packets inside")
	require.Equal(t, 0, warmed(t, at(40, 500, 10), at(45, 500, 10), at(50, 500, 10), at(55, 500, 10)), "latency rises")
	require.Equal(t, 4, warmed(t, at(40, 500, 10), at(80, 500, 2000), at(120, 500, 4000), at(160, 500, 6000)),
		"above saturation it does as long as the run")

	few := func(n, latency float64) batch { return batch{delivered: n, latency: latency, network: 5, inside: 2} }
	require.Equal(t, 4, warmed(t, few(100, 8), few(90, 8), few(110, 8), few(97, 8)), "few packets differ by chance")
	many := func(n float64) batch { return batch{delivered: n, latency: 8, network: 5, inside: 2} }
	require.Equal(t, 0, warmed(t, many(10_000), many(9000), many(11_000), many(9700)))

	stuck := batch{inside: 30}
	require.Equal(t, 0, warmed(t, stuck, stuck, stuck, stuck, stuck), "it stands still")
	require.Equal(t, 4, warmed(t, batch{}, batch{}, batch{}, batch{}), "there is no traffic")
}
