package nic

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// receive has NIC 1 of four take packets from NIC 0 with these numbers, in this order.
func receive(t *testing.T, c Config, seqs ...uint64) Stats {
	t.Helper()
	c.ID, c.NICs, c.Buffer = 1, 4, 4
	r := newRig(t, c)
	for _, s := range seqs {
		r.hand(weft.Header{Src: 0, Dst: 1, Seq: s, Size: 1})
		r.take(0)
	}
	return r.Stats()
}

func TestFlowsBeginAnewWithTheirNICs(t *testing.T) {
	again := firstNumber(1)
	for _, c := range []struct {
		claim string
		own   uint32
		seqs  []uint64
		want  Stats
	}{
		{"a source made anew", 0, []uint64{0, 1, again, again + 1}, Stats{Delivered: 4}},
		{"what the anew source lost is missing", 0, []uint64{0, again + 2}, Stats{Delivered: 2, Missing: 2}},
		{"what the old source lost stays missing", 0, []uint64{2, again}, Stats{Delivered: 2, Missing: 2}},
		{
			"what the old source sent comes late, which is no disorder of the new flow", 0,
			[]uint64{0, again, 1, 2},
			Stats{Delivered: 4},
		},
		{"disorder of the new flow is", 0, []uint64{0, again + 1, again}, Stats{Delivered: 3, Reordered: 1}},
		{"a duplicate of the new flow", 0, []uint64{7, again, again}, Stats{Delivered: 2, Missing: 7, Duplicated: 1}},
		{"a receiver made anew", 3, []uint64{5000, 5001}, Stats{Delivered: 2}},
		{"and what goes missing after", 3, []uint64{5000, 5004}, Stats{Delivered: 2, Missing: 3}},
		{
			"what came before it is late, and was never missing", 3,
			[]uint64{5000, 5004, 4999},
			Stats{Delivered: 3, Missing: 3, Reordered: 1},
		},
		{
			"what it missed is not, once it comes", 3,
			[]uint64{5000, 5004, 5002},
			Stats{Delivered: 3, Missing: 2, Reordered: 1},
		},
		{"both", 3, []uint64{again + 9, again + 10}, Stats{Delivered: 2}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			require.Equal(t, c.want, receive(t, Config{Incarnation: c.own}, c.seqs...))
		})
	}
}

// Whatever a source sent, and in how many incarnations: nothing is duplicate or reordered that came
// in order, and exactly what was skipped within an incarnation, before something that came, is
// missing.
func TestIncarnationsKeepTheAccountsOfAFlow(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			var seqs []uint64
			var missing, skipped uint64
			for inc := uint32(0); inc < 4; inc += 1 + uint32(r.IntN(2)) {
				skipped = 0
				for i := range uint64(r.IntN(40)) {
					if r.IntN(3) == 0 {
						skipped++
						continue
					}
					seqs, missing, skipped = append(seqs, firstNumber(inc)+i), missing+skipped, 0
				}
			}
			require.Equal(t, Stats{Delivered: uint64(len(seqs)), Missing: missing}, receive(t, Config{}, seqs...))
		})
	}
}

func TestANICMadeAnewNumbersAboveItsPast(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		r := newRig(t, Config{ID: 0, NICs: 4, Incarnation: 2, Unordered: unordered})
		require.Equal(t, firstNumber(2), r.send(1))
		require.Equal(t, firstNumber(2)+1, r.send(1))
	}
	_, err := New(Config{NICs: 1, Rand: rand.NewPCG(1, 1), Incarnation: MaxIncarnation + 1})
	require.ErrorContains(t, err, "incarnation must be 0 to 16777215")
}
