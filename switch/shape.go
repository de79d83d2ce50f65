package switching

import "github.com/weft-fabric/weft"

// Shape is a kind of topology, by what a switch knows of its place there.
type Shape uint8

// The shapes.
const (
	Anything Shape = iota // whatever is connected
	Trees                 // k-ary n-trees, m-port n-trees, leaf-spine fabrics and other trees
	Grids                 // meshes, tori and rings
)

// ShapeOf is the shape of the topology that a switch has this place in.
func ShapeOf(place *weft.Place) Shape {
	switch {
	case place.Tree != nil:
		return Trees
	case place.Grid != nil:
		return Grids
	}
	return Anything
}

// Tolerance says which faults a firmware tolerates in any combination: every pair stays connected,
// nothing is discarded and nothing can deadlock. The zero value is none. Verify proves it and the
// live tests show it, for whatever stands here.
type Tolerance struct {
	Links    bool // dead links between switches
	Switches bool // dead switches above the leaves, which are those that no NIC hangs on
	One      bool // one fault, however many up ports there are; otherwise k-1 with k up ports
}

// Most is how many faults a firmware tolerates where switches have k up ports.
func (b Tolerance) Most(k int) int {
	switch {
	case !b.Links && !b.Switches:
		return 0
	case b.One:
		return min(1, k-1)
	}
	return k - 1
}

// String says it in words: "up to k-1 dead links and switches above the leaves".
func (b Tolerance) String() string {
	of := [2][2]string{{"", "switches above the leaves"}, {"links", "links and switches above the leaves"}}
	most := "up to k-1 dead "
	if b.One {
		of = [2][2]string{{"", "switch above the leaves"}, {"link", "link or switch above the leaves"}}
		most = "one dead "
	}
	index := map[bool]int{true: 1}
	what := of[index[b.Links]][index[b.Switches]]
	if what == "" {
		return "no fault"
	}
	return most + what
}
