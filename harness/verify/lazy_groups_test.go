package verify

import (
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware"
)

// With so many dead links in each switch group, what is found of every pair is what exploring each
// set finds.
func TestFaultsPerGroupAtOnceAreAsOneByOne(t *testing.T) {
	for _, c := range []struct {
		on    string
		most  int
		when  When
		takes func(testing.TB) // what it asks for, if it takes long
	}{
		{on: "kary-ntree:2,2", most: 3},
		{on: "kary-ntree:3,2", most: 3},
		{on: "kary-ntree:2,3", most: 1},
		{on: "kary-ntree:2,3", most: 1, when: Arriving, takes: testenv.Long},
		{on: "mport-tree:4,2", most: 2, takes: testenv.Long},
		{on: "kary-ntree:2,3", most: 2, takes: testenv.Nightly},
	} {
		for _, fw := range covered() {
			config := Config{
				Graph: topologytest.Parse(t, c.on), Firmware: fw, When: c.when, Sets: Sets{Max: c.most, PerGroup: true},
			}
			t.Run(c.on+"/"+fw.Name, func(t *testing.T) {
				t.Parallel()
				if c.takes != nil {
					c.takes(t)
					testenv.OneIn(t, 3)
				}
				testenv.Unraced(t)
				r := lazyRunOf(t, config)
				sum := new(big.Int)
				for _, n := range r.Sets.counts() {
					sum.Add(sum, n)
				}
				require.True(t, sum.IsUint64())
				require.Equal(t, sum.Uint64(), r.total)
				r.sameBothWays(t)
			})
		}
	}
}

// k-1 dead links in each switch group disconnect nothing, whatever the set, and k do.
func TestKMinus1DeadLinksInEachSwitchGroupDisconnectNothing(t *testing.T) {
	testenv.Unraced(t)
	for _, most := range []int{2, 3} {
		r, err := Run(t.Context(), Config{
			Graph: topologytest.Parse(t, "kary-ntree:3,3"), Firmware: firmware.DeterministicLink(),
			Sets: Sets{Max: most, PerGroup: true},
		})
		require.NoError(t, err)
		assert.Equal(t, Lazy, r.Method)
		assert.Equal(t, most == 2, r.Pass)
		if most == 3 {
			assert.Len(t, r.Counter.Faults, 3)
		}
	}
}

// A walk that forgets how many links of a group are dead meets more than there are.
func TestDeadLinksOfAGroupThatAreForgottenInventFailures(t *testing.T) {
	testenv.Unraced(t)
	r := lazyRunOf(t, Config{
		Graph: topologytest.Parse(t, "kary-ntree:3,3"), Firmware: firmware.DeterministicLink(),
		Sets: Sets{Max: 2, PerGroup: true},
	})
	forgets := func(w *lazyWalk, known []fact, to int32) []fact {
		return slices.DeleteFunc(w.relevant(known, to), func(is fact) bool { return int32(is>>1) >= w.groups.base })
	}
	found, err := r.find(t.Context(), (*lazyWalk).relevant)
	require.NoError(t, err)
	assert.Zero(t, found.sum.failing)
	found, err = r.find(t.Context(), forgets)
	require.NoError(t, err)
	assert.NotZero(t, found.sum.failing)
}
