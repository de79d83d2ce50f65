package verify

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware"
)

// eachPairs is, for each pair by the names of its NICs, how many sets of each size connect it, by
// exploring each set.
func (r *run) eachPairs(t *testing.T) map[[2]string][]int64 {
	t.Helper()
	x := newExplorer(r.model, nil)
	list := map[[2]string][]int64{}
	name := func(f, source int) [2]string {
		fl := &r.model.flows[f]
		return [2]string{r.model.g.NICs[fl.srcs[source]].Name, r.model.g.NICs[fl.dst].Name}
	}
	for f := range r.model.flows {
		for i := range r.model.flows[f].srcs {
			for size := range r.Sets.Max + 1 {
				list[name(f, i)] = append(list[name(f, i)], int64(r.Sets.ofSize(size)))
			}
		}
	}
	for i := range r.total {
		set := r.Sets.at(i)
		_, err := x.run(set)
		require.NoError(t, err)
		for _, b := range x.bad {
			list[name(int(b.flow), int(b.source))][len(set)]--
		}
	}
	return list
}

// Every class has as many pairs as exploring each set finds that connect as many sets, and what it
// names as dead disconnects the pair that it names.
func TestClassesOfPairsAreThoseOfExploringEachSet(t *testing.T) {
	testenv.Unraced(t)
	for _, c := range []manySets{
		{on: "kary-ntree:2,2", kind: Links, most: 3},
		{on: "kary-ntree:2,2", kind: Any, most: 3},
		{on: "kary-ntree:2,3", kind: Links, most: 3},
		{on: "kary-ntree:2,3", kind: Any, most: 2},
		{on: "kary-ntree:2,3", kind: Switches, most: 2},
		{on: "kary-ntree:2,3", kind: Links, when: Arriving, most: 2},
		{on: "kary-ntree:2,2", kind: Any, when: Flapping, most: 2},
		{on: "kary-ntree:3,2", kind: Links, most: 4, long: true},
		{on: "mport-tree:4,3", kind: Links, most: 2, long: true},
		{on: "leaf-spine:3,2,2", kind: Any, most: 3, long: true},
	} {
		c.each(t, covered(), func(t *testing.T, r *run) {
			r.eachPair = false
			found, err := r.find(t.Context(), (*lazyWalk).relevant)
			require.NoError(t, err)
			require.Zero(t, found.more)
			pairs := r.eachPairs(t)
			want, got := map[string]int{}, map[string]int{}
			for _, connected := range pairs {
				want[r.shareKey(connected)]++
			}
			for _, c := range found.classes {
				connected := make([]int64, r.Sets.Max+1)
				for size := range connected {
					connected[size] = int64(r.Sets.ofSize(size))
				}
				for _, s := range c.ByFaults {
					require.Equal(t, s.Sets, big.NewInt(connected[s.Faults]))
					require.NotNil(t, s.Connected, "%+v", c)
					connected[s.Faults] = s.Connected.Int64()
				}
				got[r.shareKey(connected)] += c.Pairs
				assert.Equal(t, pairs[[2]string{c.From, c.To}], connected, "%+v", c)
				r.shownToFail(t, c)
			}
			assert.Equal(t, want, got)
		})
	}
}

func (r *run) shareKey(connected []int64) string { return fmt.Sprint(connected) }

// shownToFail explores what a class names as dead.
func (r *run) shownToFail(t *testing.T, c PairClass) {
	t.Helper()
	if c.Verdict == Holds {
		assert.Empty(t, c.Dead)
		return
	}
	require.Len(t, c.Dead, c.Faults)
	var set []Element
	for _, name := range c.Dead {
		e, err := ElementByName(r.Graph, name)
		require.NoError(t, err)
		set = append(set, e)
	}
	x := newExplorer(r.model, nil)
	_, err := x.run(set)
	require.NoError(t, err)
	assert.True(t, slices.ContainsFunc(x.bad, func(b badPair) bool {
		fl := &r.model.flows[b.flow]
		return r.Graph.NICs[fl.srcs[b.source]].Name == c.From && r.Graph.NICs[fl.dst].Name == c.To
	}), "%+v", c)
}

// Where the ways to fail are too many, random sets say what the count says.
func TestRandomSetsSayOfAPairWhatTheCountSays(t *testing.T) {
	testenv.Unraced(t)
	for _, kind := range []Kind{Links, Any} {
		r := lazyRunOf(t, Config{
			Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: firmware.DeterministicLink(),
			Sets: Sets{Kind: kind, Max: 4},
		})
		w := newLazyWalk(r.model, 4, newMortals(r.model, &r.Sets, false))
		require.NoError(t, w.walk(t.Context(), 0))
		for i := range r.model.flows[0].srcs {
			roots := w.roots(0, i, w.likes(0))
			bad := w.overlapping(r, roots)
			for size := range bad {
				s := w.sampled(r, roots, size)
				all := float64(r.Sets.ofSize(size))
				share := 1 - float64(bad[size].Int64())/all
				assert.LessOrEqual(t, s.Low-0.02, share, "%d faults of kind %s", size, kind)
				assert.GreaterOrEqual(t, s.High+0.02, share, "%d faults of kind %s", size, kind)
			}
		}
	}
}

// With 10^12 sets the share of those that connect a pair is exact.
func TestTheShareOfAPairInWideTrees(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	r, err := Run(t.Context(), Config{
		Graph: topologytest.Parse(t, "mport-tree:16,2"), Firmware: firmware.DeterministicLink(), Sets: Sets{Max: 8},
	})
	require.NoError(t, err)
	require.Len(t, r.Counter.Faults, 8)
	pairs := 0
	for _, c := range r.Classes {
		pairs += c.Pairs
		if c.Verdict == Holds {
			continue
		}
		require.Equal(t, 8, c.Faults)
		require.Len(t, c.Dead, 8)
		require.Len(t, c.ByFaults, 1)
		s := c.ByFaults[0]
		assert.Equal(t, new(big.Int).Binomial(128, 8), s.Sets)
		fails := new(big.Int).Sub(s.Sets, s.Connected)
		assert.Positive(t, fails.Sign())
		assert.Less(t, fails.Cmp(big.NewInt(1<<16)), 1, "few sets: the links of a leaf, and mixtures of two")
	}
	assert.Equal(t, r.Pairs, pairs)
}
