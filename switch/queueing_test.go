package switching

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestVirtualOutputQueuesLetOtherFlowsOvertakeButNotTheOwn(t *testing.T) {
	r := newRig(t, 3, Config{InputBuffer: 4, OutputBuffer: 1})
	first := r.fill(0, 1)
	a := r.arrive(0, 0, 7, 1)     // blocked: output 1 is full
	again := r.arrive(0, 0, 7, 1) // behind its own flow
	other := r.arrive(0, 0, 7, 2) // another flow: overtakes
	require.Equal(t, []uint64{a}, r.blocked())
	require.Equal(t, []uint64{other}, r.sent(2))
	require.Equal(t, map[Stall]uint64{StallOutputFull: 1, StallOrder: 1}, r.stalls(0, 0))
	require.Equal(t, append(first, a, again), r.sent(1), "in order")
}

// The flow of a blocked packet may have another way by now: it still must not be overtaken by its
// own flow.
func TestAFlowIsNotOvertakenThoughAnotherWayIsFree(t *testing.T) {
	r := newRig(t, 3, Config{InputBuffer: 4, OutputBuffer: 1})
	r.fill(0, 1)
	a := r.arrive(0, 0, 7, 1)
	r.fw.routes[1] = ways(2)
	b := r.arrive(0, 0, 7, 1)
	require.Empty(t, r.sent(2), "%d waits behind %d", b, a)
}

func TestFIFOLetsOnlyTheHeadGo(t *testing.T) {
	r := newRig(t, 3, Config{InputBuffer: 4, OutputBuffer: 1, Queueing: FIFO})
	first := r.fill(0, 1)
	a := r.arrive(0, 0, 7, 1)
	b := r.arrive(0, 0, 8, 2)
	c := r.arrive(0, 0, 9, 2)
	require.Empty(t, r.sent(2), "the head blocks all")
	require.Equal(t, []uint64{a}, r.blocked())
	require.Equal(t, map[Stall]uint64{StallOutputFull: 1, StallOrder: 2}, r.stalls(0, 0))
	require.Equal(t, append(first, a), r.sent(1))
	require.Equal(t, []uint64{b, c}, r.sent(2))
}

func TestFIFOOfOneVCDoesNotBlockAnother(t *testing.T) {
	r := newRig(t, 3, Config{VCs: 2, InputBuffer: 2, OutputBuffer: 1, Queueing: FIFO})
	r.fill(0, 1)
	r.arrive(0, 0, 7, 1)
	b := r.arrive(0, 1, 7, 2)
	require.Equal(t, []uint64{b}, r.sent(2))
}

func TestABlockedPacketWaitsForAllItsCandidates(t *testing.T) {
	for _, out := range []weft.PortID{1, 2, 3} {
		r := newRig(t, 4, Config{InputBuffer: 4, OutputBuffer: 1})
		for p := range weft.NICID(3) {
			r.fill(0, p+1)
		}
		r.fw.routes[9] = ways(1, 2, 3)
		a := r.arrive(0, 0, 7, 9)
		require.Equal(t, []Output{{Port: 1}, {Port: 2}, {Port: 3}}, r.Snapshot().Blocked[0].For)
		_, ok := r.send(out) // makes room
		require.True(t, ok)
		require.Equal(t, []uint64{a}, r.sent(out), "it goes by %v", out)
		require.Empty(t, r.blocked(), "and waits for the others no more")
	}
}

func TestABlockedPacketIsRoutedAnewWhenAPortChangesState(t *testing.T) {
	r := newRig(t, 4, Config{InputBuffer: 4, OutputBuffer: 1, Firmware: (&scripted{}).value()})
	r.cut(3)
	r.fw.route = live(1, 2)
	r.fill(0, 9)
	r.fill(0, 9)
	a := r.arrive(0, 0, 7, 9)
	require.Equal(t, []uint64{a}, r.blocked())

	r.fw.route = live(2, 3)
	asked := len(r.fw.asked)
	r.connect(3)
	require.Len(t, r.fw.asked, asked+1, "by a port that comes up")
	require.Equal(t, []uint64{a}, r.sent(3))

	r.fw.route = live(1, 2)
	b := r.arrive(0, 0, 7, 9)
	require.Equal(t, []uint64{b}, r.blocked())
	r.fw.route = live(2, 3)
	r.cut(1)
	require.Equal(t, []uint64{b}, r.sent(3), "by a port that goes down")
}

func TestABlockedPacketMayBeDiscardedWhenItIsRoutedAnew(t *testing.T) {
	r := newRig(t, 3, Config{OutputBuffer: 1, Firmware: (&scripted{route: live(1)}).value()})
	r.fill(0, 9)
	a := r.arrive(0, 0, 7, 9)
	b := r.arrive(0, 0, 7, 9)
	r.cut(1)
	require.Len(t, r.out.Drops, 3)
	require.Equal(t, weft.LostQueued, r.out.Drops[0].Account)
	require.Equal(t, []uint64{a, b}, []uint64{r.out.Drops[1].Header.Seq, r.out.Drops[2].Header.Seq},
		"and the one behind it")
	require.Zero(t, r.Held())
}

// Where there is only one way and it is down, the packet waits: a firmware that wants it discarded
// says so.
func TestAPacketWhoseOnlyWayIsDownWaitsForIt(t *testing.T) {
	r := newRig(t, 3, Config{})
	r.cut(1)
	a := r.arrive(0, 0, 7, 1)
	require.Equal(t, []uint64{a}, r.blocked())
	require.Equal(t, map[Stall]uint64{StallLinkDown: 1}, r.stalls(0, 0))
	r.connect(1)
	require.Equal(t, []uint64{a}, r.sent(1))
}

func TestWaitersOfOneOutputAreServedInTurn(t *testing.T) {
	for _, buffer := range []int{1, 2, 3, 8} {
		const inputs, rounds = 5, 2000
		r := newRig(t, inputs+1, Config{InputBuffer: buffer, OutputBuffer: 1})
		got := map[weft.NICID]int{}
		for range rounds {
			for p := range weft.PortID(inputs) {
				r.settle(p)
				for r.neighbour[p].Credits(0) > 0 {
					r.arrive(p, 0, weft.NICID(p), inputs)
					r.settle(p)
				}
			}
			h, ok := r.send(inputs)
			require.True(t, ok)
			got[h.Src]++
			r.free(inputs, 0)
		}
		for src, n := range got {
			require.InDelta(t, rounds/inputs, n, rounds/inputs/20, "buffer %d: input %d, of %v", buffer, src, got)
		}
		require.Len(t, got, inputs)
	}
}

func TestVCsOfOnePortAreServedInTurn(t *testing.T) {
	for _, vcs := range []int{2, 3} {
		for _, batch := range []int{1, 2, 5, 64} { // paced links send one packet a frame
			r := newRig(t, 2, Config{VCs: vcs, InputBuffer: 8, OutputBuffer: 8, Firmware: (&scripted{
				route: func(_ *weft.Header, at Arrival, sw View) Decision { return To(sw, 1, at.VC, weft.NewFields(), "") },
			}).value()})
			var turn []weft.VC
			for vc := range weft.VC(vcs) {
				turn = append(turn, vc)
				for range 4 {
					r.arrive(0, vc, 7, 1)
				}
			}
			var got []weft.VC
			var f weft.Frame
			for r.Transmit(r.now, 1, batch, &f, &r.out) {
				for i := range f.Packets {
					got = append(got, f.Packets[i].VC)
				}
			}
			require.Equal(t, slices.Repeat(turn, 4), got, "%d VCs, frames of %d", vcs, batch)
		}
	}
}

func TestAVCWithoutCreditsDoesNotHoldUpTheOthers(t *testing.T) {
	r := newRig(t, 2, Config{VCs: 2, InputBuffer: 1, OutputBuffer: 2, Firmware: (&scripted{
		route: func(_ *weft.Header, at Arrival, sw View) Decision { return To(sw, 1, at.VC, weft.NewFields(), "") },
	}).value()})
	r.arrive(0, 0, 7, 1)
	r.arrive(0, 0, 7, 1)
	r.sent(1) // VC 0 has no credits now
	b := r.arrive(0, 1, 7, 1)
	require.Equal(t, []uint64{b}, r.sent(1))
	require.Equal(t, map[Stall]uint64{StallNoCredit: 1}, r.stalls(1, 0))
	require.Empty(t, r.stalls(1, 1))
}
