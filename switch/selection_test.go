package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// escape is a decision with adaptive candidates and one escape candidate.
func escape(adaptive []weft.PortID, last weft.PortID) Decision {
	d := ways(adaptive...)
	for i := range d.Candidates {
		d.Candidates[i].Class = 1
	}
	d.Candidates = append(d.Candidates, Candidate{Port: last, Class: 2})
	return d
}

func TestALowerClassGoesFirstWheneverItHasRoom(t *testing.T) {
	for _, policy := range []Selection{MostCredits, Random, RoundRobin} {
		r := newRig(t, 4, Config{InputBuffer: 8, OutputBuffer: 2, Selection: policy})
		r.fw.routes[9] = escape([]weft.PortID{1, 2}, 3)
		for range 4 {
			r.arrive(0, 0, 7, 9)
		}
		require.Zero(t, r.ports[3].queued, "policy %d: the escape is last", policy)
		e := r.arrive(0, 0, 7, 9)
		require.Equal(t, []uint64{e}, r.sent(3), "policy %d: taken when the others are full", policy)
	}
}

func TestAClassIsTakenWhereverItStandsInTheList(t *testing.T) {
	for _, policy := range []Selection{MostCredits, Random, RoundRobin} {
		for range 4 { // the turn starts elsewhere each time
			r := newRig(t, 4, Config{Selection: policy, InputBuffer: 8})
			d := ways(1, 2, 3)
			d.Candidates[0].Class, d.Candidates[2].Class = 1, 2
			r.fw.routes[9] = d
			r.arrive(0, 0, 7, 9)
			require.Equal(t, int32(1), r.ports[2].queued)
		}
	}
}

func TestACandidateMayNeedMoreThanOneFreeSlot(t *testing.T) {
	r := newRig(t, 3, Config{InputBuffer: 8, OutputBuffer: 2})
	bubble := ways(1)
	bubble.Candidates[0].Need = 2
	r.fw.routes[9] = bubble
	a := r.arrive(0, 0, 7, 9)
	require.Empty(t, r.blocked(), "two slots are free")
	b := r.arrive(0, 0, 7, 9)
	require.Equal(t, []uint64{b}, r.blocked(), "one is not enough")
	h, _ := r.send(1)
	require.Equal(t, a, h.Seq)
	require.Empty(t, r.blocked(), "two again")

	// In the ring, with a need of one, a packet takes the last slot that the other must leave.
	c := r.arrive(0, 0, 7, 9)
	require.Equal(t, []uint64{c}, r.blocked())
	d := r.arrive(2, 0, 8, 1)
	require.Equal(t, []uint64{c}, r.blocked())
	_, _ = r.send(1)
	require.Equal(t, []uint64{c}, r.blocked(), "room for one wakes it in vain, and it goes on waiting")
	require.Equal(t, []uint64{d, c}, r.sent(1))
}

func TestMostCreditsTakesTheOutputWithTheMostRoomInQueueAndNeighbour(t *testing.T) {
	r := newRig(t, 3, Config{InputBuffer: 4, OutputBuffer: 4, Selection: MostCredits})
	r.fw.routes[9] = ways(1, 2)
	r.arrive(0, 0, 7, 1) // one more in the queue of port 1
	a := r.arrive(0, 0, 7, 9)
	require.Equal(t, []uint64{a}, r.sent(2))

	// The queues are empty but for one at port 1; the neighbour at port 2 holds one as well: equal.
	// Another there tips it.
	r.arrive(0, 0, 7, 2)
	r.sent(2)
	require.Less(t, r.ports[2].end.Credits(0), r.ports[1].end.Credits(0))
	b := r.arrive(0, 0, 7, 9)
	require.Contains(t, r.sent(1), b)
}

func TestMostCreditsBreaksTiesInTurn(t *testing.T) {
	r := newRig(t, 4, Config{Selection: MostCredits, OutputBuffer: 4})
	r.fw.routes[9] = ways(1, 2, 3)
	took := map[weft.PortID]int{}
	for range 300 {
		r.arrive(0, 0, 7, 9)
		for p := range weft.PortID(4) {
			if _, ok := r.send(p); ok {
				took[p]++
				r.free(p, 0)
			}
		}
	}
	require.Equal(t, map[weft.PortID]int{1: 100, 2: 100, 3: 100}, took)
}

func TestRoundRobinTakesTheCandidatesInTurn(t *testing.T) {
	r := newRig(t, 4, Config{Selection: RoundRobin, OutputBuffer: 8})
	r.fw.routes[9] = ways(1, 2, 3)
	for n := int32(1); n <= 8; n++ {
		for range 3 {
			r.arrive(0, 0, 7, 9)
		}
		for p := 1; p <= 3; p++ {
			require.Equal(t, n, r.ports[p].queued)
		}
	}
}

func TestRandomIsUniformOverTheCandidatesWithRoom(t *testing.T) {
	r := newRig(t, 5, Config{Selection: Random, OutputBuffer: 1})
	r.fw.routes[9] = ways(1, 2, 3, 4)
	r.fill(0, 1) // no room at port 1
	took := map[weft.PortID]int{}
	for range 3000 {
		r.arrive(0, 0, 7, 9)
		for p := weft.PortID(2); p < 5; p++ {
			if _, ok := r.send(p); ok {
				took[p]++
				r.free(p, 0)
			}
		}
	}
	for p := weft.PortID(2); p < 5; p++ {
		require.InDelta(t, 1000, took[p], 100, "%v", took)
	}
	require.Equal(t, int32(1), r.ports[1].queued)
}

func TestADeadCandidateIsNotTakenThoughTheFirmwareNamesIt(t *testing.T) {
	for _, policy := range []Selection{MostCredits, Random, RoundRobin} {
		r := newRig(t, 3, Config{Selection: policy, InputBuffer: 8, OutputBuffer: 8})
		r.fw.routes[9] = ways(1, 2)
		r.cut(1)
		for range 4 {
			r.arrive(0, 0, 7, 9)
		}
		require.Len(t, r.sent(2), 4)
	}
}
