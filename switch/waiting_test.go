package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// waitsFor is the ports that the only blocked packet waits for.
func (r *rig) waitsFor() (ports []weft.PortID) {
	r.t.Helper()
	blocked := r.Snapshot().Blocked
	require.Len(r.t, blocked, 1)
	for _, o := range blocked[0].For {
		ports = append(ports, o.Port)
	}
	return ports
}

// full is a switch whose ports 1, 2 and 3 have no room left; a packet for 9 may go to any of them.
func full(t *testing.T, w Waiting) *rig {
	r := newRig(t, 4, Config{Waiting: w, InputBuffer: 8, OutputBuffer: 2})
	for dst := range weft.NICID(3) {
		r.fill(0, dst+1)
	}
	r.fw.routes[9] = ways(1, 2, 3)
	return r
}

func TestABlockedPacketGoesWhereverThereIsRoomFirst(t *testing.T) {
	for p := weft.PortID(1); p < 4; p++ {
		r := full(t, WaitForAll)
		r.arrive(0, 0, 7, 9)
		require.Equal(t, []weft.PortID{1, 2, 3}, r.waitsFor())
		r.send(p)
		require.Empty(t, r.blocked(), "room at %v", p)
	}
}

func TestABlockedPacketThatWaitsForOneStaysThoughThereIsRoomElsewhere(t *testing.T) {
	r := full(t, WaitForOne)
	seq := r.arrive(0, 0, 7, 9)
	one := r.waitsFor()
	require.Len(t, one, 1)
	for p := weft.PortID(1); p < 4; p++ {
		if p != one[0] {
			r.sent(p)
			require.Equal(t, []uint64{seq}, r.blocked(), "room at %v", p)
		}
	}
	r.send(one[0])
	require.Empty(t, r.blocked())
}

func TestTheOneWaitedForIsPickedInTurn(t *testing.T) {
	for _, ports := range [][]weft.PortID{{1, 2}, {1, 2, 3}} {
		r := full(t, WaitForOne)
		r.fw.routes[9] = ways(ports...)
		picked := map[weft.PortID]int{}
		for range 100 * len(ports) {
			r.arrive(0, 0, 7, 9)
			p := r.waitsFor()[0]
			picked[p]++
			r.send(p) // the packet takes the place, and the queue is full again
			r.free(p, 0)
		}
		for _, p := range ports {
			require.Equal(t, 100, picked[p], "%v", picked)
		}
	}
}

func TestTheOneWaitedForIsOfTheLowestClassWhosePortIsUp(t *testing.T) {
	r := full(t, WaitForOne)
	r.fw.routes[9] = escape([]weft.PortID{1, 2}, 3)
	r.cut(1)
	seq := r.arrive(0, 0, 7, 9)
	require.Equal(t, []weft.PortID{2}, r.waitsFor())
	r.cut(2)
	require.Equal(t, []weft.PortID{3}, r.waitsFor(), "the port that it waited for has died, so it is routed anew")
	r.cut(3)
	require.Equal(t, []weft.PortID{1, 2, 3}, r.waitsFor(), "none is up: it waits for whichever comes first")
	r.connect(2)
	require.Empty(t, r.blocked())
	require.Equal(t, []uint64{seq}, r.sent(2))
}

// ring is a switch that is one of a ring: what comes in at port 0 goes along it, what comes in at
// port 1 enters it, both by port 2.
func ring(t *testing.T) *rig {
	r := newRig(t, 3, Config{InputBuffer: 2, OutputBuffer: 2})
	r.fw.route = func(_ *weft.Header, at Arrival, _ View) Decision {
		d := ways(2)
		if at.Port == 1 {
			d.Candidates[0].Need = 2
		}
		return d
	}
	return r
}

// Packets go along the ring without a pause, each into the place that the one before has left.
// Those that wait to enter have their turn all the same.
func TestAPacketThatNeedsTwoPlacesHasItsTurn(t *testing.T) {
	r := ring(t)
	entered, along := 0, 0
	for round := range 100 {
		for p := range weft.PortID(2) {
			for r.settle(p); r.neighbour[p].Credits(0) > 0; r.settle(p) {
				r.arrive(p, 0, weft.NICID(p), 5)
			}
		}
		h, ok := r.send(2)
		require.True(t, ok, "round %d", round)
		r.free(2, 0)
		if h.Src == 1 {
			entered++
		} else {
			along++
		}
	}
	require.Greater(t, entered, 20)
	require.Greater(t, along, 40)
}

// When what is in the queue may stay there for ever, the last place is for those who go along the
// ring: it may be the only one that is free all around.
func TestNoPlaceIsKeptWhereTheQueueCannotMove(t *testing.T) {
	r := ring(t)
	for range 3 { // two for the neighbour, who keeps them
		r.arrive(0, 0, 0, 5)
		r.sent(2)
	}
	enters := r.arrive(1, 0, 1, 5)
	require.Equal(t, []uint64{enters}, r.blocked())
	r.arrive(0, 0, 0, 5)
	require.Equal(t, []uint64{enters}, r.blocked())
	require.Zero(t, r.room(r.channel(2, 0)))

	r.free(2, 0) // one goes, and there is no credit for the other
	r.sent(2)
	require.Equal(t, []uint64{enters}, r.blocked())
	last := r.arrive(0, 0, 0, 5)
	require.Equal(t, []uint64{enters}, r.blocked(), "packet %d goes along", last)
}

// A packet for which a place is kept may go elsewhere, or be discarded: then nothing is kept.
func TestWhatIsKeptIsLetGo(t *testing.T) {
	r := newRig(t, 4, Config{InputBuffer: 2, OutputBuffer: 2})
	r.fw.route = func(_ *weft.Header, at Arrival, sw View) Decision {
		if at.Port == 0 {
			return ways(2)
		}
		if !sw.PortUp(3) {
			return Discard("dead")
		}
		d := ways(2)
		d.Candidates[0].Need = 2
		return d
	}
	for range 2 {
		r.arrive(0, 0, 0, 5)
	}
	r.arrive(1, 0, 1, 5)
	require.NotEmpty(t, r.blocked())
	r.send(2)
	require.Equal(t, 1, r.wait.keeps)
	r.cut(3)
	require.Zero(t, r.wait.keeps)
	require.Empty(t, r.blocked())
	r.arrive(0, 0, 0, 5)
	require.Empty(t, r.blocked(), "the place is anybody's")
}
