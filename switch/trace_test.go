package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func traced(dst weft.NICID) weft.Header {
	return weft.Header{Src: 7, Dst: dst, Traced: true, Fields: weft.NewFields()}
}

func TestAHopTellsTheRoomThatEachCandidateHad(t *testing.T) {
	r := newRig(t, 4, Config{InputBuffer: 8, OutputBuffer: 2, Selection: MostCredits, Requeue: false})
	r.fw.routes[9] = escape([]weft.PortID{1, 2}, 3)
	r.arrive(0, 0, 7, 1)
	r.cut(3)
	r.arriveHeader(0, traced(9))
	require.Len(t, r.out.Hops, 1)
	require.Equal(t, []weft.Candidate{
		{Port: 1, Class: 1, Room: 1, Credits: 8},
		{Port: 2, Class: 1, Room: 2, Credits: 8, Chosen: true},
		{Port: 3, Class: 2, Room: 2, Down: true},
	}, r.out.Hops[0].Candidates)

	r.arrive(0, 0, 7, 9)
	require.Empty(t, r.out.Hops, "this one is not traced")
	require.Empty(t, r.out.Ways)
}

func TestHopsOfOneStepKeepTheirOwnCandidates(t *testing.T) {
	r := newRig(t, 3, Config{InputBuffer: 8, OutputBuffer: 1})
	r.fill(0, 1)
	first := r.arriveHeader(0, traced(1))
	require.Equal(t, []uint64{first}, r.blocked())
	r.fw.routes[9] = ways(1, 2)
	r.fw.routes[1] = ways(1, 2, 0)
	r.call(func() { r.rerouteBlocked(&r.out); r.receive(0, new(traced(9)), 90, &r.out) })
	require.Len(t, r.out.Hops, 1)
	r.out.Ways = r.out.Ways[:len(r.out.Ways):cap(r.out.Ways)]
	require.Len(t, r.out.Hops[0].Candidates, 3)
	require.Equal(t, 3, cap(r.out.Hops[0].Candidates), "appending to them would overwrite those of the next hop")
}

func TestAHopTellsWhyThePacketWaited(t *testing.T) {
	why := func(r *rig) uint8 {
		t.Helper()
		require.Len(t, r.out.Hops, 1)
		return r.out.Hops[0].Why
	}
	r := newRig(t, 3, Config{InputBuffer: 8, OutputBuffer: 1})
	r.arriveHeader(0, traced(1))
	require.Zero(t, why(r), "it did not wait")
	second := r.arriveHeader(0, traced(1))
	third := r.arriveHeader(0, traced(1))
	require.Equal(t, []uint64{second}, r.blocked())
	r.send(1)
	require.EqualValues(t, 1<<StallOutputFull, why(r))
	r.now += 5
	r.send(1)
	require.EqualValues(t, 1<<StallOrder|1<<StallOutputFull, why(r), "behind one of its flow, and then for itself")
	require.Equal(t, third, r.out.Hops[0].Header.Seq)
	require.Positive(t, r.out.Hops[0].Waited)

	r.send(1)
	r.cut(1)
	r.arriveHeader(0, traced(1))
	r.fw.routes[1] = ways(2)
	r.call(func() { r.rerouteBlocked(&r.out) })
	require.EqualValues(t, 1<<StallLinkDown, why(r))
}

func TestAPacketThatWaitedForACreditTellsWhenItLeaves(t *testing.T) {
	r := newRig(t, 2, Config{InputBuffer: 1, OutputBuffer: 4})
	r.fw.routes[1] = ways(1)
	first := r.arriveHeader(0, traced(1))
	h, _ := r.send(1)
	require.Equal(t, first, h.Seq)
	require.Empty(t, r.out.Egress, "there was a credit")

	second := r.arriveHeader(0, traced(1))
	third := r.arriveHeader(0, traced(1))
	at := r.now
	_, ok := r.send(1)
	require.False(t, ok, "the neighbour has room for one")
	for _, seq := range []uint64{second, third} {
		r.free(1, 0)
		h, _ := r.send(1)
		require.Equal(t, seq, h.Seq)
		require.Len(t, r.out.Egress, 1)
		l := r.out.Egress[0]
		require.Equal(t, weft.Egress{At: r.now, Port: 1, Queued: l.Queued, Header: h}, l)
		require.LessOrEqual(t, l.Queued, r.now-at+20)
		require.Positive(t, l.Queued)
	}

	r.free(1, 0)
	r.arrive(0, 0, 7, 1)
	r.arrive(0, 0, 7, 1)
	r.sent(1)
	r.free(1, 0)
	r.sent(1)
	require.Empty(t, r.out.Egress, "these were not traced")
}

func TestAPacketThatJoinsAQueueThatWaitsForACreditHasWaitedToo(t *testing.T) {
	r := newRig(t, 2, Config{InputBuffer: 2, OutputBuffer: 4})
	r.fw.routes[1] = ways(1)
	for range 3 {
		r.arrive(0, 0, 7, 1)
		r.send(1) // the third stays: there were two credits
	}
	last := r.arriveHeader(0, traced(1))
	r.neighbour[1].Free(0)
	r.free(1, 0)
	r.send(1)
	require.Empty(t, r.out.Egress)
	h, _ := r.send(1)
	require.Equal(t, last, h.Seq)
	require.Len(t, r.out.Egress, 1)
}

func TestASwitchKnowsWhetherItHoldsAPacket(t *testing.T) {
	r := newRig(t, 2, Config{InputBuffer: 4, OutputBuffer: 1})
	r.fw.routes[1] = ways(1)
	queued, waiting := r.arrive(0, 0, 7, 1), r.arrive(0, 0, 7, 1)
	require.True(t, r.Holds(7, 1, queued))
	require.True(t, r.Holds(7, 1, waiting))
	require.False(t, r.Holds(7, 1, waiting+1))
	require.False(t, r.Holds(1, 7, queued))
	r.send(1)
	require.False(t, r.Holds(7, 1, queued))
	require.True(t, r.Holds(7, 1, waiting))
}

// Not even a traced packet allocates, once the storage is there.
func TestTracingAllocatesNothingOnceItsStorageHasGrown(t *testing.T) {
	r := newRig(t, 3, Config{EagerCredits: true, InputBuffer: 64})
	d := ways(1, 2)
	r.fw.route = func(*weft.Header, Arrival, View) Decision { return d }
	var f weft.Frame
	at := uint64(0)
	step := func(h weft.Header) {
		r.out.Reset()
		r.receive(0, &h, at, &r.out)
		at++
		for p := weft.PortID(1); p < 3; p++ {
			f.Reset()
			for r.out.Reset(); r.Transmit(r.now, p, 1, &f, &r.out); r.out.Reset() {
			}
		}
		r.fw.asked = r.fw.asked[:0]
	}
	step(traced(9))
	require.Zero(t, testing.AllocsPerRun(20, func() { step(traced(9)) }))
}

// A packet came when its frame says so, however late the frame is received: that is when it was
// decided where it goes, and since when it could leave.
func TestAHopIsAtTheTimeThatTheFrameSays(t *testing.T) {
	r := newRig(t, 2, Config{})
	r.fw.routes[9] = ways(1)
	r.settle(0)
	f := weft.Frame{At: weft.Second}
	r.neighbour[0].Stamp(r.now, &f)
	r.neighbour[0].Spend(0)
	f.Packets = []weft.Header{traced(9)}
	r.out.Reset()
	r.Receive(3*weft.Second, 0, &f, &r.out)
	require.Len(t, r.out.Hops, 1)
	require.Equal(t, weft.Second, r.out.Hops[0].At)
	require.Zero(t, r.out.Hops[0].Waited)
	r.out.Reset()
	require.True(t, r.Transmit(4*weft.Second, 1, 1, &f, &r.out))
	require.Equal(t, weft.Second, r.out.Since)
}
