package nic

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestDeliveryCountsOrderPerFlow(t *testing.T) {
	r := newRig(t, Config{ID: 2})
	for _, h := range []weft.Header{
		{Src: 1, Seq: 0}, {Src: 1, Seq: 2}, {Src: 1, Seq: 1}, {Src: 1, Seq: 2}, {Src: 3, Seq: 0}, {Src: 3, Seq: 0},
	} {
		h.Dst = 2
		r.hand(h)
		r.take(0)
	}
	require.Equal(t, Stats{Delivered: 4, Reordered: 1, Duplicated: 2}, r.Stats())
}

func TestPacketsForAnotherNICAreDiscardedByName(t *testing.T) {
	r := newRig(t, Config{ID: 2, NICs: 4})
	for _, h := range []weft.Header{{Src: 1, Dst: 3}, {Src: 4, Dst: 2}, {Src: 1 << 30, Dst: 2}} {
		r.hand(h)
		r.take(0)
	}
	r.hand(weft.Header{Src: 1, Dst: 0, Seq: 9})
	require.Equal(t, []weft.Drop{{
		Account: weft.Discarded, Rule: RuleWrongNIC, Header: weft.Header{Src: 1, Dst: 0, Seq: 9},
	}}, r.out.Drops)
	require.Equal(t, Stats{Wrong: 4}, r.Stats())
}

func TestHopsStretchAndReroutesAreCountedOfWhatIsDelivered(t *testing.T) {
	r := newRig(t, Config{Distance: func(src weft.NICID) int { return int(src) }})
	for _, h := range []weft.Header{
		{Src: 1, Hops: 1},
		{Src: 3, Hops: 7, Reroutes: 2},
		{Src: 3, Seq: 1, Hops: 3},
		{Src: 3, Seq: 1, Hops: 300, Reroutes: 9},
	} {
		r.hand(h)
		r.take(0)
	}
	require.Equal(t, Stats{
		Delivered: 3, Duplicated: 1, Rerouted: 1, Hops: 11, Shortest: 7, MostHops: 7, MostExtra: 4,
		Detour: 4,
	}, r.Stats())
}

func TestPacketsAreCountedByTheirGeneration(t *testing.T) {
	r := newRig(t, Config{})
	r.send(1)
	r.SetGeneration(2)
	r.send(1)
	r.send(1)
	r.hand(weft.Header{Src: 1, Seq: 0, Generation: 0}, weft.Header{Src: 1, Seq: 1, Generation: 2, Reroutes: 1})
	r.take(0)
	r.hand(weft.Header{Src: 1, Seq: 2, Generation: 1})
	require.Equal(t, []GenerationStats{
		{Injected: 1, Delivered: 1},
		{Delivered: 1},
		{Injected: 2, Delivered: 1, Rerouted: 1},
	}, r.Snapshot().Generations)
}

func TestLatencyIsFromGenerationToDelivery(t *testing.T) {
	r := newRig(t, Config{})
	h := NewLatency()
	r.MergeLatency(h)
	require.Zero(t, h.TotalCount(), "nothing delivered yet")
	for i, at := range []weft.Time{1, 2, 3, 4} {
		r.now = 100 * weft.Microsecond
		r.hand(weft.Header{Src: 1, Seq: uint64(i), Injected: r.now - at*10*weft.Microsecond})
		r.take(0)
	}
	r.MergeLatency(h)
	require.Equal(t, int64(4), h.TotalCount())
	require.InEpsilon(t, 10_000, h.Min(), 0.01)
	require.InEpsilon(t, 40_000, h.Max(), 0.01)
	require.InEpsilon(t, 25_000, h.Mean(), 0.01)
}

// Clocks of two hosts differ, and headers come from outside.
func TestImpossibleTimesOfGenerationDoNoHarm(t *testing.T) {
	r := newRig(t, Config{})
	for i, at := range []weft.Time{weft.Second, weft.Never, math.MinInt64, -weft.Never / 2} {
		r.hand(weft.Header{Src: 1, Seq: uint64(i), Injected: at, Generation: math.MaxUint16})
		r.take(0)
	}
	require.Equal(t, uint64(4), r.Stats().Delivered)
	h := NewLatency()
	r.MergeLatency(h)
	require.LessOrEqual(t, h.TotalCount(), int64(4))
}

func TestTracedPacketsAreReportedOnArrival(t *testing.T) {
	r := newRig(t, Config{})
	traced := weft.Header{Src: 1, Seq: 1, Traced: true}
	r.hand(weft.Header{Src: 1}, traced)
	require.Equal(t, []weft.Header{traced}, r.out.Arrived)
}

func TestNICsOfOneRunCanShareAHistogram(t *testing.T) {
	shared := NewLatency()
	for range 2 {
		r := newRig(t, Config{Latency: shared})
		r.now = 100 * weft.Microsecond
		r.hand(weft.Header{Src: 1, Injected: 90 * weft.Microsecond})
		total := NewLatency()
		r.MergeLatency(total)
		require.Zero(t, total.TotalCount(), "its owner has it, and would count it once per NIC")
	}
	require.Equal(t, int64(2), shared.TotalCount())
	require.InEpsilon(t, 10_000, shared.Max(), 0.01)
}

func TestANICNeedNotRecordLatencies(t *testing.T) {
	for _, records := range []bool{true, false} {
		r := newRig(t, Config{NoLatency: !records})
		r.now = 100 * weft.Microsecond
		r.hand(weft.Header{Src: 1, Injected: 90 * weft.Microsecond})
		total := NewLatency()
		r.MergeLatency(total)
		require.Equal(t, records, total.TotalCount() == 1)
		require.Equal(t, uint64(1), r.Stats().Delivered)
	}
}

// Unordered NICs keep nothing per destination or source, so 10,000 of them are no larger than 10.
func TestUnorderedNICsNumberPerSourceAndKeepNoTables(t *testing.T) {
	r := newRig(t, Config{Unordered: true, NICs: weft.MaxNIC})
	require.Equal(t, uint64(0), r.send(5))
	require.Equal(t, uint64(1), r.send(60_000))
	require.Equal(t, uint64(2), r.send(5))
	r.take(9)
	for _, seq := range []uint64{4, 2, 2} {
		r.hand(weft.Header{Src: 100_000, Seq: seq})
		r.take(0)
	}
	require.Equal(t, Stats{Injected: 3, Delivered: 3}, r.Stats(), "order is not noticed")
	require.Nil(t, r.flows.pages)
	require.Nil(t, r.sequence.pages)
	require.Nil(t, r.withheld.pages)
	require.NoError(t, r.Notice(0, 5))
	require.NoError(t, r.SetSource(r.now, Source{To: only(5), Mean: 1}, &r.out))
	r.Tick(r.now+10, &r.out)
	require.Zero(t, r.Stats().Withheld, "notices are not honoured")
}

// What virtual time relies on: a packet generated, sent and delivered costs no allocation.
func TestNoPacketCostsAnAllocation(t *testing.T) {
	for _, spec := range []string{
		"uniform:1", "hotspot:1,hot=2,sizes=64:0.6/1500:0.4", "all-to-all:1,arrivals=normal", "shuffle:1,arrivals=bursts",
		"incast:1,arrivals=periodic",
	} {
		r := newDarkRig(t, Config{ID: 1, QueueBytes: 20_000})
		require.NoError(t, r.SetSource(0, sources(t, spec, 8, rand.NewPCG(1, 1))[1], &r.out))
		now := weft.Time(0)
		step := func() {
			now += weft.Microsecond
			r.out.Reset()
			r.Tick(now, &r.out)
			for r.queue.packets > 3 {
				r.queue.popped(0, r.queue.fifos[0].PopFront().size)
			}
		}
		step()
		require.Zero(t, testing.AllocsPerRun(1000, step), spec)
		require.Greater(t, r.Stats().Injected, uint64(200))
	}
}
