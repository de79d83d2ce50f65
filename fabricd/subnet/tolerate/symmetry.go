package tolerate

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Symmetry maps the switches of a topology, and the links between them, onto themselves.
type Symmetry struct {
	Name     string          // as "translation in dimension 0"
	Switches []weft.SwitchID // the image of each
	Links    []weft.LinkID   // the image of each; a link of a NIC is its own
}

// Links are the links between switches: those that may die.
func Links(g *topology.Graph) (list []weft.LinkID) {
	for i := range g.Links {
		if g.Links[i].BetweenSwitches() {
			list = append(list, g.Links[i].ID)
		}
	}
	return list
}

// Symmetries are those that all others are made of under which ways by the mechanisms are the same:
// steps in each dimension that goes around, the reflection of each dimension, and the swap of each
// with the next one like it.
func Symmetries(n *direct.Net, m direct.Mechanisms) (list []Symmetry) {
	g := n.Graph()
	grid := g.Place(0).Grid
	at := func(c []int) weft.SwitchID {
		id := 0
		for i, x := range c {
			id += x * int(grid.Dims[i].Stride)
		}
		return weft.SwitchID(id)
	}
	add := func(name string, image func(c []int)) {
		s := Symmetry{Name: name, Switches: make([]weft.SwitchID, len(g.Switches))}
		for i := range g.Switches {
			c := slices.Clone(g.Switches[i].Coord)
			image(c)
			s.Switches[i] = at(c)
		}
		if s.Links = linkImages(g, s.Switches); s.Links != nil {
			list = append(list, s)
		}
	}
	for i, d := range grid.Dims {
		if step := n.Translates(m, i); step > 0 {
			add(fmt.Sprintf("translation in dimension %d", i), func(c []int) { c[i] = (c[i] + step) % int(d.Size) })
		}
	}
	for i, d := range grid.Dims {
		if n.Reflects(m, i) {
			add(fmt.Sprintf("reflection of dimension %d", i), func(c []int) { c[i] = int(d.Size) - 1 - c[i] })
		}
	}
	for i := range grid.Dims {
		for k := i + 1; k < len(grid.Dims); k++ {
			if n.Swaps(m, i, k) {
				add(fmt.Sprintf("swap of dimensions %d and %d", i, k), func(c []int) { c[i], c[k] = c[k], c[i] })
				break
			}
		}
	}
	return list
}

// linkImages are the links between the images of the ends of each; nil where a link has none.
func linkImages(g *topology.Graph, switches []weft.SwitchID) []weft.LinkID {
	type ends [2]weft.SwitchID
	of := func(a, b weft.SwitchID) ends { return ends{min(a, b), max(a, b)} }
	between := map[ends]weft.LinkID{}
	for i := range g.Links {
		if l := &g.Links[i]; l.BetweenSwitches() {
			between[of(weft.SwitchID(l.A.Node.Index), weft.SwitchID(l.B.Node.Index))] = l.ID
		}
	}
	images := make([]weft.LinkID, len(g.Links))
	for i := range g.Links {
		l := &g.Links[i]
		if images[i] = l.ID; !l.BetweenSwitches() {
			continue
		}
		image, ok := between[of(switches[l.A.Node.Index], switches[l.B.Node.Index])]
		if !ok {
			return nil // a link was taken away from what was generated
		}
		images[i] = image
	}
	return images
}
