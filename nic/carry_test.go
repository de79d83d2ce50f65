package nic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// Whoever sends is held back when much waits, and hears of it when half of that has left.
func TestCarryIsHeldBackUntilThereIsRoom(t *testing.T) {
	r := newRig(t, Config{})
	r.Attach()
	n := 0
	for ; ; n++ {
		if _, err := r.Carry(r.now, 1, weft.Payload(n+1), weft.MaxPayload, &r.out); err != nil {
			require.ErrorIs(t, err, ErrQueueFull)
			break
		}
	}
	require.Equal(t, MostCarried/(weft.MaxPayload+weft.PayloadOverhead), n)
	room := false
	for i, rounds := 0, 0; i < n && !room; rounds++ {
		require.Less(t, rounds, 2*n, "packets leave")
		for _, h := range r.take(2) {
			i++
			require.EqualValues(t, i, h.Payload, "payloads leave with their packets")
			require.EqualValues(t, weft.MaxPayload+weft.PayloadOverhead, h.Size)
			if r.neighbour.Held(h.VC) > 0 {
				r.neighbour.Free(h.VC)
			}
		}
		room = r.out.Room
		r.hand() // credits
	}
	require.True(t, room)
}

func TestCarryRefusesWhatCannotBe(t *testing.T) {
	r := newRig(t, Config{})
	r.Attach()
	for _, size := range []int{0, weft.MaxPayload + 1} {
		_, err := r.Carry(r.now, 1, 1, size, &r.out)
		require.ErrorIs(t, err, ErrSize)
	}
	_, err := r.Carry(r.now, 8, 1, 1, &r.out)
	require.ErrorIs(t, err, ErrNoSuchNIC)
}

// Credits come back only as what was delivered is taken, once much waits.
func TestANICHoldsBackWhatNobodyTakes(t *testing.T) {
	r := newRig(t, Config{ID: 3})
	r.Attach()
	given, bytes := 0, 0
	for r.neighbour.Credits(0) > 0 {
		require.Less(t, bytes, MostWaiting+4*weft.MaxPayload, "it does not hold back")
		r.hand(weft.Header{Src: 1, Dst: 3, Seq: uint64(given), Size: weft.MaxPayload, Payload: 7})
		require.Len(t, r.out.Carried, 1)
		given, bytes = given+1, bytes+weft.MaxPayload
		r.take(0)
	}
	require.Greater(t, bytes, MostWaiting)
	r.out.Reset()
	r.Taken(bytes, &r.out)
	r.take(0)
	require.Equal(t, 2, r.neighbour.Credits(0))
}

// Of a NIC that is detached nothing waits: it takes all as one that nobody has ever attached does.
func TestADetachedNICHoldsNothingBack(t *testing.T) {
	r := newRig(t, Config{ID: 3})
	r.Attach()
	give := func(n int) (carried int) {
		for i := range n {
			if r.neighbour.Credits(0) == 0 {
				break
			}
			r.hand(weft.Header{Src: 1, Dst: 3, Seq: r.flows.get(1).next, Size: weft.MaxPayload, Payload: weft.Payload(i + 1)})
			carried += len(r.out.Carried)
			r.take(0)
		}
		return carried
	}
	most := MostWaiting/weft.MaxPayload + 10
	require.Less(t, give(most), most)
	require.Zero(t, r.neighbour.Credits(0))
	r.out.Reset()
	r.Detach(&r.out)
	r.take(0)
	require.Equal(t, 2, r.neighbour.Credits(0))
	require.Zero(t, give(most))
	require.Equal(t, 2, r.neighbour.Credits(0))
	r.Taken(weft.MaxPayload, &r.out) // late, of before
	r.Attach()
	require.Positive(t, give(1))
	require.Equal(t, weft.MaxPayload, r.carrier.waiting)
}
