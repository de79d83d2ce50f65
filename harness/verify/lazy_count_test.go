package verify

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
)

// connected is how many sets of each size connect all pairs, by exploring each.
func (r *run) connected(t *testing.T) []uint64 {
	t.Helper()
	x := newExplorer(r.model, nil)
	list := make([]uint64, r.Sets.Max+1)
	for i := range r.total {
		set := r.Sets.at(i)
		found, err := x.run(set)
		require.NoError(t, err)
		if found.unconnected == 0 {
			list[len(set)]++
		}
	}
	return list
}

// The sets in which something fails are counted as exploring each counts them, and random sets say
// what the count says.
func TestSetsThatFailAreCountedAsOneByOne(t *testing.T) {
	for _, c := range []manySets{
		{on: "kary-ntree:2,2", kind: Links, most: 4},
		{on: "kary-ntree:2,2", kind: Any, most: 4},
		{on: "kary-ntree:2,3", kind: Links, most: 3},
		{on: "kary-ntree:2,3", kind: Any, most: 2},
		{on: "kary-ntree:2,3", kind: Links, when: Arriving, most: 2},
		{on: "kary-ntree:2,2", kind: Any, when: Arriving, most: 3},
		{on: "kary-ntree:2,2", kind: Any, when: Flapping, most: 3},
		{on: "kary-ntree:2,2", kind: Links, when: Repaired, most: 3},
		{on: "kary-ntree:2,2", kind: Links, when: Repaired, most: 3, atOnce: 2},
		{on: "kary-ntree:2,2", kind: Links, when: Flapping, most: 3, atOnce: 1},
		{on: "kary-ntree:3,2", kind: Links, most: 4, long: true},
		{on: "kary-ntree:3,2", kind: Any, most: 4, long: true},
		{on: "kary-ntree:2,3", kind: Switches, most: 3, long: true},
		{on: "mport-tree:4,3", kind: Links, most: 2, long: true},
	} {
		c.each(t, covered(), func(t *testing.T, r *run) {
			list, ok, err := r.failing(t.Context())
			require.NoError(t, err)
			require.True(t, ok)
			for size, want := range r.connected(t) {
				bad, ok := r.completed(t.Context(), list, size)
				require.True(t, ok)
				all := r.Sets.ofSize(size)
				require.Equal(t, want, all-bad, "of %d faults", size)
				s, share := r.drawn(t.Context(), list, size), float64(want)/float64(all)
				assert.LessOrEqual(t, s.Low-0.01, share, "%+v", s)
				assert.GreaterOrEqual(t, s.High+0.01, share, "%+v", s)
			}
		})
	}
}

// Where sets are too many to explore one by one, they are counted all the same.
func TestTheShareOfSetsBeyondKMinus1(t *testing.T) {
	r, err := Run(t.Context(), Config{
		Graph: topologytest.Parse(t, "kary-ntree:4,3"), Firmware: firmware.DeterministicLink(), Sets: Sets{Max: 5},
	})
	require.NoError(t, err)
	assert.Equal(t, Lazy, r.Method)
	for _, s := range r.ByFaults {
		assert.False(t, s.Uncounted, "%+v", s)
		assert.Equal(t, s.Faults < 4, s.Connected == s.Sets, "%+v", s)
	}
	assert.Len(t, r.Counter.Faults, 4)
}

// Patterns that fit a set are found as by trying each.
func TestAPatternThatFitsIsFound(t *testing.T) {
	const elements = 9
	rng := rand.New(rand.NewPCG(3, 3))
	found := 0
	for range 2000 {
		list := make([]pattern, rng.IntN(12))
		for i := range list {
			for e := range int32(elements) {
				switch rng.IntN(6) {
				case 0, 1:
					list[i].dead = append(list[i].dead, e)
				case 2:
					list[i].up = append(list[i].up, e)
				}
			}
		}
		slices.SortFunc(list, func(a, b pattern) int { return slices.Compare(a.dead, b.dead) })
		set := draw(rng, elements, rng.IntN(elements))
		slices.Sort(set)
		in := make([]bool, elements)
		for _, e := range set {
			in[e] = true
		}
		want := slices.ContainsFunc(list, func(p pattern) bool {
			return !slices.ContainsFunc(p.dead, func(e int32) bool { return !in[e] }) &&
				!slices.ContainsFunc(p.up, func(e int32) bool { return in[e] })
		})
		require.Equal(t, want, fits(list, 0, set, in), "%v of %v", set, list)
		if want {
			found++
		}
	}
	require.Positive(t, found)
}

// Who interrupts the counting does not wait for it.
func TestCountingEndsWhenItIsInterrupted(t *testing.T) {
	r := &run{Config: Config{Sets: Sets{elements: make([]Element, 8)}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	list := []pattern{{dead: []int32{1}}}
	_, ok := r.completed(ctx, list, 2)
	assert.False(t, ok)
	assert.Nil(t, r.drawn(ctx, list, 2))
}
