package layered

import (
	"cmp"
	"slices"
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

// All are the dependencies, sorted.
func (d *Dependencies) All() [][2]int32 {
	list := [][2]int32{}
	for from, to := range d.next {
		for _, c := range to {
			list = append(list, [2]int32{int32(from), c})
		}
	}
	slices.SortFunc(list, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return list
}
