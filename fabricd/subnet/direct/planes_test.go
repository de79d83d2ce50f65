package direct

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

func TestPlanes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec string
		dead []string
		off  []Plane
		lost int
		left string
	}{
		{"torus:8x8x8", nil, nil, 0, "torus:8x8x8"},
		{"torus:8x8x8", []string{"s0.0.0-s0.0.1"}, []Plane{{0, 0}}, 64, "torus:7x8x8"},
		{"torus:8x8x9,nics=4", []string{"s0.5.0-s0.5.1"}, []Plane{{2, 0}}, 64, "torus:8x8x8,nics=4"},
		{"torus:7x8x9", []string{"s0.0.0-s0.0.8"}, []Plane{{2, 0}}, 56, "torus:7x8x8"},
		{"torus:8x8x8", []string{"s1.2.3-s1.2.4", "s6.2.0-s7.2.0", "s0.2.0-s0.3.0"}, []Plane{{1, 2}}, 64, "torus:8x7x8"},
		{"torus:4x8", []string{"s0.0-s0.1"}, []Plane{{1, 0}}, 4, "torus:4x7"}, // the smaller plane
		{"torus:2x5", []string{"s0.0-s0.1", "s0.3-s0.4", "s1.0-s1.4"}, []Plane{{1, 0}, {1, 3}}, 4, "torus:2x3,wrap=y"},
		{"torus:2x3", []string{"s0.0-s0.1", "s0.1-s0.2", "s0.0-s0.2"}, []Plane{{0, 0}}, 3, "torus:3"},
		{"mesh:3x4", []string{"s1.0-s2.0"}, []Plane{{1, 0}}, 3, "mesh:3x3"},
		{"ring:5", []string{"s0-s4"}, []Plane{{0, 0}}, 1, "torus:4"},
		{"torus:4x5x3,wrap=xz,nics=2", []string{"s0.0.0-s0.1.0"}, []Plane{{1, 0}}, 12, "torus:4x4x3,wrap=xz,nics=2"},
		{
			"torus:2x3x3,wrap=z",
			[]string{"s0.0.0-s0.0.1", "s0.0.1-s0.0.2", "s0.0.0-s0.0.2", "s0.1.0-s0.1.1", "s0.1.1-s0.1.2", "s0.1.0-s0.1.2"},
			[]Plane{{0, 0}},
			9, "torus:3x3,wrap=y",
		},
		{"torus:4x3,wrap=y", []string{"s0.0-s0.2", "s1.0-s1.1"}, []Plane{{1, 0}}, 4, "torus:4x2,wrap=y"},
		{"mesh:2", []string{"s0-s1"}, []Plane{{0, 0}}, 1, ""},
	} {
		g, n := generate(t, c.spec)
		if c.left != "" {
			if _, err := topology.Generate(c.left); err != nil {
				t.Error(err)
			}
		}
		p := n.Planes(named(t, g, c.dead...))
		if !slices.Equal(p.Off, c.off) || len(p.Lost) != c.lost || p.Spec != c.left {
			t.Errorf("%s without %v: %+v, want %v, %d lost, %q left", c.spec, c.dead, p, c.off, c.lost, c.left)
		}
	}
}

// named tells the links by their names.
func named(t *testing.T, g *topology.Graph, names ...string) func(*topology.Link) bool {
	t.Helper()
	for _, name := range names {
		if _, err := g.LinkByName(name); err != nil {
			t.Fatal(err)
		}
	}
	return func(l *topology.Link) bool { return slices.Contains(names, l.Name) }
}

// No planes that lose fewer switches, of all that there are, hold an end of each fault.
func TestPlanesLoseAsFewSwitchesAsPossible(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"torus:4x4", "torus:3x3x3", "mesh:2x5"} {
		g, n := generate(t, spec)
		random := rand.New(rand.NewPCG(3, 3))
		var all []Plane
		for i := range n.dims {
			for at := range n.dims[i].size {
				all = append(all, Plane{i, at})
			}
		}
		for range 10 {
			dead := draw(g, 1+random.IntN(6), random)
			o := newOracle(g, Mechanisms{}, dead)
			got := n.Planes(o.cuts)
			least := len(g.Switches)
			for set := range 1 << len(all) {
				off := func(s weft.SwitchID) bool {
					for i, p := range all {
						if set>>i&1 == 1 && g.Switches[s].Coord[p.Dim] == p.At {
							return true
						}
					}
					return false
				}
				covers, lost := true, 0
				for _, id := range dead {
					covers = covers && (off(weft.SwitchID(g.Links[id].A.Node.Index)) || off(weft.SwitchID(g.Links[id].B.Node.Index)))
				}
				for s := range weft.SwitchID(len(g.Switches)) {
					lost += truth(off(s))
				}
				if covers {
					least = min(least, lost)
				}
			}
			if len(got.Lost) != least {
				t.Fatalf("%s without %v: %v lose %d switches, %d are enough", spec, dead, got.Off, len(got.Lost), least)
			}
			if left := len(g.Switches) - least; left > 1 {
				h, err := topology.Generate(got.Spec)
				if err != nil || len(h.Switches) != left {
					t.Fatalf("%s without %v leaves %q: %v", spec, got.Off, got.Spec, err)
				}
			}
		}
	}
}

func BenchmarkPlanes(b *testing.B) {
	g, n := generate(b, "torus:8x8x8")
	dead := newOracle(g, Mechanisms{}, draw(g, 14, rand.New(rand.NewPCG(1, 2)))).cuts
	for b.Loop() {
		n.Planes(dead)
	}
}
