package tolerate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/harness/testenv"
)

// The smallest set that is found is as large as the smallest of those that are counted, and it is
// not tolerated.
func TestTheSmallestSetIsThatOfAllSets(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, c := range []struct {
		spec  string
		fixed bool
		most  int
		want  int // links of the smallest set; 0: no set of up to 3
	}{
		{"torus:3x3", false, 1, 1},
		{"torus:3x3", true, 1, 1},
		{"torus:3x3", false, 2, 2},
		{"torus:3x3", true, 2, 4},
		{"mesh:3x3", false, 2, 1},
		{"mesh:3x3", true, 2, 2},
		{"torus:4x4", false, 2, 1},
		{"torus:3x3", false, 3, 4},
		{"torus:3x3", true, 3, 0},
	} {
		n := netOf(t, c.spec)
		g := n.Graph()
		w := newNaive(g, c.fixed, c.most)
		smallest := 0
		for k := 0; k <= max(c.want, 3) && smallest == 0; k++ {
			eachSet(Links(g), k, func(dead []weft.LinkID) {
				var v direct.Counts
				w.Set(dead)
				if w.Count(&v); v.NoWay > 0 {
					smallest = k
				}
			})
		}
		require.Equal(t, c.want, smallest, "%v", c)
		var symmetries []Symmetry
		if !c.fixed { // that of dimension order prefers one way round
			symmetries = Symmetries(n, direct.Mechanisms{Intermediate: 1})
		}
		l := newLimits(g, Links(g), w, symmetries)
		found := 0
		for k := 0; k <= max(c.want, 3) && found == 0; k++ {
			for i := range l.Pairs() {
				if dead, how := l.Search(i, k, nil); how == FoundSet {
					found = k
					var v direct.Counts
					w.Set(dead)
					w.Count(&v)
					assert.Positive(t, v.NoWay, "%v: %v", c, dead)
					break
				}
			}
		}
		assert.Equal(t, smallest, found, "%v", c)
	}
}
