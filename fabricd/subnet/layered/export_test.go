package layered

import (
	"testing"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// Roots are those that MRoots and DMRoots choose.
func Roots(t *testing.T, g *topology.Graph, first string, n int) []int32 {
	t.Helper()
	w, err := newWires(g)
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.roots(first, n)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TooFew is the error for layers that do not suffice.
var TooFew = tooFew
