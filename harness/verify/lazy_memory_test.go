package verify

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// What a walk says that it keeps is what the heap has more, about.
func TestAWalkKnowsWhatItKeeps(t *testing.T) {
	testenv.Unraced(t)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r := lazyRunOf(t, Config{
		Graph: topologytest.Parse(t, "kary-ntree:4,3"), Firmware: firmware.DeterministicSwitch{}.Firmware(),
		Sets: Sets{Kind: Any, Max: 5},
	})
	before := heap()
	w := newLazyWalk(r.model, r.most(), newMortals(r.model, &r.Sets, false))
	fresh := heap()
	require.NoError(t, w.walk(t.Context(), 0))
	kept := heap() - fresh
	t.Logf("%d bytes, said %d, %d before the walk", kept, w.bytes(), fresh-before)
	require.Greater(t, kept, int64(1<<20))
	assert.Less(t, w.bytes(), 3*kept)
	assert.Greater(t, 2*w.bytes(), kept)
}

// What takes more memory than there is is explored alone, and pair by pair, and what is found is
// the same.
func TestWithLittleMemoryAllIsFoundPairByPair(t *testing.T) {
	testenv.Unraced(t)
	for _, c := range []manySets{
		{on: "kary-ntree:3,2", kind: Links, most: 3},
		{on: "kary-ntree:2,3", kind: Any, most: 2},
		{on: "kary-ntree:3,2", kind: Links, when: Arriving, most: 2},
	} {
		some := []switching.Firmware{
			firmware.DeterministicLink(), firmware.DeterministicSwitch{}.Firmware(), firmware.MisrouteVector{}.Firmware(),
			unnumbered(),
		}
		c.each(t, some, func(t *testing.T, r *run) {
			want, err := r.find(t.Context(), (*lazyWalk).relevant)
			require.NoError(t, err)
			o := newMortals(r.model, &r.Sets, false)
			w := newLazyWalk(r.model, r.most(), o)
			large, small := int64(0), int64(0)
			for i := range len(r.model.flows[0].srcs) + 1 {
				w.shrink()
				w.only = i
				require.NoError(t, w.walk(t.Context(), 0))
				if i == 0 {
					large = w.bytes()
				} else {
					small = max(small, w.bytes())
				}
			}
			assert.Less(t, small, large)
			for _, spare := range []int64{large, small} {
				r.Workers, r.spare = 3, spare
				got, err := r.find(t.Context(), (*lazyWalk).relevant)
				for ; errors.Is(err, errTooLittle); r.spare += small / 2 { // another pair needs more
					got, err = r.find(t.Context(), (*lazyWalk).relevant)
				}
				require.NoError(t, err)
				assert.Equal(t, want.pairs, got.pairs)
				assert.Equal(t, want.sum, got.sum)
				assert.Equal(t, want.wrong != nil, got.wrong != nil)
				assert.Equal(t, want.cyclic, got.cyclic)
				pairs := 0
				for _, c := range got.classes {
					pairs += c.Pairs
				}
				assert.Equal(t, len(r.model.g.NICs)*(len(r.model.g.NICs)-1), pairs)
			}
		})
	}
}

func TestAPairThatTakesTooMuchMemoryIsNamed(t *testing.T) {
	r := lazyRun(t, "kary-ntree:4,3", firmware.DeterministicLink(), 7)
	r.spare = 1 << 10
	_, err := r.find(t.Context(), (*lazyWalk).relevant)
	require.ErrorIs(t, err, errTooLittle)
	require.ErrorContains(t, err,
		"to explore the pair of n001 and n000 takes more than 1.0 KiB, with 7 faults: give more "+
			"memory, or ask for fewer faults")
	require.True(t, gaveUp(err))

	c := Config{
		Graph: topologytest.Parse(t, "kary-ntree:8,3"), Firmware: firmware.DeterministicLink(), Sets: Sets{Max: 7},
		Memory: 1 << 20,
	}
	_, err = Run(t.Context(), c)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "1.0 MiB of memory: kary-ntree:8,3 with its routing takes ")
	c.Memory = -1
	_, err = Run(t.Context(), c)
	require.ErrorContains(t, err, "-1 bytes of memory")
	c.Memory = 1 << 40
	assert.True(t, ran(t, c).Pass)
}
