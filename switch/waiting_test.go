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
