package tolerate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestGroupsHaveAsManyElementsAsTheTopologyHasSymmetries(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for spec, want := range map[string]int{
		"torus:3x3x3": 27 * 48, "torus:4x4": 16 * 8, "torus:3x4": 12 * 4, "torus:5x5x5": 125 * 48, "mesh:3x3": 8,
		"mesh:3x4": 4, "mesh:2x3x4": 8, "torus:2x2": 8, "torus:2x3": 12,
		"ring:5": 10, "torus:2x3x3x3": 2 * 27 * 48,
	} {
		n := netOf(t, spec)
		assert.Len(t, newGroup(Links(n.Graph()), Symmetries(n, direct.Mechanisms{Intermediate: 1})).perms, want, spec)
	}
}

// Every set is an image of one that walk visits, of an orbit of the size that it says.
func TestWalkVisitsOneSetOfEveryOrbit(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"torus:3x3", "mesh:3x3", "torus:2x3", "torus:3x4", "ring:6"} {
		n := netOf(t, spec)
		group := newGroup(Links(n.Graph()), Symmetries(n, direct.Mechanisms{Intermediate: 1}))
		for k := range 5 {
			orbits := map[string]string{} // of all sets: which walk visited
			group.walk(nil, k, func(set []uint16, size int) bool {
				images := map[string]bool{}
				room := make([]uint16, k)
				for _, p := range group.perms {
					image(p, set, room)
					images[fmt.Sprint(room)] = true
				}
				require.Len(t, images, size, "%s: %v", spec, set)
				for im := range images {
					require.Empty(t, orbits[im], "%s: %v is an image of two", spec, im)
					orbits[im] = fmt.Sprint(set)
				}
				return true
			})
			total, _ := Choose(len(group.links), k)
			assert.Len(t, orbits, int(total), "%s: sets of %d", spec, k)
		}
	}
}

func TestPartsHoldEverySetOnce(t *testing.T) {
	t.Parallel()
	n := netOf(t, "torus:3x3x3")
	g, all := n.Graph(), Symmetries(n, direct.Mechanisms{Intermediate: 1})
	for k := range 5 {
		for _, symmetries := range [][]Symmetry{all, all[:3]} {
			sets, err := NewSets(Links(g), k, symmetries)
			require.NoError(t, err)
			var c Counts
			for i := range sets.Parts() {
				require.True(t, sets.Count(i, nothing{}, &c, nil))
			}
			require.NoError(t, sets.Complete(&c))
			c.Sets--
			require.Error(t, sets.Complete(&c))
		}
	}
}

// nothing judges that all is well.
type nothing struct{}

func (nothing) Set([]weft.LinkID)    {}
func (nothing) Count(*direct.Counts) {}

func TestRegionsAreThoseOfThePaper(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec, name string
		center     string
		want       int
	}{
		{"torus:3x3x3", "all", "s0.0.0", 81},
		{"torus:3x3x3", "distance-1", "s0.0.0", 33}, // section 5.1.1: three links are shared
		{"torus:3x3x3", "distance-1", "s1.2.1", 33},
		{"torus:4x4x4", "distance-1", "s1.2.1", 36}, // figure 7
		{"torus:8x8x8", "distance-1", "s7.0.3", 36},
		{"torus:5x5x5", "distance-0", "s0.0.0", 6},
		{"torus:3x3x3", "distance-9", "s0.0.0", 81},
		{"mesh:3x3", "distance-1", "s1.1", 12},
		{"mesh:3x3", "distance-1", "s0.0", 6},
	} {
		g := topologytest.Parse(t, c.spec)
		center, err := g.SwitchByName(c.center)
		require.NoError(t, err)
		links, err := Region(g, c.name, center)
		require.NoError(t, err)
		assert.Len(t, links, c.want, "%s %s", c.spec, c.name)
	}
	g := topologytest.Parse(t, "torus:3x3x3")
	for name, says := range map[string]string{
		"distance-x": "distance-1", "distance1": "distance-1",
		"distance--1": "distance-1", "al": "all",
	} {
		_, err := Region(g, name, 0)
		assert.ErrorContains(t, err, says, name)
	}
	_, err := Region(g, "distance-1", 27)
	assert.ErrorContains(t, err, "27")
}

func TestChooseIsExactOrSaysThatItIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, k int
		want uint64
	}{
		{81, 5, 25_621_596},
		{81, 6, 324_540_216},
		{33, 8, 13_884_156},
		{33, 9, 38_567_100},
		{33, 10, 92_561_040},
		{5, 0, 1},
		{5, 5, 1},
		{5, 6, 0},
		{62, 31, 465428353255261088},
	} {
		got, ok := Choose(c.n, c.k)
		assert.True(t, ok)
		assert.Equal(t, c.want, got, "%d of %d", c.k, c.n)
	}
	_, ok := Choose(1536, 14)
	assert.False(t, ok)
}

// The counts with symmetries are those without, and those of whoever asks for each set by itself.
func TestCountsAreThoseOfEverySetJudgedByItself(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"torus:3x3", "mesh:3x3"} {
		n := netOf(t, spec)
		g := n.Graph()
		w := newNaive(g, false, 2)
		for k := range 4 {
			var each Counts
			eachSet(Links(g), k, func(dead []weft.LinkID) {
				var v direct.Counts
				w.Set(dead)
				w.Count(&v)
				each.add(&v, 1, 0, dead)
			})
			sets, err := NewSets(Links(g), k, Symmetries(n, direct.Mechanisms{Intermediate: 1}))
			require.NoError(t, err)
			var c Counts
			for i := range sets.Parts() {
				sets.Count(i, w, &c, nil)
			}
			require.NoError(t, sets.Complete(&c))
			assert.LessOrEqual(t, c.Judged, each.Judged)
			assert.Equal(t, each.Example, c.Example, "%s, %d faults", spec, k)
			c.Judged, each.Judged = 0, 0
			assert.Equal(t, each, c, "%s, %d faults", spec, k)
		}
	}
}

// eachSet visits the sets of k links.
func eachSet(links []weft.LinkID, k int, visit func(dead []weft.LinkID)) {
	var grow func(set []weft.LinkID, from int)
	grow = func(set []weft.LinkID, from int) {
		if len(set) == k {
			visit(slices.Clone(set))
			return
		}
		for i := from; i < len(links); i++ {
			grow(append(set, links[i]), i+1)
		}
	}
	grow(nil, 0)
}
