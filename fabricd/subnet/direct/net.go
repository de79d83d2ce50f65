package direct

import (
	"fmt"
	mathbits "math/bits"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// maxNodes is how many switches a net may have: a solution keeps 4 bytes for each pair of them, and
// a net 2. Chosen by us.
const maxNodes = 4096

// Net is a torus, a mesh or a ring as ways are found in it. It is read-only.
type Net struct {
	g     *topology.Graph
	nodes int
	dims  []dim
	coord []uint16 // per switch and dimension
	hops  []uint16 // per pair: l(u,v), the length of the shortest paths without faults

	// A hop leaves a node in one of 2n directions, numbered in their order: X+ Y+ Z+ X- Y- Z-.
	next []int32 // per node and direction: where it leads, -1 at the end of a mesh
	edge []int32 // per node and direction: its edge, -1 at the end of a mesh

	// Edges are the links between switches: the one up in dimension i of node u is u*len(dims)+i.
	links []weft.LinkID // per edge; noLink for none
}

const noLink = weft.LinkID(1<<32 - 1)

// dim is one dimension.
type dim struct {
	size, stride int
	hops         []uint16 // from each coordinate to each: on a shortest way
	ways         []way    // from each coordinate to each
}

// way says how a packet goes from one coordinate of a dimension to another.
type way uint8

// The directions of the shortest ways, both half way round, and which of these a deterministic
// sub-path takes by itself.
const (
	wayUp way = 1 << iota
	wayDown
	fixedUp
)

// New is for a mesh, a torus or a ring of at most maxNodes switches. One without some of its links,
// as a file may list it, is one in which these are always dead.
func New(g *topology.Graph) (*Net, error) {
	if len(g.Switches) == 0 || g.Place(0).Grid == nil {
		return nil, fmt.Errorf("%s is no mesh, torus or ring: ways around faults by intermediate nodes are only found there",
			name(g))
	}
	if len(g.Switches) > maxNodes {
		return nil, fmt.Errorf("%s has %d switches: ways around faults are found among at most %d", name(g), len(g.Switches),
			maxNodes)
	}
	grid := g.Place(0).Grid
	n := &Net{g: g, nodes: len(g.Switches), dims: make([]dim, len(grid.Dims))}
	for i := range grid.Dims {
		n.dims[i] = newDim(g, i)
	}
	n.coord = make([]uint16, n.nodes*len(n.dims))
	for u := range n.nodes {
		for i, d := range g.Place(weft.SwitchID(u)).Grid.Dims {
			n.coord[u*len(n.dims)+i] = uint16(d.At)
		}
	}
	n.measure()
	n.index()
	return n, nil
}

func name(g *topology.Graph) string {
	if g.Spec != "" {
		return g.Spec
	}
	return "the topology (" + string(g.Kind) + ")"
}

func newDim(g *topology.Graph, i int) dim {
	of := g.Place(0).Grid.Dims[i]
	d := dim{size: int(of.Size), stride: int(of.Stride)}
	around := g.Place(0).Grid.Around(i)
	for a := range d.size {
		grid := g.Place(weft.SwitchID(a * d.stride)).Grid
		for b := range d.size {
			var w way
			hops := max(a-b, b-a)
			if a != b {
				up, half := firmware.ShorterWay(grid, i, uint32(b))
				switch {
				case up:
					w = wayUp | fixedUp
				default:
					w = wayDown
				}
				if half {
					w |= wayUp | wayDown
				}
				if around {
					hops = min(hops, d.size-hops)
				}
			}
			d.ways, d.hops = append(d.ways, w), append(d.hops, uint16(hops))
		}
	}
	return d
}

// index fills next, edge and links.
func (n *Net) index() {
	k := len(n.dims)
	n.next, n.edge = make([]int32, n.nodes*2*k), make([]int32, n.nodes*2*k)
	n.links = make([]weft.LinkID, n.nodes*k)
	for i := range n.next {
		n.next[i], n.edge[i] = -1, -1
	}
	for u := range n.nodes {
		grid := n.g.Place(weft.SwitchID(u)).Grid
		for i, d := range n.dims {
			e, at := u*k+i, int(n.coord[u*k+i])
			n.links[e] = noLink
			v := u + d.stride
			if at == d.size-1 {
				if !grid.Around(i) {
					continue
				}
				v = u - at*d.stride
			}
			if _, id, ok := n.g.Peer(weft.End{Node: weft.SwitchID(u).Node(), Port: grid.Up(i)}); ok {
				n.links[e] = id
			}
			n.next[u*2*k+i], n.next[v*2*k+k+i] = int32(v), int32(u)
			n.edge[u*2*k+i], n.edge[v*2*k+k+i] = int32(e), int32(e)
		}
	}
}

// Graph is the topology.
func (n *Net) Graph() *topology.Graph { return n.g }

// directions is how many there are.
func (n *Net) directions() int { return 2 * len(n.dims) }

// port is a direction as a port of a [weft.Grid].
func (n *Net) port(direction int) weft.PortID {
	if i := direction - len(n.dims); i >= 0 {
		return weft.PortID(2 * i)
	}
	return weft.PortID(2*direction + 1)
}

// at are the coordinates of a node.
func (n *Net) at(u int) []uint16 { return n.coord[u*len(n.dims) : (u+1)*len(n.dims)] }

// distance is l(u,v), in hops.
func (n *Net) distance(u, v int) int { return int(n.hops[u*n.nodes+v]) }

// measure fills hops.
func (n *Net) measure() {
	n.hops = make([]uint16, 0, n.nodes*n.nodes)
	for u := range n.nodes {
		for v := range n.nodes {
			a, b, hops := n.at(u), n.at(v), uint16(0)
			for i := range n.dims {
				d := &n.dims[i]
				hops += d.hops[int(a[i])*d.size+int(b[i])]
			}
			n.hops = append(n.hops, hops)
		}
	}
}

// way is how packets go from u to v in dimension i.
func (n *Net) way(u, v, i int) way {
	k, d := len(n.dims), &n.dims[i]
	return d.ways[int(n.coord[u*k+i])*d.size+int(n.coord[v*k+i])]
}

// faults are the edges that do not work.
type faults struct {
	dead bits  // by edge
	list []int // the edges
}

// there reports whether an edge has its place in the grid, and is not beyond the end of a mesh.
func (n *Net) there(e int) bool {
	k := len(n.dims)
	return n.edge[e/k*2*k+e%k] >= 0
}

// faults are the links that dead says, and those that are missing.
func (n *Net) faults(dead func(*topology.Link) bool) faults {
	f := faults{dead: newBits(len(n.links))}
	for e, id := range n.links {
		if n.there(e) && (id == noLink || dead != nil && dead(&n.g.Links[id])) {
			f.dead.set(e)
			f.list = append(f.list, e)
		}
	}
	return f
}

// components numbers the nodes by what live links join.
func (n *Net) components(dead func(*topology.Link) bool) []int {
	live := n.g.Adjacency(func(l *topology.Link) bool { return dead == nil || !dead(l) })
	of, _ := live.Components(nil)
	return of
}

// bits is a set of small numbers.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) set(i int) { b[i>>6] |= 1 << (i & 63) }

// each visits the numbers, in their order.
func (b bits) each(visit func(i int)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			visit(64*i + mathbits.TrailingZeros64(w))
		}
	}
}

func (b bits) has(i int) bool { return b[i>>6]>>(i&63)&1 == 1 }
