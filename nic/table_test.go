package nic

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

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
	require.LessOrEqual(t, made(tab)*len(page[uint64]{}), 51*32,
		"the first packets to fifty others do not make room for all")
	for i := range 50 {
		require.Equal(t, uint64(i+1), tab.get(weft.NICID(i*233)))
	}
	require.Equal(t, uint64(99), tab.get(nics-1))
}

func TestATallyKeepsEachNumber(t *testing.T) {
	const nics = 1000
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		tab, want := tally{nics: nics}, map[weft.NICID]uint64{}
		for range 2000 {
			id := weft.NICID(r.IntN(nics))
			v := r.Uint64() >> r.IntN(64)
			tab.set(id, v)
			want[id] = v
		}
		for i := range weft.NICID(nics) {
			require.Equal(t, want[i], tab.get(i), "seed %d, entry %d", seed, i)
		}
	}
}
