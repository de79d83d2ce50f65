package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestAStrandedPacketIsDiscardedByRule(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 2})
	r.fw.route = firstLive(1, 2)
	stuffed := r.stuff(2)
	want := []uint64{r.arrive(0, 0, 7, 9), r.arrive(0, 0, 7, 9)}
	r.cut(1)
	behind := r.arrive(0, 0, 7, 9)
	require.Equal(t, want, r.strandedSeqs())
	r.cut(2)
	var got []uint64
	for _, d := range r.out.Drops {
		require.Equal(t, weft.Discarded, d.Account)
		require.Equal(t, "none is live", d.Rule)
		require.Equal(t, weft.PortID(0), d.Port)
		require.Zero(t, d.Header.Hops, "it has not left")
		got = append(got, d.Header.Seq)
	}
	require.ElementsMatch(t, append(append(stuffed, want...), behind), got)
	require.Zero(t, r.Held())
	require.Zero(t, r.stranded)
	require.Equal(t, uint64(5), r.Snapshot().Discards["none is live"])
	require.Equal(t, uint64(4), r.Stats().Requeued)
	require.Zero(t, r.Stats().LostQueue)
}

func TestACrashLosesStrandedPacketsToo(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 2})
	want := r.stuff(2)
	want = append(want, r.arrive(0, 0, 7, 9), r.arrive(0, 0, 8, 9))
	r.cut(1)
	want = append(want, r.arrive(0, 0, 7, 9))
	r.call(func() { r.Crash(r.now, &r.out) })
	var lost []uint64
	for _, d := range r.out.Drops {
		require.Equal(t, weft.LostCrash, d.Account)
		lost = append(lost, d.Header.Seq)
	}
	require.ElementsMatch(t, want, lost)
	require.Zero(t, r.Held())
	require.Zero(t, r.stranded)
	require.Empty(t, r.Snapshot().Blocked)
	for p := range weft.PortID(4) {
		r.neighbour[p].Signal(r.now, false)
		r.connect(p)
	}
	require.Equal(t, r.fill(0, 9), r.sent(1), "no slot remembers that it was stranded")
}

func TestTwoLinksThatDieInTurn(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 3})
	seqs := []uint64{r.arrive(0, 0, 7, 9), r.arrive(0, 0, 7, 9)}
	r.cut(1)
	r.cut(2)
	require.Equal(t, uint64(4), r.Stats().Requeued)
	f := weft.NewFields()
	f.PortField, f.Misroute = 3, 1
	require.Equal(t, []weft.Header{
		{Src: 7, Dst: 9, Seq: seqs[0], Hops: 1, Fields: f}, {Src: 7, Dst: 9, Seq: seqs[1], Hops: 1, Fields: f},
	}, r.headers(3))

	// Both queues at once, with no room elsewhere; then the first link comes back.
	r = newRequeueRig(t, Config{OutputBuffer: 2})
	r.stuff(3)
	second := r.stuff(2)
	first := []uint64{r.arrive(0, 0, 7, 9), r.arrive(0, 0, 7, 9)}
	r.cut(1)
	r.cut(2)
	require.ElementsMatch(t, append(first, second...), r.strandedSeqs())
	r.connect(1)
	require.Equal(t, append(first, second...), r.sent(1), "what was queued for the other goes by it too")
}

func TestTracedPacketsReportBothDecisions(t *testing.T) {
	r := newRequeueRig(t, Config{})
	seq := r.arriveHeader(0, weft.Header{Src: 7, Dst: 9, Traced: true, Fields: weft.NewFields()})
	require.Len(t, r.out.Hops, 1)
	one := r.out.Hops[0]
	arrived := r.now
	r.now += 10
	r.cut(1)
	require.Len(t, r.out.Hops, 1)
	two := r.out.Hops[0]
	require.Equal(t, weft.PortID(1), one.Out)
	require.Equal(t, weft.PortID(2), two.Out)
	require.Equal(t, one.Header, two.Header)
	require.Equal(t, seq, two.Header.Seq)
	require.Equal(t, weft.NewFields(), two.Before)
	require.Equal(t, int16(2), two.After.PortField)
	require.Equal(t, r.now-arrived, two.Waited)
}

func TestWhatADecisionForAStrandedPacketWritesIsWritten(t *testing.T) {
	r := newRig(t, 4, Config{Requeue: true, Firmware: (&scripted{
		registers: []Register{{Name: "a", Width: 8, Expire: 100}},
		route: func(pkt *weft.Header, at Arrival, sw View) Decision {
			d := firstLive(1, 2, 3)(pkt, at, sw)
			d.Write = RegisterWrite{Do: true, Value: sw.Register(0) + 10}
			return d
		},
	}).value()})
	r.arrive(0, 0, 7, 9)
	r.cut(1)
	require.Equal(t, RegisterSnapshot{Name: "a", Width: 8, Value: 20, Expire: 100, Expires: r.now + 100},
		r.Snapshot().Registers[0])
}

func TestAStrandedPacketIsRoutedAnewWhenARegisterExpires(t *testing.T) {
	fw := &scripted{registers: []Register{{Name: "a", Width: 8, Expire: 100}}}
	r := newRig(t, 4, Config{InputBuffer: 8, OutputBuffer: 1, Requeue: true, Firmware: fw.value()})
	r.fw.route = firstLive(2)
	r.fill(0, 50)
	r.fw.route = func(pkt *weft.Header, at Arrival, sw View) Decision {
		d := firstLive(1, 2)(pkt, at, sw)
		if sw.Register(0) == 0 && !sw.PortUp(1) {
			d = firstLive(3)(pkt, at, sw)
		}
		d.Write = RegisterWrite{Do: sw.PortUp(1), Value: 1}
		return d
	}
	a := r.arrive(0, 0, 7, 9)
	r.cut(1)
	require.Equal(t, []uint64{a}, r.strandedSeqs())
	r.now += 100
	r.call(func() { r.Tick(r.now, &r.out) })
	require.Equal(t, []uint64{a}, r.sent(3))
}

// A firmware that names a dead port wants to wait for it: stranded or not makes no difference.
func TestAStrandedPacketMayWaitForItsOwnDeadLink(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 4})
	r.fw.route = func(pkt *weft.Header, at Arrival, sw View) Decision { return To(sw, 1, at.VC, pkt.Fields, "only") }
	want := []uint64{r.arrive(0, 0, 7, 9), r.arrive(0, 0, 8, 9), r.arrive(0, 0, 7, 9)}
	r.cut(1)
	want = append(want, r.arrive(0, 0, 7, 9))
	require.Equal(t, want[:3], r.strandedSeqs())
	r.connect(1)
	require.Equal(t, want, r.sent(1))
}

// What waits in an input for the link that dies is routed anew, whether or not what is queued for
// the link leaves it.
func TestAPacketThatWaitsForALinkThatDiesIsRoutedAnew(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 1})
	r.fw.route = func(pkt *weft.Header, at Arrival, sw View) Decision {
		if pkt.Src == 90 {
			return To(sw, 1, at.VC, pkt.Fields, "only")
		}
		return firstLive(1, 3)(pkt, at, sw)
	}
	stays := r.fill(0, 9)
	b := r.arrive(0, 0, 7, 9)
	require.Equal(t, []uint64{b}, r.blocked())
	r.cut(1)
	require.Equal(t, stays, r.strandedSeqs())
	require.Equal(t, []uint64{b}, r.sent(3))
}

func TestAStrandedQueueBeginsToWaitForCreditsAnew(t *testing.T) {
	r := newRequeueRig(t, Config{InputBuffer: 1, OutputBuffer: 1})
	r.fw.route = func(pkt *weft.Header, at Arrival, sw View) Decision { return To(sw, 1, at.VC, pkt.Fields, "only") }
	r.arrive(0, 0, 7, 9)
	_, ok := r.send(1)
	require.True(t, ok)
	r.arrive(0, 0, 7, 9)
	require.Equal(t, map[Stall]uint64{StallNoCredit: 1}, r.stalls(1, 0))
	r.cut(1)
	r.connect(1)
	require.Equal(t, map[Stall]uint64{StallNoCredit: 2}, r.stalls(1, 0), "the neighbour still holds the first")
}
