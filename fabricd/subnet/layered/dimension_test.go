package layered_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

// eachPath walks the path of every pair of NICs and tells of the switches on it.
func eachPath(t *testing.T, r *layered.Routing, tell func(src, dst weft.NICID, layer weft.VC, path []weft.SwitchID)) {
	t.Helper()
	g := r.Graph
	for src := range weft.NICID(len(g.NICs)) {
		for dst := range weft.NICID(len(g.NICs)) {
			s, in := g.SwitchOf(src)
			addresses := r.Assignment.Addresses(s, dst)
			require.Len(t, addresses, 1)
			path := []weft.SwitchID{s}
			for {
				require.LessOrEqual(t, len(path), len(g.Switches))
				h, ok := r.Tables.Lookup(s, dst, in, addresses[0].VC)
				require.True(t, ok, "%s to %s at %s", g.NICs[src].Name, g.NICs[dst].Name, g.Switches[s].Name)
				end, _, ok := g.Peer(weft.End{Node: s.Node(), Port: h.Port})
				require.True(t, ok)
				if !end.Node.IsSwitch() {
					require.Equal(t, dst.Node(), end.Node)
					break
				}
				s, in = weft.SwitchID(end.Node.Index), end.Port
				path = append(path, s)
			}
			tell(src, dst, addresses[0].VC, path)
		}
	}
}

// around are the dimensions in which a path goes around the end, as a layer has them.
func around(g *topology.Graph, path []weft.SwitchID) (layer weft.VC) {
	for i := range path[1:] {
		a, b := g.Switches[path[i]].Coord, g.Switches[path[i+1]].Coord
		bit := weft.VC(1) // of the next dimension that goes around
		for d := range a {
			if step := a[d] - b[d]; step > 1 || step < -1 {
				layer |= bit
			}
			if g.Place(path[i]).Grid.Around(d) {
				bit <<= 1
			}
		}
	}
	return layer
}

func TestECubeTakesShortestPathsInLayersWithoutCycles(t *testing.T) {
	t.Parallel()
	for spec, layers := range map[string]int{
		"ring:3": 2, "ring:6": 2, "torus:3x3": 4, "torus:4x4": 4, "torus:5x5": 4, "torus:5x8": 4, "torus:7x6,nics=2": 4,
		"torus:3x3x3": 8, "torus:4x4x4": 8, "torus:3x4x5": 8, "torus:3x3x3x3": 16, "mesh:4x5": 1, "torus:4x5,wrap=y": 2,
		"torus:3x4x5,wrap=xz": 4, "torus:2x2": 1,
	} {
		g := topologytest.Parse(t, spec)
		if testenv.Short() && len(g.Switches) > 36 {
			continue
		}
		r, err := layered.ECube(t.Context(), g, layered.Options{})
		require.NoError(t, err)
		require.Equal(t, layers, r.Layers, spec)
		require.Zero(t, r.Unroutable)
		require.Nil(t, r.Dependencies(t.Context()).Cycle(), spec)
		counts := make([]int, layers)
		eachPath(t, r, func(src, dst weft.NICID, layer weft.VC, path []weft.SwitchID) {
			counts[layer]++
			require.Equal(t, around(g, path), layer, "%s: %v", spec, path)
			require.Len(t, path, g.SwitchDistance(path[0], path[len(path)-1])+1)
		})
		assert.NotContains(t, counts, 0, "%s uses all of its layers", spec)
	}
}

// In a layer that no pair needs there an entry leads on all the same: each layer is a whole mesh.
func TestEveryLayerOfECubeLeadsEverywhere(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "torus:4x5")
	r, err := layered.ECube(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	for layer := range weft.VC(r.Layers) {
		turned := *r
		turned.Assignment, err = tables.NewAssignment(len(g.Switches), len(g.NICs), r.Layers, 1,
			func(weft.SwitchID, weft.NICID) []weft.Address {
				return []weft.Address{{VC: layer}}
			})
		require.NoError(t, err)
		require.Nil(t, turned.Dependencies(t.Context()).Cycle())
		eachPath(t, &turned, func(weft.NICID, weft.NICID, weft.VC, []weft.SwitchID) {})
	}
}

func TestXYGoesAlongXFirst(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"mesh:5x5", "mesh:2x7", "mesh:3x4x2", "torus:2x2x2", "mesh:6", "torus:4x5", "ring:6"} {
		g := topologytest.Parse(t, spec)
		r, err := layered.XY(t.Context(), g, layered.Options{})
		require.NoError(t, err)
		require.Equal(t, 1, r.Layers)
		require.Nil(t, r.Dependencies(t.Context()).Cycle())
		eachPath(t, r, func(src, dst weft.NICID, _ weft.VC, path []weft.SwitchID) {
			last := 0
			for i := range path[1:] {
				a, b := g.Switches[path[i]].Coord, g.Switches[path[i+1]].Coord
				d := 0
				for a[d] == b[d] {
					d++
				}
				require.Contains(t, []int{-1, 1}, a[d]-b[d], "not around the end")
				require.GreaterOrEqual(t, d, last, "%s: %v", spec, path)
				last = d
			}
			if g.Kind == topology.Mesh {
				require.Len(t, path, g.SwitchDistance(path[0], path[len(path)-1])+1)
			}
		})
	}
}

// In a mesh of 4x4 whose link from s1.1 to s2.1 is away, the rows of x at y = 1 lose every pair
// that went over it.
func TestALinkThatIsAwayLeavesPairsUnroutable(t *testing.T) {
	t.Parallel()
	g, err := topology.Load("f.yaml", []byte("generate: \"mesh:4x4,nics=2\"\nremove_links: [s1.1-s2.1]\n"))
	require.NoError(t, err)
	for _, e := range []engine{layered.XY, layered.ECube} {
		r, err := e(t.Context(), g, layered.Options{})
		require.NoError(t, err)
		require.Equal(t, 2*2*2*4*4, r.Unroutable, "from 2 switches of the row to 2 columns of 4, both ways, 2 NICs on each")
		missing := 0
		for s := range weft.SwitchID(16) {
			for d := range weft.NICID(32) {
				if len(r.Assignment.Addresses(s, d)) == 0 {
					missing += 2
				}
			}
		}
		require.Equal(t, r.Unroutable, missing)
		require.Nil(t, r.Dependencies(t.Context()).Cycle())
	}
}

func TestXYAndECubeAreForGrids(t *testing.T) {
	t.Parallel()
	tree, err := topology.Parse("kary-ntree:2,2")
	require.NoError(t, err)
	_, err = layered.ECube(t.Context(), tree, layered.Options{})
	require.EqualError(t, err,
		"e-cube is for meshes, tori and rings, and kary-ntree:2,2 is none: choose such a topology, as mesh:4x4")
}
