package topology

import (
	"fmt"
	"io"
)

// Drawing is where a graph is drawn; package layout makes them. Lengths are in the distance of two
// neighbouring switches, and y grows downwards.
type Drawing struct {
	Kind          string
	Width, Height float64
	Switches      []Point
	NICs          []Point
	// Bends says, per link, how far it runs beside the straight way from A to B, to the left of who
	// goes from A to B: at a share s of the way it is at A + s * (dx, dy) + bend * r * (dy, -dx) /
	// length, where r = 1 - (1 - min(1, d/ramp))^2, d is how far it is along the way to the nearer
	// end, and ramp is 0.6, or half of the length if that is less. 0: the link is straight.
	Bends []float64
}

// Point is a place on a drawing.
type Point struct{ X, Y float64 }

// WriteDrawnJSON writes what [Graph.WriteJSON] does, with the places of everything: x and y of
// switches and NICs, bend of links that are not straight, and layout. [Load] reads it, and leaves
// the places out. The error is w's, or says that d is of another graph.
func (g *Graph) WriteDrawnJSON(w io.Writer, d Drawing) error {
	if len(d.Switches) != len(g.Switches) || len(d.NICs) != len(g.NICs) || len(d.Bends) != len(g.Links) {
		return fmt.Errorf("write topology as JSON: the drawing has %d switches, %d NICs and %d links, expected the %d, %d "+
			"and %d of the topology",
			len(d.Switches), len(d.NICs), len(d.Bends), len(g.Switches), len(g.NICs), len(g.Links))
	}
	return g.writeJSON(w, d)
}

// place is where the i-th node is drawn, nil when no drawing is asked for.
func place(at []Point, i int) (x, y *float64) {
	if i >= len(at) {
		return nil, nil
	}
	return &at[i].X, &at[i].Y
}
