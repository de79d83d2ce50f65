package direct

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// Segment is one way of going along one sub-path. A way of mechanisms m is one of up to
// [Mechanisms.SubPaths] segments, each of which begins where the one before ends.
type Segment struct {
	Src, Dst weft.SwitchID
	Sub      weft.SubHeader // as of a last sub-path
	Length   int            // hops
	Links    []weft.LinkID  // that packets may take; if all are alive the segment is
}

// Segments are all segments from a switch to every other one that m allows, without faults:
// adaptive ones, deterministic ones, and those with misroutes, also where a shorter one takes none
// but links of a longer one. In a topology from which links are missing there are none by these.
func (n *Net) Segments(m Mechanisms, src weft.SwitchID, yield func(Segment) bool) {
	if int(src) >= n.nodes {
		return
	}
	for dst := range n.nodes {
		if dst == int(src) {
			continue
		}
		more := n.options(m, int(src), dst, func(o *option) bool {
			s := Segment{Src: src, Dst: weft.SwitchID(dst), Sub: n.header(o.way, 0), Length: o.cost.hops()}
			for _, e := range o.edges {
				if n.links[e] == noLink {
					return true
				}
				s.Links = append(s.Links, n.links[e])
			}
			slices.Sort(s.Links)
			s.Links = slices.Compact(s.Links)
			return yield(s)
		})
		if !more {
			return
		}
	}
}

// option is one way of going along a sub-path, and the edges that packets may take then, some of
// them more than once.
type option struct {
	cost  cost
	way   detour // without legs but for misroutes
	edges []int32
}

// options visits all options from u to another node v until yield says false, and reports whether
// it never did. The option is not kept.
func (n *Net) options(m Mechanisms, u, v int, yield func(*option) bool) bool {
	shortest := n.distance(u, v)
	o := option{cost: cost(shortest) * costHop, way: detour{length: shortest}, edges: n.box(u, v, nil)}
	if !yield(&o) {
		return false
	}
	if m.Deterministic {
		var list [16]uint8
		for _, other := range n.others(u, v, m.Either, list[:0]) {
			o.way.fixed, o.way.other, o.cost = true, other, cost(shortest)*costHop+costFixed
			o.edges = n.line(u, v, m.InDirectionOrder(), other, o.edges[:0])
			if !yield(&o) {
				return false
			}
		}
	}
	if !m.Misroute {
		return true
	}
	var legs []int32
	boxes := make([][]int32, n.nodes) // where rests begin, as they are needed
	x := misrouter{net: n, m: m, to: v, bound: unbounded}
	x.passes = func(_, edge int, on bool) bool {
		if legs = append(legs, int32(edge)); !on {
			legs = legs[:len(legs)-2]
		}
		return true
	}
	x.ends = func(node int, d *detour) bool {
		o.way, o.cost, o.edges = *d, d.cost(), append(o.edges[:0], legs...)
		if d.fixed {
			o.edges = n.line(node, v, true, d.other, o.edges)
		} else {
			if boxes[node] == nil {
				boxes[node] = n.box(node, v, []int32{})
			}
			o.edges = append(o.edges, boxes[node]...)
		}
		return !yield(&o)
	}
	return !x.from(u, 0, 0)
}

// box appends the edges of all shortest paths from u to v.
func (n *Net) box(u, v int, list []int32) []int32 {
	k := len(n.dims)
	a, b := n.at(u), n.at(v)
	for e := range n.links {
		c, in := n.at(e/k), n.there(e)
		for i := 0; in && i < k; i++ {
			in = n.dims[i].spans(int(a[i]), int(b[i]), int(c[i]), i == e%k)
		}
		if in {
			list = append(list, int32(e))
		}
	}
	return list
}

// line appends the edges of a deterministic sub-path.
func (n *Net) line(u, v int, direction bool, other uint8, list []int32) []int32 {
	n.fixed(u, v, direction, other, func(e int) bool {
		list = append(list, int32(e))
		return true
	})
	return list
}

// header is the sub-header of a sub-path to a switch: adaptive, deterministic, or a detour.
func (n *Net) header(d detour, to weft.SwitchID) weft.SubHeader {
	h := weft.NewSubHeader(to)
	if d.fixed {
		h = h.WithDeterministic()
	}
	for i, l := range d.legs[:d.n] {
		h = h.WithMisroute(i, n.port(l.direction), l.hops)
	}
	for i := range n.dims {
		if d.other>>i&1 == 1 {
			h = h.WithOtherWay(i)
		}
	}
	return h
}
