package nic

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestArrivalsOfOneFlow(t *testing.T) {
	for _, c := range []struct {
		claim string
		seqs  []uint64
		want  []order
	}{
		{"in order", []uint64{0, 1, 2}, []order{inOrder, inOrder, inOrder}},
		{"a gap is no disorder", []uint64{0, 5, 9}, []order{inOrder, inOrder, inOrder}},
		{"one that was overtaken is late", []uint64{1, 0}, []order{inOrder, late}},
		{"one that comes again is a duplicate", []uint64{0, 0}, []order{inOrder, duplicate}},
		{"a late one that comes again is a duplicate", []uint64{1, 0, 0}, []order{inOrder, late, duplicate}},
		{"the first is remembered", []uint64{0, 63, 0}, []order{inOrder, inOrder, duplicate}},
		{"64 back is the last that is remembered", []uint64{0, 1, 64, 1, 0}, []order{inOrder, inOrder, inOrder, duplicate, late}},
		{"a jump beyond the window forgets all", []uint64{0, 1, 1000, 999, 1}, []order{inOrder, inOrder, inOrder, late, late}},
		{"a jump of exactly the window", []uint64{0, 64, 1, 63}, []order{inOrder, inOrder, late, late}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			var a arrivals
			var got []order
			for _, s := range c.seqs {
				got = append(got, a.take(s))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// The window is compared with a set of all that has arrived.
func TestArrivalsAgreeWithASet(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var a arrivals
		seen := map[uint64]bool{}
		highest, any := uint64(0), false
		spread := int64(1 + r.IntN(100))
		for i := range int64(3000) {
			seq := uint64(max(0, i/2+r.Int64N(2*spread)-spread))
			want := inOrder
			switch {
			case !any || seq > highest:
			case highest-seq >= 64:
				want = late
			case seen[seq]:
				want = duplicate
			default:
				want = late
			}
			if got := a.take(seq); got != want {
				t.Fatalf("seed %d: number %d after %d: %v, want %v", seed, seq, highest, got, want)
			}
			seen[seq] = true
			if !any || seq > highest {
				highest, any = seq, true
			}
		}
	}
}

func TestATableKeepsEachEntryApart(t *testing.T) {
	for _, nics := range []int{1, 256, 257, 1000} {
		tab := newTable[int](nics)
		for i := range nics {
			*tab.at(weft.NICID(i)) = i
		}
		for i := range nics {
			require.Equal(t, i, *tab.at(weft.NICID(i)))
		}
	}
	tab := newTable[int](1000)
	tab.at(999)
	require.Nil(t, tab.pages[0], "pages that nobody uses are not made")
}

func TestATableIsAsLargeAsWhatIsWrittenToIt(t *testing.T) {
	const nics = 11_664
	made := func(t table[uint64]) (pages int) {
		for _, p := range t.pages {
			if p != nil {
				pages++
			}
		}
		return pages
	}
	tab := newTable[uint64](nics)
	require.Zero(t, tab.get(nics-1))
	require.Zero(t, made(tab), "to read makes nothing")
	for i := range 50 {
		*tab.at(weft.NICID(i * 233)) = uint64(i + 1)
	}
	*tab.at(nics - 1) = 99
	require.LessOrEqual(t, made(tab)*len(page[uint64]{}), 51*32, "the first packets to fifty others do not make room for all")
	for i := range 50 {
		require.Equal(t, uint64(i+1), tab.get(weft.NICID(i*233)))
	}
	require.Equal(t, uint64(99), tab.get(nics-1))
}
