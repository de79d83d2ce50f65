package layout_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/layout"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

func load(t *testing.T, text string) *topology.Graph {
	t.Helper()
	g, err := topology.Load("fabric.yaml", []byte(text))
	require.NoError(t, err)
	return g
}

var specs = map[string]string{
	"kary-ntree:4,3": layout.Tree, "kary-ntree:2,4": layout.Tree, "kary-ntree:4,1": layout.Tree,
	"mport-tree:36,2": layout.Tree, "mport-tree:4,3": layout.Tree,
	"leaf-spine:4,8,12": layout.Tree, "leaf-spine:12,2,1": layout.Tree,
	"mesh:5": layout.Grid, "mesh:8x8": layout.Grid, "torus:8x8,nics=3": layout.Grid, "torus:2x3": layout.Grid,
	"torus:4x4x4": layout.Planes, "mesh:9x9x9": layout.Planes, "torus:3x3x3x3": layout.Planes,
	"ring:3": layout.Ring, "ring:16,nics=2": layout.Ring, "torus:12": layout.Ring,
	"irregular:2,1,1": layout.Free, "irregular:64,128,7,nics=2": layout.Free, "irregular:500,499,1": layout.Free,
	"irregular:300,600,1": layout.Free, "irregular:1500,3000,1": layout.Free,
}

func TestEveryKindOfTopologyIsLaidOutWithoutOverlap(t *testing.T) {
	for spec, kind := range specs {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, spec)
			switch n := len(g.Switches); {
			case n > 1000:
				testenv.Nightly(t)
			case n > 200:
				testenv.Long(t)
			}
			l := layout.Of(g)
			assert.Equal(t, kind, l.Kind)
			require.Len(t, l.Switches, len(g.Switches))
			require.Len(t, l.NICs, len(g.NICs))
			require.Len(t, l.Bends, len(g.Links))
			assert.GreaterOrEqual(t, closest(l.Switches), 0.997, "two switches are closer than one unit")
			assert.Greater(t, closest(slices.Concat(l.Switches, l.NICs)), 0.01, "two nodes are at one place")
			for _, p := range slices.Concat(l.Switches, l.NICs) {
				if p.X < 0.499 || p.Y < 0.499 || p.X > l.Width-0.499 || p.Y > l.Height-0.499 || math.IsNaN(p.X+p.Y) {
					t.Fatalf("%v is not within %v x %v, or too close to the edge", p, l.Width, l.Height)
				}
			}
			assert.Equal(t, l, layout.Of(topologytest.Parse(t, spec)), "the same graph, laid out twice")
		})
	}
}

func closest(at []layout.Point) float64 {
	least := math.Inf(1)
	for i, p := range at {
		for _, q := range at[:i] {
			least = min(least, math.Hypot(p.X-q.X, p.Y-q.Y))
		}
	}
	return least
}

func TestATreeStandsTierByTierOverItsNICs(t *testing.T) {
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:6,3", "leaf-spine:3,5,4"} {
		g := topologytest.Parse(t, spec)
		l := layout.Of(g)
		for _, k := range g.Links {
			if k.BetweenSwitches() {
				assert.Less(t, l.Switches[k.A.Node.Index].Y, l.Switches[k.B.Node.Index].Y, k.Name)
				continue
			}
			s, n := l.Switches[k.A.Node.Index], l.NICs[k.B.Node.Index]
			assert.Less(t, s.Y, n.Y, k.Name)
			assert.InDelta(t, s.X, n.X, 0.5, k.Name)
		}
		for i := 1; i < len(l.NICs); i++ {
			assert.Less(t, l.NICs[i-1].X, l.NICs[i].X, "NICs are not in the order of their digits")
		}
	}
}

func TestFewerLinksOfATreeCrossThanInTheOrderOfItsDigits(t *testing.T) {
	g := topologytest.Parse(t, "kary-ntree:3,3")
	l := layout.Of(g)
	plain := make([]layout.Point, len(g.Switches))
	for i := range plain {
		plain[i] = layout.Point{X: float64(i % 9), Y: float64(i / 9)}
	}
	ordered, digits := crossings(g, l.Switches), crossings(g, plain)
	assert.Less(t, ordered, digits)
	// A few of the 9! orders of the top tier, each with one pair of switches exchanged: none is
	// better.
	for i := range 9 {
		for j := range i {
			other := slices.Clone(l.Switches)
			other[i], other[j] = other[j], other[i]
			assert.GreaterOrEqual(t, crossings(g, other), ordered)
		}
	}
}

func crossings(g *topology.Graph, at []layout.Point) (n int) {
	for i, a := range g.Links {
		for _, b := range g.Links[:i] {
			if a.BetweenSwitches() && b.BetweenSwitches() && at[a.A.Node.Index].Y == at[b.A.Node.Index].Y &&
				(at[a.A.Node.Index].X-at[b.A.Node.Index].X)*(at[a.B.Node.Index].X-at[b.B.Node.Index].X) < 0 {
				n++
			}
		}
	}
	return n
}

func TestNeighboursOfAMeshAreOneUnitApartAndLinksAroundATorusAreBent(t *testing.T) {
	g := topologytest.Parse(t, "torus:8x8")
	l := layout.Of(g)
	bent := 0
	for i, k := range g.Links {
		if !k.BetweenSwitches() {
			continue
		}
		a, b := l.Switches[k.A.Node.Index], l.Switches[k.B.Node.Index]
		if l.Bends[i] != 0 {
			bent++
			assert.InDelta(t, 7, math.Hypot(a.X-b.X, a.Y-b.Y), 1e-9, k.Name)
		} else {
			assert.InDelta(t, 1, math.Hypot(a.X-b.X, a.Y-b.Y), 1e-9, k.Name)
		}
	}
	assert.Equal(t, 16, bent)
	s, err := g.SwitchByName("s2.5")
	require.NoError(t, err)
	corner, err := g.SwitchByName("s0.0")
	require.NoError(t, err)
	assert.InDelta(t, 2, l.Switches[s].X-l.Switches[corner].X, 1e-9)
	assert.InDelta(t, 5, l.Switches[s].Y-l.Switches[corner].Y, 1e-9)
}

func TestATorusIsBentWhereItGoesAround(t *testing.T) {
	for spec, want := range map[string]int{
		"torus:5x6,wrap=x": 6, "torus:5x6,wrap=y": 5, "torus:5x6,wrap=xy": 11,
		"mesh:5x6": 0,
	} {
		bent := 0
		for _, b := range layout.Of(topologytest.Parse(t, spec)).Bends {
			if b != 0 {
				bent++
			}
		}
		assert.Equal(t, want, bent, spec)
	}
}

func TestPlanesStandSideBySide(t *testing.T) {
	g := topologytest.Parse(t, "torus:4x4x4")
	l := layout.Of(g)
	// so that each is beside or below the next
	corner := []layout.Point{{X: 0, Y: 0}, {X: 5, Y: 0}, {X: 5, Y: 5}, {X: 0, Y: 5}}
	for i, s := range g.Switches {
		at := corner[s.Coord[2]]
		assert.InDelta(t, float64(s.Coord[0])+at.X, l.Switches[i].X-l.Switches[0].X, 1e-9, s.Name)
		assert.InDelta(t, float64(s.Coord[1])+at.Y, l.Switches[i].Y-l.Switches[0].Y, 1e-9, s.Name)
	}
	for i, k := range g.Links {
		if k.BetweenSwitches() && g.Switches[k.A.Node.Index].Coord[2] != g.Switches[k.B.Node.Index].Coord[2] {
			assert.NotZero(t, l.Bends[i], "%s runs straight over switches", k.Name)
		}
	}
	wide := layout.Of(topologytest.Parse(t, "mesh:4x4x16"))
	assert.Less(t, wide.Width/wide.Height, 5.5)
}

func TestAFreeLayoutShowsWhatIsFarApart(t *testing.T) {
	// A ladder of 40 rungs: at its two ends nothing else is near.
	text := "switches:\n"
	for i := range 80 {
		text += "  - {id: s" + itoa(i) + "}\n"
	}
	text += "links:\n"
	for i := range 40 {
		text += "  - {a: s" + itoa(2*i) + ", b: s" + itoa(2*i+1) + "}\n"
		if i < 39 {
			text += "  - {a: s" + itoa(2*i) + ", b: s" + itoa(2*i+2) + "}\n  - {a: s" + itoa(2*i+1) + ", b: s" + itoa(2*i+3) +
				"}\n"
		}
	}
	l := layout.Of(load(t, text))
	assert.Equal(t, layout.Free, l.Kind)
	assert.Greater(t, l.Width, 35., "it is not laid out at its length")
	assert.Less(t, l.Height, l.Width/3, "it does not lie")
	assert.Greater(t, math.Hypot(l.Switches[0].X-l.Switches[79].X, l.Switches[0].Y-l.Switches[79].Y), 35.)
}

func TestGraphsOfNoUsualShapeAreLaidOutToo(t *testing.T) {
	for name, links := range map[string]func(link func(a, b int)){
		"alone": func(func(a, b int)) {},
		"star": func(link func(a, b int)) {
			for i := 1; i < 90; i++ {
				link(0, i)
			}
		},
		"complete": func(link func(a, b int)) {
			for i := range 40 {
				for j := range i {
					link(j, i)
				}
			}
		},
		"two stars": func(link func(a, b int)) {
			for i := 2; i < 90; i++ {
				link(i%2, i)
			}
			link(0, 1)
		},
		"many links": func(link func(a, b int)) {
			for range 9 {
				link(0, 1)
			}
		},
		"all but a line": func(link func(a, b int)) {
			for i := range 89 {
				link(i, i+1)
			}
			link(0, 89)
		},
	} {
		text, last := "", 0
		links(func(a, b int) {
			text += "  - {a: s" + itoa(a) + ", b: s" + itoa(b) + "}\n"
			last = max(last, b)
		})
		if text != "" {
			text = "links:\n" + text
		}
		for i := last; i >= 0; i-- {
			text = "  - {id: s" + itoa(i) + "}\n" + text
		}
		l := layout.Of(load(t, "switches:\n"+text))
		require.Len(t, l.Switches, last+1, name)
		assert.GreaterOrEqual(t, closest(l.Switches), 0.997, name)
		assert.Less(t, l.Width*l.Height, float64(20*len(l.Switches)+20), "%s is mostly empty", name)
	}
}

func itoa(i int) string { return string(rune('0'+i/10)) + string(rune('0'+i%10)) }

func TestLinksBetweenTheSameTwoSwitchesAreBentApart(t *testing.T) {
	g := load(t, "switches: [{id: s0}, {id: s1}, {id: s2}]\nlinks: [{a: s0, b: s1}, {a: s0, b: s1}, {a: s1, b: s0}, {a: "+
		"s1, b: s2}]\n")
	l := layout.Of(g)
	bends := slices.Clone(l.Bends)
	slices.Sort(bends)
	assert.Equal(t, []float64{-0.15, 0, 0, 0.15}, bends)
}

func TestTheJSONHasThePlacesAndIsATopologyFile(t *testing.T) {
	for _, spec := range []string{"kary-ntree:2,3", "torus:3x3", "irregular:8,12,1"} {
		g := topologytest.Parse(t, spec)
		l := layout.Of(g)
		var b, plain bytes.Buffer
		require.NoError(t, layout.WriteJSON(&b, g))
		type place struct {
			ID     string
			X, Y   *float64
			Tier   *int
			Coord  []int
			Digits []int
		}
		var v struct {
			Layout struct {
				Kind          string
				Width, Height float64
			}
			Switches, NICs []place
			Links          []struct {
				ID   string
				Bend float64
			}
		}
		require.NoError(t, json.Unmarshal(b.Bytes(), &v))
		assert.Equal(t, []any{l.Kind, l.Width, l.Height}, []any{v.Layout.Kind, v.Layout.Width, v.Layout.Height})
		for i, s := range v.Switches {
			assert.Equal(t, l.Switches[i], layout.Point{X: *s.X, Y: *s.Y})
			assert.Equal(t, g.Switches[i].Name, s.ID)
			assert.Equal(t, g.Tiers > 0, s.Tier != nil)
			assert.Equal(t, g.Switches[i].Coord, s.Coord)
		}
		for i, n := range v.NICs {
			assert.Equal(t, l.NICs[i], layout.Point{X: *n.X, Y: *n.Y})
		}
		for i, k := range v.Links {
			assert.Equal(t, l.Bends[i], k.Bend)
		}

		back, err := topology.Load("fabric.json", b.Bytes())
		require.NoError(t, err)
		b.Reset()
		require.NoError(t, back.WriteJSON(&b))
		require.NoError(t, g.WriteJSON(&plain))
		assert.Equal(t, plain.String(), b.String(), "what is read again is not the same topology")
		assert.NotContains(t, plain.String(), `"x":`)
	}
}

func TestADrawingOfAnotherTopologyIsRefused(t *testing.T) {
	l := layout.Of(topologytest.Parse(t, "ring:4"))
	err := topologytest.Parse(t, "ring:5").WriteDrawnJSON(&bytes.Buffer{}, topology.Drawing(l))
	assert.ErrorContains(t, err, "4 switches, 4 NICs and 8 links, expected the 5, 5 and 10")
}

func TestAFileThatCannotBeWrittenIsAnError(t *testing.T) {
	f, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer f.Close()
	assert.Error(t, layout.WriteJSON(f, topologytest.Parse(t, "ring:4")))
}
