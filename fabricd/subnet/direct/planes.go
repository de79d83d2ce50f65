package direct

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Plane is all switches with one coordinate in a dimension.
type Plane struct{ Dim, At int }

// Planes is what is left of a torus or a mesh when whole planes with faults are switched off and
// bypassed, as in BlueGene/L (section 5.3.1): the baseline that ways around faults are compared
// with. What is left has no faults and a size less in a dimension for each plane of it.
type Planes struct {
	Off  []Plane         // by dimension and coordinate
	Lost []weft.SwitchID // the switches in these
	// the topology that is left, as [topology.Generate] reads it; empty when that is one switch or
	// none
	Spec string
}

// Planes chooses planes so that each dead link has an end in one, and as few switches as possible
// are lost; then as few planes as possible, and then those of the first dimensions and coordinates.
func (n *Net) Planes(dead func(*topology.Link) bool) Planes {
	s := planeSearch{net: n, off: make([][]bool, len(n.dims)), least: n.nodes + 1}
	for i := range n.dims {
		s.off[i] = make([]bool, n.dims[i].size)
	}
	s.cover(n.faults(dead).list, 0)
	return n.without(s.best)
}

// planeSearch tries the planes of one fault after another.
type planeSearch struct {
	net *Net
	off [][]bool // by dimension and coordinate

	least int // switches lost
	best  []Plane
}

// cover switches off planes for the faults that have none; so many planes are off.
func (s *planeSearch) cover(faults []int, planes int) {
	lost := s.lost()
	if lost > s.least || lost == s.least && planes >= len(s.best) {
		return
	}
	k := len(s.net.dims)
	covered := func(e int) bool {
		return slices.ContainsFunc(s.planes(e), func(p Plane) bool { return s.off[p.Dim][p.At] })
	}
	for len(faults) > 0 && covered(faults[0]) {
		faults = faults[1:]
	}
	if len(faults) == 0 {
		s.least, s.best = lost, s.best[:0]
		for i := range k {
			for at, off := range s.off[i] {
				if off {
					s.best = append(s.best, Plane{i, at})
				}
			}
		}
		return
	}
	for _, p := range s.planes(faults[0]) {
		s.off[p.Dim][p.At] = true
		s.cover(faults[1:], planes+1)
		s.off[p.Dim][p.At] = false
	}
}

// planes are those that an end of an edge is in.
func (s *planeSearch) planes(e int) (list []Plane) {
	n := s.net
	k := len(n.dims)
	u := e / k
	for i := range n.dims {
		at := int(n.at(u)[i])
		if i != e%k {
			list = append(list, Plane{i, at})
			continue
		}
		next := (at + 1) % n.dims[i].size
		list = append(list, Plane{i, min(at, next)}, Plane{i, max(at, next)})
	}
	return list
}

// lost is how many switches are in the planes that are off.
func (s *planeSearch) lost() int {
	left := 1
	for i := range s.off {
		size := 0
		for _, off := range s.off[i] {
			if !off {
				size++
			}
		}
		left *= size
	}
	return s.net.nodes - left
}

// without is the net without some planes.
func (n *Net) without(off []Plane) Planes {
	p := Planes{Off: slices.Clone(off)}
	for u := range n.nodes {
		at := n.at(u)
		if slices.ContainsFunc(off, func(x Plane) bool { return int(at[x.Dim]) == x.At }) {
			p.Lost = append(p.Lost, weft.SwitchID(u))
		}
	}
	var sizes []string
	wraps := ""
	for i, d := range n.dims {
		for _, x := range off {
			d.size -= truth(x.Dim == i)
		}
		switch {
		case d.size == 0:
			return p
		case d.size == 1: // no dimension any more
			continue
		case n.g.Place(0).Grid.Around(i):
			wraps += string("xyzw"[len(sizes)])
		}
		sizes = append(sizes, strconv.Itoa(d.size))
	}
	if len(sizes) == 0 {
		return p
	}
	p.Spec = string(topology.Mesh) + ":" + strings.Join(sizes, "x")
	if wraps != "" {
		p.Spec = string(topology.Torus) + ":" + strings.Join(sizes, "x")
		if len(wraps) < len(sizes) {
			p.Spec += ",wrap=" + wraps
		}
	}
	if nics := n.g.Place(0).Grid.NICs; nics > 1 {
		p.Spec += ",nics=" + strconv.Itoa(int(nics))
	}
	return p
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
