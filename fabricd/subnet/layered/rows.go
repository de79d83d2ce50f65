package layered

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// rows fills forwarding tables. The rows of a switch that are alike are added once.
type rows struct {
	w      *wires
	tables *tables.Tables
	path   int              // the address of each NIC that is filled
	known  []map[string]int // per switch: the numbers of its rows
	key    []byte
}

// newRows are of empty tables with so many addresses a NIC and a row in each layer.
func newRows(w *wires, layers, paths int) (*rows, error) {
	ports := make([]int, w.n)
	for i, s := range w.g.Switches {
		ports[i] = s.Ports
	}
	tables,
		err := tables.NewTablesOf(
		tables.TablesShape{VCs: layers, NICs: len(w.g.NICs), Paths: paths, PerLayer: true, Ports: ports})
	if err != nil {
		return nil, err
	}
	r := &rows{w: w, tables: tables, known: make([]map[string]int, w.n)}
	for s := range r.known {
		r.known[s] = make(map[string]int)
	}
	return r, nil
}

// span are layers in a row.
type span struct{ first, end weft.VC }

// home makes a switch forward to a NIC of its own, in all layers.
func (r *rows) home(d weft.NICID) error {
	s, p := r.w.g.SwitchOf(d)
	return r.set(int32(s), d, span{0, weft.VC(r.tables.VCs())}, []weft.PortID{p}, nil, nil, 0)
}

// set makes switch s forward packets for d in some layers by any of those ports. With an
// orientation, number is its own, that holds for packets that can still go up, and falls are the
// ports of those that came down.
func (r *rows) set(s int32, d weft.NICID, in span, ports, falls []weft.PortID, l *legal, number int) error {
	if slices.Equal(ports, falls) {
		l = nil
	}
	r.key = append(r.key[:0], byte(len(ports)), byte(len(ports)>>8))
	for _, p := range ports {
		r.key = append(r.key, byte(p)) // there are weft.MaxPorts at most
	}
	if l != nil {
		r.key = append(r.key, byte(number))
		for _, p := range falls {
			r.key = append(r.key, byte(p))
		}
	}
	row, ok := r.known[s][string(r.key)]
	if !ok {
		var err error
		if row, err = r.add(s, hops(ports), hops(falls), l); err != nil {
			return err
		}
		r.known[s][string(r.key)] = row
	}
	for layer := in.first; layer < in.end; layer++ {
		if err := r.tables.SetAddress(weft.SwitchID(s), layer, d, r.path, row); err != nil {
			return err
		}
	}
	return nil
}

func hops(ports []weft.PortID) []tables.Hop {
	list := make([]tables.Hop, len(ports))
	for i, p := range ports {
		list[i] = tables.Hop{Port: p, VC: tables.SameVC}
	}
	return list
}

// add adds the row: an entry per port, and one for packets that enter the layer here, which can go
// up.
func (r *rows) add(s int32, climb, fall []tables.Hop, l *legal) (int, error) {
	if l == nil {
		return r.tables.AddChoices(weft.SwitchID(s), [][]tables.Hop{climb})
	}
	entries := make([][]tables.Hop, r.w.g.Switches[s].Ports+1)
	for i := range entries {
		entries[i] = climb
	}
	for c := r.w.First[s]; c < r.w.First[s+1]; c++ {
		if l.up(s, r.w.To[c]) {
			entries[r.w.Port[c]] = fall
		}
	}
	return r.tables.AddChoices(weft.SwitchID(s), entries)
}
