package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// radices are all lists of so many numbers from 2 to most.
func radices(dims, most int) (all [][]int) {
	if dims == 0 {
		return [][]int{nil}
	}
	for _, head := range radices(dims-1, most) {
		for r := 2; r <= most; r++ {
			all = append(all, append(head[:len(head):len(head)], r))
		}
	}
	return all
}

// subsets are all sets of the first dims letters but the empty one.
func subsets(dims int) (all []string) {
	for set := 1; set < 1<<dims; set++ {
		var letters strings.Builder
		for i := range dims {
			if set>>i&1 == 1 {
				letters.WriteByte(dimensions[i])
			}
		}
		all = append(all, letters.String())
	}
	return all
}

// Every mesh and every torus of few switches in a dimension, going around in every set of
// dimensions: each switch has the links that its coordinates say, there are as many as the product
// says, and distances are those that a search of the graph finds.
func TestGridsGoAroundWhereTheyAreTo(t *testing.T) {
	t.Parallel()
	for dims, most := range map[int]int{1: 9, 2: 5, 3: 4, 4: 3} {
		for _, sizes := range radices(dims, most) {
			plain := strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", "x")
			checkGrid(t, "mesh:"+plain, sizes, "")
			for _, wrap := range subsets(dims) {
				checkGrid(t, "torus:"+plain+",wrap="+wrap, sizes, wrap)
			}
			checkGrid(t, "torus:"+plain+",nics=2", sizes, dimensions[:dims])
		}
	}
}

func checkGrid(t *testing.T, spec string, sizes []int, wrap string) {
	t.Helper()
	g := parse(t, spec)
	links := 0
	for i, r := range sizes {
		around := r > 2 && strings.ContainsRune(wrap, rune(dimensions[i]))
		if around {
			links += len(g.Switches)
		} else {
			links += len(g.Switches) / r * (r - 1)
		}
		for _, s := range g.Switches {
			place := g.Place(s.ID)
			require.Equal(t, around, place.Grid.Around(i), spec)
			for p, has := range map[weft.PortID]bool{
				place.Grid.Down(i): around || s.Coord[i] > 0,
				place.Grid.Up(i):   around || s.Coord[i] < r-1,
			} {
				require.Equal(t, has, place.Roles[p] == weft.RolePeer, "%s %s %v", spec, s.Name, p)
			}
		}
	}
	require.Len(t, g.Links, links+len(g.NICs), spec)
	require.NoError(t, g.Validate(), spec)
	all, row := g.Adjacency(nil), make([]int32, len(g.Switches))
	for s := 0; s < len(g.Switches); s += max(1, len(g.Switches)/5) { // some sources: corners, sides, the middle
		all.Distances(row, nil, int32(s))
		for to, d := range row {
			require.Equal(t, int(d), g.SwitchDistance(weft.SwitchID(s), weft.SwitchID(to)), "%s %d %d", spec, s, to)
		}
	}
}

// What is written of a torus that goes around in some dimensions alone is read as such.
func TestAFileKnowsWhereATorusGoesAround(t *testing.T) {
	t.Parallel()
	const spec = "torus:3x4,wrap=y"
	var b strings.Builder
	require.NoError(t, parse(t, spec).WriteYAML(&b))
	require.Contains(t, b.String(), "generate: \""+spec+"\"\n")
	b.Reset()
	require.NoError(t, parse(t, spec).WriteYAMLListing(&b))
	g, err := Load("listing.yaml", []byte(b.String()))
	require.NoError(t, err)
	require.False(t, g.Place(0).Grid.Around(0))
	require.True(t, g.Place(0).Grid.Around(1))
	_, err = Load("listing.yaml", []byte(strings.Replace(b.String(), spec, "torus:3x4", 1)))
	require.NoError(t, err, "a torus whose links around x are missing")
	_, err = Load("listing.yaml", []byte(strings.Replace(b.String(), spec, "torus:3x4,wrap=x", 1)))
	require.ErrorContains(t, err, "take spec away to read the listing as it is")
}
