package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// Each switch holds a packet from NIC 7 to NIC 1 that came first, and one from 8 that came later.
func TestTheOldestPacketSaysForWhatItWaits(t *testing.T) {
	for what, c := range map[string]struct {
		rig  func(t *testing.T) *rig
		want Oldest
	}{
		"it waits for the link to be free, or a credit": {
			func(t *testing.T) *rig { return newRig(t, 3, Config{}) },
			Oldest{Queued: true, For: []Output{{Port: 1}}},
		},
		"its only link is down": {
			func(t *testing.T) *rig {
				r := newRig(t, 3, Config{})
				r.cut(1)
				return r
			},
			Oldest{For: []Output{{Port: 1}}},
		},
		"any of two links would do": {
			func(t *testing.T) *rig {
				r := newRig(t, 4, Config{Firmware: to(map[weft.NICID]Decision{1: ways(1, 3)}).value()})
				r.cut(1)
				r.cut(3)
				return r
			},
			Oldest{For: []Output{{Port: 1}, {Port: 3}}},
		},
		"the firmware has not been asked": {
			func(t *testing.T) *rig { return newAskingRig(t, 3, to(map[weft.NICID]Decision{1: ways(1)}), Config{}) },
			Oldest{Asked: true},
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := c.rig(t)
			var now Reading
			r.Read(&now)
			require.Zero(t, now.Oldest)
			require.Nil(t, r.Snapshot().Oldest)
			r.arrive(0, 0, 7, 1)
			c.want.Since = r.now
			r.arrive(2, 0, 8, 1)
			r.now += weft.Second
			got := *r.Snapshot().Oldest
			require.EqualValues(t, 7, got.Header.Src)
			got.Header = weft.Header{}
			require.Equal(t, c.want, got)
			r.Read(&now)
			require.Equal(t, c.want.Since, now.Oldest)
		})
	}
}

// Also while the firmware thinks, and again once the packet has gone.
func TestTheOldestPacketIsTheNextOneOnceItHasGone(t *testing.T) {
	r := newAskingRig(t, 3, to(map[weft.NICID]Decision{1: ways(1), 2: ways(2)}), Config{})
	r.arrive(0, 0, 7, 1)
	b := r.take()
	require.True(t, r.Snapshot().Oldest.Asked)
	r.answer(b)
	require.True(t, r.Snapshot().Oldest.Queued)
	second := r.arrive(0, 0, 7, 2)
	r.sent(1)
	require.Equal(t, second, r.Snapshot().Oldest.Header.Seq)
}
