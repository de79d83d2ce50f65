package layout

import (
	"math"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// Between the boxes of two rows of switches is a lane for links, and between those of two columns
// another. Links around a torus run in the lane above or to the left of their switches, those to
// other planes below or to the right of theirs, each where it meets no other.
const (
	aroundRow, aroundColumn = 0.28, 0.34
	laneBelow, laneRight    = 0.32, 0.34 // where the lanes of planes begin
	wideBelow, wideRight    = 0.34, 0.26
)

// rows lays out a mesh or torus: the first coordinate to the right, the second down. The planes
// that the third coordinate makes stand side by side, in several rows if there are many, which run
// to the right and to the left by turns; those of the fourth always make a row each.
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
	for d := range dims {
		dims[d] = max(1, dims[d])
	}
	wide := sideBySide(g.Kind, dims[0], dims[1], dims[2])
	if dims[3] > 1 {
		wide = dims[2]
	}
	for i, s := range g.Switches {
		var c [4]int
		copy(c[:], s.Coord)
		column, row := float64(c[2]), c[3]
		if dims[3] == 1 {
			column, row = snake(c[2], dims[2], wide)
		}
		l.Switches[i] = Point{X: float64(c[0]) + column*float64(dims[0]+1), Y: float64(c[1] + row*(dims[1]+1))}
	}
	for i, k := range g.Links {
		if k.BetweenSwitches() {
			l.Bends[i] = l.lane(&g.Switches[k.A.Node.Index], &g.Switches[k.B.Node.Index], dims, wide == dims[2])
		}
	}
	l.lead(g, false)
	low := 5 * math.Pi / 12
	if kind == Planes {
		low = 5 * math.Pi / 18 // above the lane
	}
	for s, nics := range hangers(g) {
		l.fan(l.Switches[s], nics, 0.36, math.Pi/12, low) // between the links to the right and down
	}
	return l
}

// sideBySide is how many planes of x by y switches make a row: all of them if that is at most two
// and a half times as wide as high. Those of a torus make two rows at most, so that the last stands
// below the first.
func sideBySide(kind topology.Kind, x, y, planes int) int {
	const widest = 2.5
	for n := 1; ; n++ {
		wide := (planes + n - 1) / n
		if wide == 1 || float64(wide*(x+1)-1) <= widest*float64(n*(y+1)-1) ||
			kind == topology.Torus && (n == 2 || planes == 3) {
			return wide
		}
	}
}

// snake is where plane i of several stands when so many make a row: below its neighbours or beside
// them. The planes of the last row are as far apart as they can be.
func snake(i, planes, wide int) (column float64, row int) {
	row = i / wide
	column = float64(i % wide)
	if last := planes - row*wide; last < wide && last > 1 {
		column *= float64(wide-1) / float64(last-1)
	}
	if row%2 == 1 {
		column = float64(wide-1) - column
	}
	return column, row
}

// lane is the bend of the link between two switches of a grid; 0 when they are neighbours on paper.
func (l *Layout) lane(a, b *topology.Switch, dims []int, inLine bool) float64 {
	p, q := l.Switches[a.ID], l.Switches[b.ID]
	d := 0
	for a.Coord[d] == b.Coord[d] {
		d++
	}
	bend := 0.0
	switch upright := p.X == q.X; {
	case d < 2 && math.Hypot(p.X-q.X, p.Y-q.Y) == 1:
	case d == 0:
		bend = aroundRow
	case d == 1:
		bend = -aroundColumn
	default:
		// Each column has a part of the lane below its rows, and each row one of that beside its columns.
		// Where the last plane is in line with the first, half of it is for the way back.
		at, of, first, wide := a.Coord[0], dims[0], -laneBelow, -wideBelow
		if upright {
			at, of, first, wide = 0, 1, laneRight, wideRight
			if len(a.Coord) > 1 {
				at, of = a.Coord[1], dims[1]
			}
		}
		share := float64(at) / float64(of)
		if inLine {
			share /= 2
			if b.Coord[d]-a.Coord[d] > 1 {
				share += 0.5
			}
		}
		bend = first + wide*share
	}
	if q.X < p.X || q.Y < p.Y { // the left of a link that runs back is on the other side
		bend = -bend
	}
	return bend
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
	l.lead(g, false)
	return l
}
