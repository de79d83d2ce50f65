package topology

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

const maxDims = 4 // dimensions of a mesh or torus; chosen by us

// grid is the arithmetic of a mesh or torus. Switches are numbered by their coordinates, the last
// running fastest; switch s has the NICs s*nics .. s*nics+nics-1, at its ports 2*len(dims) and up.
type grid struct {
	dims []int
	wrap []bool // per dimension: whether it goes around, which two switches do not
	nics int    // of one switch
}

// dimensions are the letters of dimensions, in their order.
const dimensions = "xyzw"

// newGrid makes the product of dims switches. The dimensions named in wrap go around, in a torus or
// a ring all if it is empty; one of two switches has one link and no second one around.
func newGrid(kind Kind, dims []int, wrap string, nics int) (*Graph, error) {
	if len(dims) < 1 || len(dims) > maxDims {
		return nil, fmt.Errorf("%d dimensions, expected 1 to %d", len(dims), maxDims)
	}
	count := 1
	for i, r := range dims {
		if err := checkRadix(kind, dims, i); err != nil {
			return nil, err
		}
		count = capped(count, r)
	}
	around, err := wraps(kind, dims, wrap)
	if err != nil {
		return nil, err
	}
	t := &grid{dims: dims, wrap: around, nics: nics}
	ports := 2*len(dims) + nics
	all := capped(count, nics)
	if err := bounds(count, all, capped(count, len(dims)+nics), ports); err != nil {
		return nil, err
	}
	g := &Graph{
		Kind: kind, grid: t,
		Switches: make([]Switch, count),
		NICs:     make([]NIC, 0, all),
		Links:    make([]Link, 0, count*(len(dims)+nics)),
	}
	for s := range count {
		c := t.coord(s)
		name := join(c)
		g.Switches[s] = Switch{ID: weft.SwitchID(s), Name: "s" + name, Coord: c, Ports: ports}
		for i := range nics {
			g.NICs = append(g.NICs, NIC{ID: weft.NICID(len(g.NICs)), Name: t.nicName(kind, name, s, i)})
		}
	}
	t.links(g)
	g.linkNICs(nics, func(Switch) int { return 2 * len(dims) })
	return g, nil
}

// checkRadix says what is wrong with how many switches dimension i has.
func checkRadix(kind Kind, dims []int, i int) error {
	switch r := dims[i]; {
	case kind == Ring && r < 3:
		return fmt.Errorf("%d switches, expected at least 3: mesh:2 has two", r)
	case r == 1:
		var rest []string
		for _, r := range dims {
			if r > 1 {
				rest = append(rest, strconv.Itoa(r))
			}
		}
		advice := "leave it out"
		if len(rest) > 0 {
			advice += fmt.Sprintf(", as in %s:%s", kind, strings.Join(rest, "x"))
		}
		return fmt.Errorf("dimension %c has 1 switch, expected at least 2: %s", dimensions[i], advice)
	case r < 1:
		return fmt.Errorf("dimension %c has no switch, expected at least 2", dimensions[i])
	}
	return nil
}

// wraps reads which dimensions go around.
func wraps(kind Kind, dims []int, letters string) (around []bool, err error) {
	around = make([]bool, len(dims))
	if letters == "" && kind != Mesh {
		letters = dimensions[:len(dims)]
	}
	for _, c := range letters {
		i := strings.IndexRune(dimensions[:len(dims)], c)
		if i < 0 || strings.Count(letters, string(c)) > 1 {
			return nil, fmt.Errorf("wrap=%s, expected each dimension that goes around once, of %s", nearest.Clip(letters),
				dimensions[:len(dims)])
		}
		around[i] = dims[i] > 2
	}
	return around, nil
}

func (t *grid) nicName(kind Kind, at string, s, i int) string {
	switch {
	case kind == Ring:
		return "n" + strconv.Itoa(s*t.nics+i)
	case t.nics == 1:
		return "n" + at
	}
	return "n" + at + "." + strconv.Itoa(i)
}

// links joins every switch, in order, to its neighbour upwards in each dimension.
func (t *grid) links(g *Graph) {
	for _, s := range g.Switches {
		stride := len(g.Switches)
		for i, r := range t.dims {
			stride /= r
			a := weft.End{Node: s.ID.Node(), Port: weft.PortID(2*i + 1)}
			next := int(s.ID) + stride
			if s.Coord[i] == r-1 {
				if !t.wrap[i] {
					continue
				}
				next -= r * stride
			}
			b := weft.End{Node: weft.SwitchID(next).Node(), Port: weft.PortID(2 * i)}
			if inOrder(b, a) {
				a, b = b, a
			}
			g.Links = append(g.Links, Link{ID: weft.LinkID(len(g.Links)), Name: g.linkName(a, b, false), A: a, B: b})
		}
	}
}

// linkNICs links NICs s*n .. s*n+n-1 to switch s, from its port first(s) on.
func (g *Graph) linkNICs(n int, first func(Switch) int) {
	for _, s := range g.Switches {
		for i := range n {
			a := weft.End{Node: s.ID.Node(), Port: weft.PortID(first(s) + i)}
			b := weft.End{Node: weft.NICID(int(s.ID)*n + i).Node()}
			g.Links = append(g.Links, Link{ID: weft.LinkID(len(g.Links)), Name: g.linkName(a, b, false), A: a, B: b})
		}
	}
}

func (t *grid) coord(s int) []int {
	c := make([]int, len(t.dims))
	for i := len(t.dims) - 1; i >= 0; i-- {
		c[i], s = s%t.dims[i], s/t.dims[i]
	}
	return c
}

// place is what switch s knows of its coordinates.
func (t *grid) place(s Switch) *weft.Grid {
	g := &weft.Grid{NICs: uint32(t.nics), Dims: make([]weft.Dim, len(t.dims))}
	stride := uint32(1)
	for i := len(t.dims) - 1; i >= 0; i-- {
		g.Dims[i] = weft.Dim{Size: uint32(t.dims[i]), At: uint32(s.Coord[i]), Stride: stride, Wrap: t.wrap[i]}
		stride *= uint32(t.dims[i])
	}
	return g
}

// distance is the number of links of a dimension-order path.
func (t *grid) distance(a, b []int) int {
	links := 0
	for i, r := range t.dims {
		d := max(a[i]-b[i], b[i]-a[i])
		if t.wrap[i] {
			d = min(d, r-d)
		}
		links += d
	}
	return links
}

func join(c []int) string {
	parts := make([]string, len(c))
	for i, x := range c {
		parts[i] = strconv.Itoa(x)
	}
	return strings.Join(parts, ".")
}
