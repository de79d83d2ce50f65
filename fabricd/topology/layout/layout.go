// Package layout says where the switches and NICs of a topology are drawn, so that the page, the
// drawings in files and the reports all show the same map; and it draws the files: SVG, the
// language of Graphviz, and Mermaid, which alone has a layout of its own. It is pure: the same
// graph gives the same layout.
//
//	l := layout.Of(g)
//	at := l.Switches[3] // the unit is the distance of two neighbouring switches, and y grows downwards
//
// Trees stand tier by tier, meshes and tori in rows and columns, rings are round. The rest are laid
// out by stress: each two switches are as far apart, as nearly as that can be had on paper, as the
// shortest path between them is long. No link crosses the box of a switch that it does not touch:
// where the straight way does, the link is bent. Layouts by stress hold this up to some hundred
// switches.
package layout

import (
	"io"
	"math"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// The kinds of layout, [Layout.Kind].
const (
	Tree   = "tree"   // tiers from the top, NICs at the bottom
	Grid   = "grid"   // coordinates are columns and rows
	Planes = "planes" // several grids: a mesh or torus of three or four dimensions, cut along the third and fourth
	Ring   = "ring"   // clockwise, beginning at the top
	Free   = "free"   // by stress
)

// Point is a place on the drawing.
type Point = topology.Point

// Layout is where everything is drawn: all points have at least half a unit to the edges of Width x
// Height.
type Layout topology.Drawing

// margin is kept free around all points.
const margin = 0.5

// Of lays g out. It takes far less than a second for a thousand switches, and seconds for the
// largest topology there can be.
func Of(g *topology.Graph) Layout {
	var l Layout
	switch {
	case g.Tiers > 0:
		l = tiers(g)
	case round(g):
		l = circle(g)
	case len(g.Switches[0].Coord) > 0:
		l = rows(g)
	default:
		l = free(g)
	}
	l.frame(g)
	return l
}

// round reports whether g is a ring, under whatever name.
func round(g *topology.Graph) bool {
	return g.Kind == topology.Ring || g.Kind == topology.Torus && len(g.Switches[0].Coord) == 1 && len(g.Switches) > 2
}

// WriteJSON writes what g.WriteJSON does, and the layout of g with it: x and y of each switch and
// NIC, bend of links that are not straight, and layout with its kind, width and height. The error
// is w's.
func WriteJSON(w io.Writer, g *topology.Graph) error {
	return g.WriteDrawnJSON(w, topology.Drawing(Of(g)))
}

// blank is a layout of g with no place settled.
func blank(kind string, g *topology.Graph) Layout {
	return Layout{
		Kind: kind, Switches: make([]Point, len(g.Switches)), NICs: make([]Point, len(g.NICs)),
		Bends: make([]float64, len(g.Links)),
	}
}

// frame moves everything to where the margins are right, and rounds to what is worth writing down.
func (l *Layout) frame(g *topology.Graph) {
	least, most := Point{X: math.Inf(1), Y: math.Inf(1)}, Point{X: math.Inf(-1), Y: math.Inf(-1)}
	all := [][]Point{l.Switches, l.NICs}
	reach := func(p Point) {
		least = Point{X: min(least.X, p.X), Y: min(least.Y, p.Y)}
		most = Point{X: max(most.X, p.X), Y: max(most.Y, p.Y)}
	}
	for _, list := range all {
		for _, p := range list {
			reach(p)
		}
	}
	for i, k := range g.Links {
		if math.Abs(l.Bends[i]) > margin { // what is less is in the margin
			for _, share := range []float64{0.25, 0.5, 0.75} {
				reach(Along(l.Switches[k.A.Node.Index], l.Switches[k.B.Node.Index], l.Bends[i], share))
			}
		}
	}
	for _, list := range all {
		for i, p := range list {
			list[i] = Point{X: rounded(p.X - least.X + margin), Y: rounded(p.Y - least.Y + margin)}
		}
	}
	for i, b := range l.Bends {
		l.Bends[i] = rounded(b)
	}
	l.Width, l.Height = rounded(most.X-least.X+2*margin), rounded(most.Y-least.Y+2*margin)
}

func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

// hangers are the NICs of each switch, in their order.
func hangers(g *topology.Graph) [][]int {
	list := make([][]int, len(g.Switches))
	for _, n := range g.NICs {
		s, _ := g.SwitchOf(n.ID)
		list[s] = append(list[s], int(n.ID))
	}
	return list
}

// fan places the NICs of a switch around it, at a distance, in the middle of the angles from a to
// b.
func (l *Layout) fan(at Point, nics []int, distance, a, b float64) {
	for i, n := range nics {
		turn := a + (b-a)*(float64(i)+0.5)/float64(len(nics))
		sin, cos := math.Sincos(turn)
		l.NICs[n] = Point{X: at.X + distance*cos, Y: at.Y + distance*sin}
	}
}
