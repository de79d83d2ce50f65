package layered

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// XY is dimension order as tables, in one layer: x first, then y, then z. Tori and rings it routes
// as meshes: nothing goes by the links around the end, so that one layer is enough there too, but
// paths are not the shortest; see [ECube]. A link that a file took away leaves the pairs unroutable
// whose path leads over it.
func XY(ctx context.Context, g *topology.Graph, _ Options) (*Routing, error) {
	o, err := newOrdered("xy", g)
	if err != nil {
		return nil, err
	}
	o.around = nil
	return o.routing(ctx)
}

// ECube is dimension order as tables over shortest ways, in tori and rings in as many layers as
// there are sets of dimensions: a pair is in the layer of those in which its path goes around the
// end (e-cube, the tori of Sem-Jacobsen, Lysne: Topology Agnostic Dynamic Quick Reconfiguration for
// Large-Scale Interconnection Networks, section V-B). In these dimensions the layer is a mesh that
// is cut half way, where no shortest path that goes around the end leads; in the others it is one
// that is cut at the end. So each layer is dimension order in a mesh, which has no cycle of
// dependencies, and meshes have one layer. Half way round both ways are as short; the one that is
// taken is that of [firmware.ShorterWay].
func ECube(ctx context.Context, g *topology.Graph, _ Options) (*Routing, error) {
	o, err := newOrdered("e-cube", g)
	if err != nil {
		return nil, err
	}
	return o.routing(ctx)
}

// ordered makes tables of dimension order.
type ordered struct {
	name   string
	w      *wires
	around []int // the dimensions that go around the end: the bits of a layer
}

func newOrdered(name string, g *topology.Graph) (*ordered, error) {
	if len(g.Switches) == 0 || g.Place(0).Grid == nil {
		return nil, fmt.Errorf("%s is for meshes, tori and rings, and %s is none: choose such a topology, as mesh:4x4", name,
			g.Spec)
	}
	w, err := newWires(g)
	if err != nil {
		return nil, err
	}
	o := &ordered{name: name, w: w}
	grid := g.Place(0).Grid
	for i := range grid.Dims {
		if grid.Around(i) {
			o.around = append(o.around, i)
		}
	}
	return o, nil // a grid has at most four dimensions: 16 layers, weft.MaxVCs
}

func (o *ordered) layers() int { return 1 << len(o.around) }

// routing fills the tables: in each layer for every destination from everywhere.
func (o *ordered) routing(ctx context.Context) (*Routing, error) {
	r, err := newRows(o.w, o.layers(), 1)
	if err != nil {
		return nil, err
	}
	for to := range int32(o.w.n) {
		if err := Interrupted(ctx); err != nil {
			return nil, err
		}
		for _, d := range o.w.nics[to] {
			if err := r.home(d); err != nil {
				return nil, err
			}
			if err := o.toward(r, to, d); err != nil {
				return nil, err
			}
		}
	}
	unroutable, ended := 0, false
	t, err := o.w.assign(o.layers(), func(s, d int32) []weft.Address { // for each NIC of d
		if ended = ended || ctx.Err() != nil; ended {
			return nil // said below
		}
		layer := o.layerOf(s, d)
		if !o.leads(s, d, layer) {
			unroutable += len(o.w.nics[s])
			return nil
		}
		return []weft.Address{{VC: layer}}
	})
	if ended {
		err = Interrupted(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &Routing{
		Engine: o.name, Graph: o.w.g, Kind: Deterministic, Layers: o.layers(), Tables: r.tables, Assignment: t,
		Unroutable: unroutable,
	}, nil
}

// toward fills the entries for NIC d on switch to.
func (o *ordered) toward(r *rows, to int32, d weft.NICID) error {
	var port [1]weft.PortID
	for s := range int32(o.w.n) {
		if s == to {
			continue
		}
		for layer := range weft.VC(o.layers()) {
			port[0], _ = o.step(s, to, layer)
			if port[0] == weft.NoPort {
				continue
			}
			if err := r.set(s, d, span{layer, layer + 1}, port[:], nil, nil, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// step is the port by which packets for another switch leave s in a layer, and where it leads;
// NoPort when that link is not there.
func (o *ordered) step(s, to int32, layer weft.VC) (weft.PortID, int32) {
	here, there := o.w.g.Place(weft.SwitchID(s)).Grid, o.w.g.Place(weft.SwitchID(to)).Grid
	for i := range here.Dims {
		at, end := here.Dims[i].At, there.Dims[i].At
		if at == end {
			continue
		}
		port, cut := here.Down(i), o.cut(here, i, layer)
		if size := here.Dims[i].Size; (end+size-cut)%size > (at+size-cut)%size {
			port = here.Up(i)
		}
		peer, _, ok := o.w.g.Peer(weft.End{Node: weft.SwitchID(s).Node(), Port: port})
		if !ok {
			return weft.NoPort, 0
		}
		return port, int32(peer.Node.Index)
	}
	return weft.NoPort, 0
}

// cut is the coordinate of dimension i at which the mesh of a layer begins. A shortest path around
// the end of n switches has n/2 links at most, so none leads from n/2-1 to n/2 or back.
func (o *ordered) cut(grid *weft.Grid, i int, layer weft.VC) uint32 {
	for b, around := range o.around {
		if around == i && layer>>b&1 == 1 {
			return grid.Dims[i].Size / 2
		}
	}
	return 0
}

// layerOf has a bit for each dimension in which the path goes around the end.
func (o *ordered) layerOf(s, to int32) (layer weft.VC) {
	here, there := o.w.g.Place(weft.SwitchID(s)).Grid, o.w.g.Place(weft.SwitchID(to)).Grid
	for b, i := range o.around {
		at, end := here.Dims[i].At, there.Dims[i].At
		if at == end {
			continue
		}
		if up, _ := firmware.ShorterWay(here, i, end); up != (end > at) {
			layer |= 1 << b
		}
	}
	return layer
}

// leads reports whether all links of the path are there.
func (o *ordered) leads(s, to int32, layer weft.VC) bool {
	for s != to {
		var port weft.PortID
		if port, s = o.step(s, to, layer); port == weft.NoPort {
			return false
		}
	}
	return true
}
