package verify

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Where packets are taken for others by renumbering, what is found of every pair is what exploring
// each set finds, also far beyond k-1, and for mutants.
func TestFoldedSetsAreAsOneByOne(t *testing.T) {
	symmetric := slices.DeleteFunc(covered(), func(fw switching.Firmware) bool { return !fw.Symmetric })
	for _, c := range []manySets{
		{on: "kary-ntree:2,2", most: 4},
		{on: "kary-ntree:3,2", most: 3},
		{on: "kary-ntree:2,3", most: 3},
		{on: "mport-tree:4,2", most: 3},
		{on: "leaf-spine:3,2,2", most: 3},
		{on: "kary-ntree:2,3", kind: Any, most: 2},
		{on: "kary-ntree:2,3", when: Arriving, most: 2},
		{on: "kary-ntree:2,2", when: Repaired, most: 3},
		{on: "kary-ntree:2,2", when: Flapping, kind: Any, most: 3},
		{on: "kary-ntree:3,2", when: Flapping, most: 3, atOnce: 2},
		{on: "kary-ntree:3,2", most: 5, long: true},
		{on: "kary-ntree:4,2", most: 4, long: true},
		{on: "kary-ntree:2,3", most: 4, long: true},
		{on: "kary-ntree:2,4", most: 2, long: true},
		{on: "kary-ntree:3,3", most: 2, long: true},
		{on: "kary-ntree:3,3", kind: Any, most: 2, hours: true},
		{on: "kary-ntree:3,3", most: 3, hours: true},
		{on: "mport-tree:4,3", most: 3, hours: true},
		{on: "mport-tree:6,2", most: 4, long: true},
	} {
		c.each(t, symmetric, func(t *testing.T, r *run) {
			r.folded = true
			r.sameBothWays(t)
		})
	}
}

// A firmware that says that port numbers do not matter, and sends by the first port of those it
// has, is found out, and its states are not folded.
func TestStatesOfFirmwareThatMindsPortNumbersAreNotFolded(t *testing.T) {
	testenv.Unraced(t)
	for _, fw := range covered() {
		if fw.Symmetric {
			r := lazyRun(t, "kary-ntree:3,3", fw, 2)
			r.folded = true
			found, err := r.find(t.Context(), (*lazyWalk).relevant)
			require.NoError(t, err)
			minds := fw.Name == "misroute-vector, first of what it offers"
			assert.Equal(t, minds, found.doubt != "", fw.Name)
			assert.Equal(t, minds, found.nodes > 1000, "%s: %d nodes", fw.Name, found.nodes)
		}
	}
}

// A vector in a header that is of the switch two tiers below the fault is renumbered with that
// one's ports.
func TestAdaptiveSwitchHeaderHoldsInWideTrees(t *testing.T) {
	testenv.Unraced(t)
	r, err := Run(t.Context(), Config{
		Graph: topologytest.Parse(t, "mport-tree:36,3"), Firmware: firmware.AdaptiveSwitchHeader(), Sets: Sets{Max: 17},
	})
	require.NoError(t, err)
	assert.True(t, r.Pass && r.Released, r)
	assert.Empty(t, r.Asymmetry)
}

// R_m holds with 17 dead links in a tree of 36-port switches, and one more disconnects a pair.
func TestMisrouteVectorHoldsInWideTrees(t *testing.T) {
	testenv.Unraced(t)
	for _, most := range []int{17, 18} {
		r, err := Run(t.Context(), Config{
			Graph: topologytest.Parse(t, "mport-tree:36,2"), Firmware: firmware.MisrouteVector{}.Firmware(),
			Sets: Sets{Max: most},
		})
		require.NoError(t, err)
		assert.Equal(t, Lazy, r.Method)
		if most == 17 {
			assert.True(t, r.Pass && r.Released, r)
			assert.False(t, r.CDGAcyclic, "the dependencies of all sets together have a cycle")
			assert.Zero(t, r.Unconnected)
			assert.Nil(t, r.Counter)
			continue
		}
		assert.Equal(t, "deadlock", r.Undecided, "a packet may find no way up with nothing dead")
		assert.Equal(t, uint64(r.Pairs-648*17), r.Unconnected, "all pairs but those of one leaf")
		assert.Len(t, r.Counter.Faults, 18)
	}
}
