package layered

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// packed are paths as tables have them: for each destination switch a few addresses, and for each
// of these the channel that each switch takes. Two paths share an address unless they part at a
// switch that both of them cross.
type packed struct {
	w    *wires
	next [][][]int32 // per destination switch and address: per switch the channel, -1 for none
	most int         // addresses of a NIC
}

func newPacked(w *wires) *packed { return &packed{w: w, next: make([][][]int32, w.n), most: 1} }

// add gives a path to d the first address that has room for it: greedy colouring, with paths as the
// vertices and those that part as the edges. The number is that of a header's path field.
func (p *packed) add(d int32, way []int32) (uint16, error) {
	for a, next := range p.next[d] {
		if p.room(next, way) {
			p.put(next, way)
			return uint16(a), nil
		}
	}
	if len(p.next[d]) == math.MaxUint16 {
		return 0, fmt.Errorf("paths to switch %s need more than %d addresses a NIC: allow fewer paths of a pair",
			p.w.g.Switches[d].Name, math.MaxUint16)
	}
	next := slices.Repeat([]int32{-1}, p.w.n)
	p.put(next, way)
	p.next[d] = append(p.next[d], next)
	p.most = max(p.most, len(p.next[d]))
	return uint16(len(p.next[d]) - 1), nil
}

func (p *packed) room(next, way []int32) bool {
	for _, c := range way {
		if at := next[p.w.From[c]]; at >= 0 && at != c {
			return false
		}
	}
	return true
}

func (p *packed) put(next, way []int32) {
	for _, c := range way {
		next[p.w.From[c]] = c
	}
}

// routing makes tables and assignments of deterministic switches, with so many layers but those of
// a fallback.
func (p *packed) routing(engine string, layers int, f *fallback, of func(s, d int32) []weft.Address) (*Routing, error) {
	if f != nil {
		if err := f.pack(p, 0); err != nil {
			return nil, err
		}
		layers = f.layers
	}
	r := &Routing{Engine: engine, Graph: p.w.g, Layers: max(layers, 1)}
	var err error
	if r.Tables, err = p.tables(r.Layers, f); err != nil {
		return nil, err
	}
	r.Assignment, err = p.w.assignPaths(r.Layers, p.most, f.with(of))
	return r, err
}

// tables are R: the same in all layers, or with Up*/Down* in the last one.
func (p *packed) tables(layers int, f *fallback) (*tables.Tables, error) {
	if f != nil && f.upDown != nil {
		return p.tablesPerLayer(f)
	}
	w := p.w
	tables, err := portTables(w.g, layers, p.most)
	if err != nil {
		return nil, err
	}
	for d, nics := range w.nics {
		for _, nic := range nics {
			if err := home(tables, w.g, nic, p.most); err != nil {
				return nil, err
			}
			if err := p.set(tables, d, nic, 0); err != nil {
				return nil, err
			}
		}
	}
	return tables, nil
}

// set fills the addresses of a NIC on switch d, from a number on.
func (p *packed) set(tables *tables.Tables, d int, nic weft.NICID, from int) error {
	for a, next := range p.next[d] {
		for s, c := range next {
			if c < 0 {
				continue
			}
			if err := tables.SetAddress(weft.SwitchID(s), 0, nic, from+a, int(p.w.Port[c])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *packed) tablesPerLayer(f *fallback) (*tables.Tables, error) {
	r, err := newRows(p.w, f.layers, p.most)
	if err != nil {
		return nil, err
	}
	for d, nics := range p.w.nics {
		for _, nic := range nics {
			for r.path = range p.most {
				if err := r.home(nic); err != nil {
					return nil, err
				}
			}
			for a, next := range p.next[d] {
				r.path = a
				for s, c := range next {
					if c < 0 {
						continue
					}
					if err := r.set(int32(s), nic, span{0, weft.VC(f.layers - 1)}, p.w.portOf(c), nil, nil, 0); err != nil {
						return nil, err
					}
				}
			}
		}
		if err := f.lastLayer(r, int32(d)); err != nil {
			return nil, err
		}
	}
	return r.tables, nil
}

// home makes the switch of a NIC deliver packets for any of its addresses.
func home(tables *tables.Tables, g *topology.Graph, nic weft.NICID, paths int) error {
	s, port := g.SwitchOf(nic)
	for a := range paths {
		if err := tables.SetAddress(s, 0, nic, a, int(port)); err != nil {
			return err
		}
	}
	return nil
}

// portTables are empty tables in which row p of a switch is its port p, in the same layer.
func portTables(g *topology.Graph, layers, paths int) (*tables.Tables, error) {
	ports := make([]int, len(g.Switches))
	for s := range ports {
		ports[s] = g.Switches[s].Ports
	}
	lft, err := tables.NewTablesOf(tables.TablesShape{VCs: layers, NICs: len(g.NICs), Paths: paths, Ports: ports})
	if err != nil {
		return nil, err
	}
	for s, n := range ports {
		for p := range n {
			if _, err := lft.AddRow(weft.SwitchID(s), []tables.Hop{{Port: weft.PortID(p), VC: tables.SameVC}}); err != nil {
				return nil, err
			}
		}
	}
	return lft, nil
}

// assignPaths makes T: the addresses of of for each pair of different switches with NICs. NICs of
// one switch reach each other by address 0 in layer 0.
func (w *wires) assignPaths(layers, paths int, of func(s, d int32) []weft.Address) (*tables.Assignment, error) {
	near := []weft.Address{{}}
	return tables.NewAssignment(w.n, len(w.g.NICs), layers, paths, func(s weft.SwitchID, nic weft.NICID) []weft.Address {
		d, _ := w.g.SwitchOf(nic)
		switch {
		case !w.ends[s]:
			return nil
		case s == d:
			return near
		}
		return of(int32(s), int32(d))
	})
}
