package layout

import (
	"math"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// How far links are bent that would otherwise run over switches: those around a torus, and those
// from plane to plane.
const (
	aroundBend = 0.6
	planeBend  = -0.6 // to the other side
	backBend   = 0.9  // around, from the last plane to the first
)

// rows lays out a mesh or torus: the first coordinate to the right, the second down. The planes
// that the third coordinate makes stand side by side, in several rows if there are many; those of
// the fourth always make a row each.
func rows(g *topology.Graph) Layout {
	dims := make([]int, 4)
	for _, s := range g.Switches {
		for i, c := range s.Coord {
			dims[i] = max(dims[i], c+1)
		}
	}
	kind := Grid
	if dims[2] > 1 {
		kind = Planes
	}
	l := blank(kind, g)
	wide := sideBySide(max(1, dims[0]), max(1, dims[1]), max(1, dims[2]))
	if dims[3] > 1 {
		wide = dims[2]
	}
	for i, s := range g.Switches {
		var c [4]int
		copy(c[:], s.Coord)
		column, row := c[2], c[3]
		if dims[3] <= 1 {
			column, row = c[2]%wide, c[2]/wide
		}
		l.Switches[i] = Point{X: float64(c[0] + column*(dims[0]+1)), Y: float64(c[1] + row*(max(1, dims[1])+1))}
	}
	for i, k := range g.Links {
		if k.BetweenSwitches() {
			l.Bends[i] = bend(g.Switches[k.A.Node.Index].Coord, g.Switches[k.B.Node.Index].Coord)
		}
	}
	for s, nics := range hangers(g) {
		l.fan(l.Switches[s], nics, 0.36, math.Pi/12, 5*math.Pi/12) // between the links to the right and down
	}
	return l
}

// sideBySide is how many planes of x by y switches make a row: all of them if that is at most five
// times as wide as high.
func sideBySide(x, y, planes int) int {
	const widest = 5
	for n := 1; ; n++ {
		wide := (planes + n - 1) / n
		if wide == 1 || wide*(x+1)-1 <= widest*(n*(y+1)-1) {
			return wide
		}
	}
}

// bend is how far the link from a to b is bent: not at all when they are neighbours on paper.
func bend(a, b []int) float64 {
	for i := range a {
		steps := max(a[i]-b[i], b[i]-a[i])
		switch {
		case steps == 0:
		case i >= 2 && steps == 1:
			return planeBend
		case i >= 2:
			return backBend
		case steps > 1 && i == 0: // upwards: the bend is to the left of the way from a to b
			return aroundBend
		case steps > 1:
			return -aroundBend
		}
	}
	return 0
}

// circle lays out a ring.
func circle(g *topology.Graph) Layout {
	l := blank(Ring, g)
	n := float64(len(g.Switches))
	radius := 0.5 / math.Sin(math.Pi/n)
	outside := hangers(g)
	for i := range g.Switches {
		turn := 2*math.Pi*float64(i)/n - math.Pi/2
		sin, cos := math.Sincos(turn)
		l.Switches[i] = Point{X: radius * cos, Y: radius * sin}
		l.fan(l.Switches[i], outside[i], 0.5, turn-math.Pi/3, turn+math.Pi/3)
	}
	return l
}
