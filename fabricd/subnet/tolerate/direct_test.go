package tolerate

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// counted counts the sets of k links.
func counted(t *testing.T, n *direct.Net, region []weft.LinkID, m direct.Mechanisms, k int,
	symmetries []Symmetry,
) (c Counts) {
	t.Helper()
	sets, err := NewSets(region, k, symmetries)
	require.NoError(t, err)
	j := n.NewEvaluator(m)
	for i := range sets.Parts() {
		require.True(t, sets.Count(i, j, &c, nil))
	}
	require.NoError(t, sets.Complete(&c))
	return c
}

// What is counted by orbits is what comes of asking the engine about each set by itself.
func TestCountsAreThoseOfTheEngineForEverySet(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, c := range []struct {
		spec string
		most int
	}{{"torus:3x3", 2}, {"torus:4x4", 1}, {"torus:2x3", 2}, {"mesh:3x3", 2}} {
		n := netOf(t, c.spec)
		for _, text := range manyMechanisms {
			m := mechanisms(t, text)
			for k := range c.most + 1 {
				var each Counts
				eachSet(Links(n.Graph()), k, func(dead []weft.LinkID) {
					s := n.Solve(m, func(l *topology.Link) bool { return slices.Contains(dead, l.ID) }, nil)
					each.add(&s.Counts, 1, 0, dead)
				})
				got := counted(t, n, Links(n.Graph()), m, k, Symmetries(n, m))
				got.Judged, each.Judged = 0, 0
				if !assert.Equal(t, each, got, "%s %s, %d faults", c.spec, text, k) {
					return
				}
			}
		}
	}
}

// Symmetries change how many sets are judged, and nothing else.
func TestSymmetriesChangeNoCount(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, c := range []struct {
		spec, region string
		faults       int
		mechanisms   []string
	}{
		{"torus:3x3", "all", 3, manyMechanisms},
		{"torus:4x4", "all", 2, manyMechanisms},
		{"torus:3x4", "all", 1, manyMechanisms},
		{"mesh:3x3", "all", 3, manyMechanisms},
		{"torus:3x3x3", "all", 2, []string{"M", "I+D", "Ix2"}},
		{"torus:3x3x3", "distance-1", 2, []string{"I", "I+D", "I+M"}},
		{"torus:4x4x4", "distance-1", 2, []string{"I+D"}},
	} {
		n := netOf(t, c.spec)
		center := weft.SwitchID(len(n.Graph().Switches) / 2)
		region, err := Region(n.Graph(), c.region, center)
		require.NoError(t, err)
		for _, text := range c.mechanisms {
			m := mechanisms(t, text)
			few := counted(t, n, region, m, c.faults, Symmetries(n, m))
			all := counted(t, n, region, m, c.faults, nil)
			assert.LessOrEqual(t, few.Judged, all.Judged)
			assert.Equal(t, all.Sets, all.Judged)
			few.Judged, all.Judged = 0, 0
			assert.Equal(t, all, few, "%s %s %s", c.spec, c.region, text)
		}
	}
}

// Table 2 of the paper, and the statements of section 5.1.2, as far as sets can be counted in a
// moment.
func TestTheTorusOf3x3x3AsInThePaper(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	n := netOf(t, "torus:3x3x3")
	links := Links(n.Graph())
	for _, c := range []struct {
		mechanisms string
		bad        []uint64 // sets of 1, 2, ... links that are not tolerated
	}{
		{"none", []uint64{81}},
		{"D", []uint64{81, 3240}},
		{"I", []uint64{0, 81, 6345}},
		{"M", []uint64{0, 0, 0}},
		{"I+D", []uint64{0, 0, 0}},
		{"Ix2", []uint64{0, 0, 0, 0}},
	} {
		m := mechanisms(t, c.mechanisms)
		for i, bad := range c.bad {
			got := counted(t, n, links, m, i+1, Symmetries(n, m))
			assert.Equal(t, bad, got.NotTolerated, "%s, %d faults", c.mechanisms, i+1)
			if i == 0 && bad == 0 {
				assert.Equal(t, 81*50, got.Pairs.Affected,
					"%s: a fault is on the shortest paths of 50 of the 702 pairs: 6.85%% of 27 x 27", c.mechanisms)
			}
		}
	}
}

// The limits of section 5.1.2: exact, where the paper infers those of more than five faults from a
// region and from samples.
func TestLimitsInTheTorusOf3x3x3(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for text, want := range map[string]int{
		"none": 0, "D": 0, "I": 1, "M": 3, "D+M": 3, "I+D": 5, "Ix2": 5, "I+D+direction-order": 3, "Ix2+D": 9, "Ix3": 9,
	} {
		assert.Equal(t, want, limitOf(t, netOf(t, "torus:3x3x3"), text, nil), text)
	}
}

// At even radix two ways round are as short, and an adaptive packet may take either: one fault half
// way round has no way around it by one intermediate node. The counts say the same.
func TestLimitsAreThoseOfTheCounts(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, spec := range []string{"torus:3x3", "torus:4x4", "mesh:3x3", "torus:2x3", "ring:5"} {
		n := netOf(t, spec)
		for _, text := range manyMechanisms {
			limit := limitOf(t, n, text, nil)
			m := mechanisms(t, text)
			for k := limit; k <= limit+1; k++ {
				if sets, _ := Choose(len(Links(n.Graph())), k); sets == 0 || sets > 1000 {
					break
				}
				got := counted(t, n, Links(n.Graph()), m, k, Symmetries(n, m))
				if k == limit {
					require.Zero(t, got.NotTolerated, "%s %s: all sets of %d are tolerated", spec, text, k)
				} else {
					require.Positive(t, got.NotTolerated, "%s %s: some set of %d is not", spec, text, k)
				}
			}
		}
	}
}

// limitOf is the most links that may die wherever they are; all of them when no set is too much.
func limitOf(t *testing.T, n *direct.Net, text string, region []weft.LinkID) int {
	t.Helper()
	m := mechanisms(t, text)
	if region == nil {
		region = Links(n.Graph())
	}
	l := newLimits(n.Graph(), region, By{n, m}, Symmetries(n, m))
	for k := 0; ; k++ {
		ever := false
		for i := range l.Pairs() {
			dead, how := l.Search(i, k, nil)
			switch how {
			case FoundSet:
				s := n.Solve(m, func(l *topology.Link) bool { return slices.Contains(dead, l.ID) }, nil)
				require.NotEmpty(t, s.Unroutable, "%s: %v", text, dead)
				require.Len(t, dead, k, "%s: a smaller one would have been found before", text)
				for _, l := range dead {
					require.Contains(t, region, l)
				}
				return k - 1
			case FoundNone:
				ever = true
			}
		}
		if !ever {
			return len(region)
		}
	}
}

func TestSamplesAreTheSameHoweverTheyAreDivided(t *testing.T) {
	t.Parallel()
	n := netOf(t, "torus:3x3")
	links := Links(n.Graph())
	draw := func(i uint64) func(int) int {
		return func(of int) int { i = i*6364136223846793005 + 1442695040888963407; return int(i >> 33 % uint64(of)) }
	}
	j := n.NewEvaluator(mechanisms(t, "I"))
	var whole, parts Counts
	_, err := Sample(links, 3, 0, 1000, draw, j, &whole, nil)
	require.NoError(t, err)
	for _, r := range [][2]uint64{{600, 1000}, {0, 1}, {1, 600}} {
		var part Counts
		asked := uint64(0)
		more, err := Sample(links, 3, r[0], r[1], draw, j, &part, func(n uint64) bool { asked += n; return true })
		require.NoError(t, err)
		require.True(t, more)
		require.Equal(t, r[1]-r[0], asked)
		parts.Add(&part)
	}
	assert.Equal(t, whole, parts)
	assert.Positive(t, whole.NotTolerated)
	assert.Less(t, whole.NotTolerated, whole.Sets)
	more, err := Sample(links, 3, 0, 1000, draw, j, &parts, func(uint64) bool { return false })
	require.NoError(t, err)
	assert.False(t, more)
	_, err = Sample(links, 19, 0, 1, draw, j, &parts, nil)
	assert.ErrorContains(t, err, "18 links may die")
}

func TestSetsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	links := Links(topologytest.Parse(t, "torus:8x8x8"))
	_, err := NewSets(links, 14, nil)
	require.ErrorContains(t, err, "2^63")
	_, err = NewSets(links[:5], 6, nil)
	require.ErrorContains(t, err, "5 links may die")
	_, err = NewSets(links, -1, nil)
	require.Error(t, err)
	_, err = NewSets(make([]weft.LinkID, maxLinks+1), 1, nil)
	require.ErrorContains(t, err, "choose a region")
}

// Whoever counts is asked whether to go on, and told of every set.
func TestCountingStopsWhenToldSo(t *testing.T) {
	t.Parallel()
	n := netOf(t, "torus:3x3x3")
	m := mechanisms(t, "I+M")
	sets, err := NewSets(Links(n.Graph()), 2, nil)
	require.NoError(t, err)
	j := n.NewEvaluator(m)
	var c Counts
	told := uint64(0)
	for i := range sets.Parts() {
		require.True(t, sets.Count(i, j, &c, func(n uint64) bool { told += n; return true }))
	}
	assert.Equal(t, sets.Total(), told)
	assert.False(t, sets.Count(0, j, &c, func(uint64) bool { return false }))
	require.ErrorContains(t, sets.Complete(&c), "a fault of ours")
}
