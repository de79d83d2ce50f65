package nic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestTheNextPacketsOfAFlowAreMarkedWhenTheyLeave(t *testing.T) {
	r := newRig(t, Config{})
	for _, dst := range []weft.NICID{1, 2, 1} {
		r.send(dst)
	}
	require.NoError(t, r.Mark(1, 1))
	require.NoError(t, r.Mark(1, 2), "these are three")
	for range 2 {
		r.send(1)
	}
	r.now = 17
	traced := map[weft.NICID][]bool{}
	for range 5 {
		got := r.take(1)
		require.Len(t, got, 1)
		h := got[0]
		traced[h.Dst] = append(traced[h.Dst], h.Traced)
		if h.Traced {
			require.Equal(t, []weft.Egress{{At: 17, Queued: 17, Header: h}}, r.out.Egress)
		} else {
			require.Empty(t, r.out.Egress)
		}
		r.neighbour.Free(h.VC)
		r.hand()
	}
	require.Equal(t, map[weft.NICID][]bool{1: {true, true, true, false}, 2: {false}}, traced)
	require.Empty(t, r.marks)
}

func TestMarksThatNoPacketHasTakenAreTakenBack(t *testing.T) {
	r := newRig(t, Config{})
	require.Zero(t, r.Unmark(1, 5), "there are none")
	require.NoError(t, r.Mark(1, 3))
	require.Equal(t, 2, r.Unmark(1, 2))
	require.Equal(t, 1, r.Unmark(1, 2))
	require.Zero(t, r.Unmark(1, 2))
	require.Empty(t, r.marks)
}

func TestMarksThatCannotBeAreRefused(t *testing.T) {
	r := newRig(t, Config{})
	require.ErrorIs(t, r.Mark(8, 1), ErrNoSuchNIC)
	require.ErrorContains(t, r.Mark(1, 0), "expected 1 to 65536")
	require.NoError(t, r.Mark(1, MaxMarks))
	require.ErrorContains(t, r.Mark(1, 1), "beside 65536")
}

func TestANICKnowsWhetherItHasPacketsOfItsOwnToSend(t *testing.T) {
	r := newRig(t, Config{})
	require.False(t, r.Generates())
	require.NoError(t, r.SetSource(r.now, Source{Plan: []Planned{{At: 5, Dst: 1, Bytes: 64}}}, &r.out))
	require.True(t, r.Generates())
	require.False(t, r.Waits())
	r.Tick(5, &r.out)
	require.False(t, r.Generates())
	require.True(t, r.Waits())
}
