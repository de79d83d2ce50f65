package nic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestAHeldNICGeneratesAndSendsNothing(t *testing.T) {
	r := newRig(t, Config{})
	r.Hold(true, &r.out)
	first, second := r.send(1), r.send(2)
	require.Empty(t, r.out.Ready)
	require.Empty(t, r.take(8))
	require.Equal(t, 2, r.Snapshot().Queued)
	require.EqualValues(t, 2, r.Stats().Injected)

	r.out.Reset()
	r.Hold(false, &r.out)
	require.Equal(t, []weft.PortID{0}, r.out.Ready)
	packets := r.take(8)
	require.Len(t, packets, 2)
	require.Equal(t, []uint64{first, second}, []uint64{packets[0].Seq, packets[1].Seq})
}

func TestAHeldNICStillTakesWhatArrives(t *testing.T) {
	r := newRig(t, Config{ID: 3})
	r.Hold(true, &r.out)
	r.send(1)
	r.hand(weft.Header{Src: 1, Dst: 3, Size: 100})
	require.EqualValues(t, 1, r.Stats().Delivered)
	require.Empty(t, r.take(8), "the credit alone")
}

func TestPacketsInTheSendQueueGetTheAddressesOfNow(t *testing.T) {
	in := map[weft.NICID][]weft.Address{
		1: {{VC: 0}}, 2: {{VC: 1, Path: 4}}, 3: {{VC: 1}}, 4: {{VC: 0}, {VC: 1}}, 5: nil,
	}
	r := newRig(t, Config{VCs: 3, Addresses: func(dst weft.NICID) []weft.Address { return in[dst] }})
	for range 2 {
		for dst := weft.NICID(1); dst <= 5; dst++ {
			r.send(dst)
		}
	}
	require.Zero(t, r.Readdress(&r.out), "they are those of now")

	in[1], in[2], in[3], in[4] = []weft.Address{{VC: 2, Layers: 4}}, []weft.Address{{VC: 0, Path: 1}}, nil,
		[]weft.Address{{VC: 1}, {VC: 0}}
	require.Equal(t, 6, r.Readdress(&r.out), "both to 1, 2 and 3")
	require.Zero(t, r.Readdress(&r.out))

	got := map[weft.NICID][]weft.Address{}
	next := map[weft.NICID]uint64{}
	for range 10 {
		for _, h := range r.take(1) {
			got[h.Dst] = append(got[h.Dst], weft.Address{VC: h.VC, Path: h.Path, Layers: h.Layers})
			if len(in[h.Dst]) < 2 { // in its layer
				require.Equal(t, next[h.Dst], h.Seq)
				next[h.Dst]++
			}
			r.neighbour.Free(h.VC)
			r.hand()
		}
	}
	for dst := weft.NICID(1); dst <= 5; dst++ {
		require.Len(t, got[dst], 2, "to %d", dst)
		for _, a := range got[dst] {
			if len(in[dst]) == 0 {
				require.Zero(t, a)
			} else {
				require.Contains(t, in[dst], a)
			}
		}
	}
	require.Zero(t, r.Snapshot().Queued)
}
