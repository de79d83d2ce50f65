package tolerate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/harness/testenv"
)

// manyMechanisms are all combinations, with the variants.
var manyMechanisms = []string{
	"none", "I", "Ix2", "Ix3", "D", "M", "D+M", "I+D", "I+M", "I+D+M", "Ix2+D", "Ix2+D+M", "D+either", "I+D+either",
	"I+D+direction-order", "I+D+M+either",
}

// A symmetry maps the sub-paths of each pair onto those of the pair's image.
func TestSymmetriesKeepTheSubPaths(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, spec := range []string{
		"torus:3x3", "torus:4x4", "torus:3x4", "torus:2x3x3", "torus:3x3,wrap=y", "mesh:3x3",
		"mesh:2x3", "ring:6",
	} {
		n := netOf(t, spec)
		for _, text := range []string{"I", "I+D", "I+D+either", "I+D+direction-order", "I+M", "I+D+M", "I+D+M+either"} {
			m := mechanisms(t, text)
			size := len(n.Graph().Switches)
			of := make([][]direct.Segment, size*size)
			for src := range size {
				n.Segments(m, weft.SwitchID(src), func(s direct.Segment) bool {
					of[src*size+int(s.Dst)] = append(of[src*size+int(s.Dst)], s)
					return true
				})
			}
			for _, s := range Symmetries(n, m) {
				for i := range of {
					var image []direct.Segment
					for _, p := range of[i] {
						p.Links = slices.Clone(p.Links)
						for k, l := range p.Links {
							p.Links[k] = s.Links[l]
						}
						slices.Sort(p.Links)
						image = append(image, p)
					}
					to := of[int(s.Switches[i/size])*size+int(s.Switches[i%size])]
					if !assert.ElementsMatch(t, texts(to), texts(image), "%s %s: %s, %d to %d", spec, text, s.Name, i/size, i%size) {
						return
					}
				}
			}
		}
	}
}

func texts(list []direct.Segment) (out []string) {
	for _, p := range list {
		_, misroutes := p.Sub.Misroute(0)
		out = append(out, fmt.Sprint(p.Links, p.Length, p.Sub.Deterministic(), misroutes > 0))
	}
	return out
}

// What prefers a direction or a dimension has fewer symmetries.
func TestMechanismsHaveTheirSymmetries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec, mechanisms string
		want             int
	}{
		{"torus:3x3x3", "Ix2", 1296},
		{"torus:3x3x3", "I+D", 216},
		{"torus:3x3x3", "I+D+direction-order", 27},
		{"torus:3x3x3", "M", 27},
		{"torus:3x3x3", "I+D+M", 27},
		{"torus:4x4", "I", 128},
		{"torus:4x4", "I+D+either", 64},
		{"mesh:3x3", "I", 8},
		{"mesh:3x3", "I+D", 4},
		{"torus:4x4", "I+D", 16},
		{"torus:4x4", "I+M", 16},
		{"torus:4x4", "I+D+M", 4},
		{"torus:4x4", "I+D+M+either", 16},
		{"mesh:3x3", "I+M", 1},
	} {
		n := netOf(t, c.spec)
		assert.Equal(t, c.want, max(1, len(closure(Symmetries(n, mechanisms(t, c.mechanisms))))), "%s %s", c.spec,
			c.mechanisms)
	}
}
