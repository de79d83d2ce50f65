package verify

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Switches as well as links, whenever the faults come: what exploring all sets at once says of
// every pair is what exploring each says.
func TestAllSetsAtOnceOfEveryKindAreAsOneByOne(t *testing.T) {
	for _, c := range []manySets{
		{on: "kary-ntree:2,2", kind: Any, most: 4},
		{on: "kary-ntree:3,2", kind: Any, most: 3},
		{on: "kary-ntree:2,3", kind: Any, most: 2},
		{on: "kary-ntree:2,3", kind: Switches, most: 3},
		{on: "kary-ntree:2,2", kind: Any, when: Arriving, most: 3},
		{on: "kary-ntree:2,3", kind: Links, when: Arriving, most: 2},
		{on: "kary-ntree:2,3", kind: Switches, when: Arriving, most: 2},
		{on: "kary-ntree:2,2", kind: Any, when: Flapping, most: 3},
		{on: "kary-ntree:2,3", kind: Links, when: Flapping, most: 2},
		{on: "kary-ntree:3,2", kind: Links, when: Flapping, most: 3, atOnce: 2},
		{on: "kary-ntree:2,3", kind: Switches, when: Flapping, most: 2},
		{on: "kary-ntree:2,3", kind: Any, when: Flapping, most: 1, single: true},
		{on: "kary-ntree:2,3", kind: Links, when: Repaired, most: 2, atOnce: 1},
		{on: "kary-ntree:3,2", kind: Any, when: Repaired, most: 3, atOnce: 2},
		{on: "kary-ntree:2,3", kind: Any, most: 3, long: true},
		{on: "kary-ntree:2,3", kind: Any, when: Arriving, most: 2, long: true},
		{on: "kary-ntree:2,3", kind: Any, when: Flapping, most: 2, long: true},
		{on: "kary-ntree:2,3", kind: Any, when: Flapping, most: 2, single: true, long: true},
		{on: "kary-ntree:2,3", kind: Switches, when: Flapping, most: 3, atOnce: 1, single: true, long: true},
		{on: "kary-ntree:3,2", kind: Any, most: 4, long: true},
		{on: "kary-ntree:3,2", kind: Any, when: Arriving, most: 3, long: true},
		{on: "kary-ntree:2,4", kind: Any, most: 2, hours: true},
		{on: "mport-tree:4,2", kind: Any, most: 4, long: true},
		{on: "mport-tree:4,3", kind: Any, most: 2, long: true},
		{on: "kary-ntree:3,3", kind: Switches, most: 2, long: true},
		{on: "kary-ntree:3,3", kind: Any, most: 2, hours: true},
	} {
		c.each(t, covered(), func(t *testing.T, r *run) { r.sameBothWays(t) })
	}
}

// sameBothWays holds what exploring all sets at once says of every pair against exploring each.
func (r *run) sameBothWays(t *testing.T) {
	t.Helper()
	want, falls := r.enumerated(t)
	got, err := r.find(t.Context(), (*lazyWalk).relevant)
	require.NoError(t, err)
	fewest := int32(never)
	for f := range want {
		for i, p := range want[f] {
			q := got.pairs[f][i]
			if got.choices && p.fails < never {
				q.hops = p.hops // those that not every choice delivers are in it
			}
			src, dst := r.model.flows[f].srcs[i], r.model.flows[f].dst
			require.Equal(t, p, q, "from %v to %v", src, dst)
			fewest = min(fewest, p.fails)
		}
	}
	if w := got.wrong; w != nil {
		c, err := r.shows(w)
		require.NoError(t, err)
		assert.Equal(t, w.what, c.What)
		assert.LessOrEqual(t, len(w.dead), int(fewest))
	}
	assert.Equal(t, fewest < never || falls, got.wrong != nil)
}
