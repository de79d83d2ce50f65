package dqr

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Mesh is the plug-in for meshes under dimension-order routing, X first, and for each layer of tori
// that is a mesh of its own (section IV.C). Around a dead link it enables the turns of a path of
// three links for both directions, on the same side, and at both ends those of entering and leaving
// it. The side is that of the mesh's centre, as there always is one, or else the other; in more
// than two dimensions the way round is in a dimension next to the link's, so that all turns but
// those are in the order of the dimensions.
type Mesh struct{}

// Fits is nil for graphs whose switches stand in a grid.
func (Mesh) Fits(g *topology.Graph) error {
	if len(g.Switches) > 0 && g.Place(0).Grid == nil {
		return fmt.Errorf("plug-in mesh is for meshes, tori and rings, and %s is none: leave the plug-in out", g.Spec)
	}
	return nil
}

// Enable is for graphs whose switches stand in a grid.
func (Mesh) Enable(link *topology.Link, e Enabler) bool {
	g := e.Graph()
	a := weft.SwitchID(link.A.Node.Index)
	grid := g.Place(a).Grid
	if grid == nil {
		return false
	}
	i := int(link.A.Port) / 2 // the dimension of the link
	for _, j := range [2]int{i + 1, i - 1} {
		if j < 0 || j >= len(grid.Dims) {
			continue
		}
		sides := [2]weft.PortID{grid.Up(j), grid.Down(j)}
		if d := grid.Dims[j]; 2*d.At+1 > d.Size { // beyond the centre
			sides[0], sides[1] = sides[1], sides[0]
		}
		for _, side := range sides {
			if turns := around(link, side, i < j, e); turns != nil && e.Together(turns) {
				return true
			}
		}
	}
	return false
}

// around are the turns of going round a link on a side, nil where a link is missing. Earlier: the
// dimension of the link comes before that of the side, so that packets may turn from it into the
// side, and else the other way round.
func around(link *topology.Link, side weft.PortID, earlier bool, e Enabler) []Turn {
	a, b := link.A, link.B
	c, inC, ok := step(a.Node, side, e)
	d, inD, ok2 := step(b.Node, side, e)
	if !ok || !ok2 {
		return nil
	}
	over, inOver, ok := step(c, a.Port, e)
	if !ok || over != d || inOver != b.Port {
		return nil
	}
	at := func(n weft.Node, in, out weft.PortID) Turn { return Turn{weft.SwitchID(n.Index), in, out} }
	turns := []Turn{
		at(c, inC, a.Port), at(d, b.Port, inD), // from A to B
		at(d, inD, b.Port), at(c, a.Port, inC), // and back
	}
	// At A packets come in by the port opposite to the link, and those that left the path there go
	// on by it; at B alike.
	for _, end := range [2]weft.End{a, b} {
		ahead := end.Port ^ 1 // the other port of the dimension
		if _, _, ok := step(end.Node, ahead, e); !ok {
			continue
		}
		if turns = append(turns, at(end.Node, ahead, side)); earlier {
			turns[len(turns)-1] = at(end.Node, side, ahead)
		}
	}
	return turns
}

// step is the neighbour of a switch by a port, and the port by which packets come in there; false
// when there is none or the link is dead.
func step(n weft.Node, p weft.PortID, e Enabler) (next weft.Node, in weft.PortID, ok bool) {
	peer, link, ok := e.Graph().Peer(weft.End{Node: n, Port: p})
	if !ok || !peer.Node.IsSwitch() || !e.Alive(link) {
		return weft.Node{}, 0, false
	}
	return peer.Node, peer.Port, true
}
