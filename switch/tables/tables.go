package tables

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-fabric/weft"
)

// Tables are the forwarding tables of all switches of a fabric: route[address][in port][in VC] =
// out port, out VC, as in Algorithm 1 of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance
// in Fat Trees, appendix B; or, for adaptive firmwares, several of these to choose among. Whoever
// computes routes fills them (fabricd/subnet), firmwares forward by them. Once they are filled, any
// number of goroutines may read them.
//
// Most destinations of a switch are forwarded alike, so a switch keeps the ways of forwarding once
// each, as rows, and per address the number of its row: two bytes.
type Tables struct {
	vcs, nics, paths int
	perLayer         bool
	base             weft.SwitchID // of switches[0]
	count            int           // of switches there are in the fabric
	switches         []table
}

// TablesShape is what tables are for.
type TablesShape struct {
	VCs   int // virtual channels, 1 to weft.MaxVCs
	NICs  int
	Paths int // addresses of each NIC; 0 means 1
	// PerLayer: the way of forwarding depends on the layer (the in VC) as a whole, so that an
	// address has a row in each. A row has entries by in port alone, and a last one for packets
	// that enter the layer in this switch, from another layer. Otherwise an address has one row,
	// and a row may have entries by in port and in VC.
	PerLayer bool
	Ports    []int // of each switch
}

// table is the table of one switch.
type table struct {
	ports    int
	row      []uint16 // per layer, if perLayer, and address: its row, noRow for none
	rows     []row
	sequence []weft.PortID
	rank     int // of this switch in the testing sequences of those below it
}

// row is one way of forwarding: entry i is hops[first[i]:first[i+1]], or hops[i] when first is nil.
// A row of one entry is taken from every port and VC.
type row struct {
	hops  []Hop
	first []uint32
}

// Hop is how a packet leaves a switch. The port NoPort says that it cannot.
type Hop struct {
	Port weft.PortID
	VC   weft.VC
}

// SameVC as the VC of a [Hop] is the one that the packet came in: it stays in its layer.
const SameVC weft.VC = 0xFF

// In is the VC of the hop for a packet that came in a layer.
func (h Hop) In(layer weft.VC) weft.VC {
	if h.VC == SameVC {
		return layer
	}
	return h.VC
}

const (
	noRow = math.MaxUint16
	// maxEntries bounds the addresses of all switches of one fabric together: half a GiB. Chosen by
	// us.
	maxEntries = 1 << 28
)

// NewTables makes empty tables for switches with so many ports each, NICs numbered below nics, and
// vcs virtual channels: one address a NIC.
func NewTables(vcs, nics int, ports []int) (*Tables, error) {
	return NewTablesOf(TablesShape{VCs: vcs, NICs: nics, Ports: ports})
}

// NewTablesOf makes empty tables of that shape.
func NewTablesOf(shape TablesShape) (*Tables, error) {
	vcs, nics, ports, paths := shape.VCs, shape.NICs, shape.Ports, max(shape.Paths, 1)
	switch {
	case vcs < 1 || vcs > weft.MaxVCs:
		return nil, fmt.Errorf("forwarding tables for %d virtual channels: give 1 to %d", vcs, weft.MaxVCs)
	case nics < 0 || nics > weft.MaxNIC || len(ports) > weft.MaxSwitch:
		return nil, fmt.Errorf("forwarding tables of %d switches for %d NICs: at most %d and %d are possible", len(ports),
			nics, weft.MaxSwitch, weft.MaxNIC)
	case paths > math.MaxUint16:
		return nil, fmt.Errorf("forwarding tables for %d addresses a NIC: at most %d are possible", paths, math.MaxUint16)
	}
	each := nics * paths
	if shape.PerLayer {
		each *= vcs
	}
	if each*len(ports) > maxEntries {
		return nil, fmt.Errorf("forwarding tables of %d switches for %d NICs have %d entries, more than %d: use a firmware "+
			"that computes its decisions",
			len(ports), nics, each*len(ports), maxEntries)
	}
	t := &Tables{
		vcs: vcs, nics: nics, paths: paths, perLayer: shape.PerLayer, count: len(ports),
		switches: make([]table, len(ports)),
	}
	all := make([]uint16, each*len(ports))
	for i := range all {
		all[i] = noRow
	}
	for s, n := range ports {
		if n < 0 || n > weft.MaxPorts {
			return nil, fmt.Errorf("forwarding table of switch %d with %d ports: at most %d are possible", s, n, weft.MaxPorts)
		}
		t.switches[s] = table{ports: n, row: all[s*each : (s+1)*each : (s+1)*each]}
	}
	return t, nil
}

// Shape is what the tables are for, but for the ports.
func (t *Tables) Shape() TablesShape {
	return TablesShape{VCs: t.vcs, NICs: t.nics, Paths: t.paths, PerLayer: t.perLayer}
}

// VCs is the number of virtual channels the tables are for.
func (t *Tables) VCs() int { return t.vcs }

// Paths is how many addresses each NIC has.
func (t *Tables) Paths() int { return t.paths }

// PerLayer reports whether an address has a row in each layer; see [TablesShape].
func (t *Tables) PerLayer() bool { return t.perLayer }

// AddRow adds a way of forwarding to the table of switch s and returns its number for [Tables.Set].
// The row has a hop for each in port and, within it, each in VC; or one hop alone, taken from every
// port and VC. In tables that are per layer it has one for each in port, and one for packets that
// enter the layer here. The row is copied. Ports and VCs that the switch does not have are refused.
func (t *Tables) AddRow(s weft.SwitchID, hops []Hop) (int, error) {
	return t.add(s, row{hops: slices.Clone(hops)}, len(hops))
}

// AddChoices is AddRow with several hops in each entry, for firmwares that choose; an empty one is
// no way.
func (t *Tables) AddChoices(s weft.SwitchID, entries [][]Hop) (int, error) {
	r := row{first: make([]uint32, 1, len(entries)+1)}
	for _, hops := range entries {
		r.hops = append(r.hops, hops...)
		r.first = append(r.first, uint32(len(r.hops)))
	}
	return t.add(s, r, len(entries))
}

func (t *Tables) add(s weft.SwitchID, r row, entries int) (int, error) {
	sw, err := t.table(s)
	if err != nil {
		return 0, err
	}
	want := sw.ports + 1
	if !t.perLayer {
		want = sw.ports * t.vcs
	}
	if entries != 1 && entries != want {
		return 0, fmt.Errorf("forwarding table of switch %d: a row of %d hops: give 1, or %d for %d ports and %d VCs", s,
			entries, want, sw.ports, t.vcs)
	}
	for _, h := range r.hops {
		if h.Port != weft.NoPort && int(h.Port) >= sw.ports || int(h.VC) >= t.vcs && h.VC != SameVC {
			return 0, fmt.Errorf("forwarding table of switch %d: out by %v %v, which it does not have: there are %d ports and "+
				"%d VCs", s, h.Port, h.VC, sw.ports, t.vcs)
		}
	}
	if len(sw.rows) == noRow {
		return 0, fmt.Errorf("forwarding table of switch %d: more than %d different rows: share those that are equal", s,
			noRow)
	}
	sw.rows = append(sw.rows, r)
	return len(sw.rows) - 1, nil
}

// Set makes switch s forward packets for address 0 of d by a row that was added to its table, in
// every layer.
func (t *Tables) Set(s weft.SwitchID, d weft.NICID, row int) error {
	for vc := range t.vcs {
		if err := t.SetAddress(s, weft.VC(vc), d, 0, row); err != nil || !t.perLayer {
			return err
		}
	}
	return nil
}

// SetAddress makes switch s forward packets for an address of d by a row that was added to its
// table. The layer counts in tables that are per layer only.
func (t *Tables) SetAddress(s weft.SwitchID, layer weft.VC, d weft.NICID, path, row int) error {
	sw, err := t.table(s)
	switch {
	case err != nil:
		return err
	case int(d) >= t.nics || path < 0 || path >= t.paths || int(layer) >= t.vcs:
		return fmt.Errorf("forwarding table of switch %d: no address %d of NIC %d in layer %d: there are %d of %d NICs and "+
			"%d layers", s, path, d, layer, t.paths, t.nics, t.vcs)
	case row < 0 || row >= len(sw.rows):
		return fmt.Errorf("forwarding table of switch %d: no row %d, there are %d: add it first", s, row, len(sw.rows))
	}
	sw.row[t.index(layer, d, path)] = uint16(row)
	return nil
}

// index is where the row of an address stands.
func (t *Tables) index(layer weft.VC, d weft.NICID, path int) int {
	i := int(d)*t.paths + path
	if t.perLayer {
		i += int(layer) * t.nics * t.paths
	}
	return i
}

// SetSequence gives switch s the order D in which its up ports are tried at a U-turn: all
// different, the first first. It is copied.
func (t *Tables) SetSequence(s weft.SwitchID, d []weft.PortID) error {
	sw, err := t.table(s)
	if err != nil {
		return err
	}
	for i, p := range d {
		if int(p) >= sw.ports || slices.Contains(d[:i], p) {
			return fmt.Errorf("testing sequence of switch %d: %v is there twice or not a port, of %d: name every up port once",
				s, p, sw.ports)
		}
	}
	sw.sequence = slices.Clone(d)
	return nil
}

// SetRank says at which place, from 0, switch s is in the testing sequences of the switches below
// it. They are of one switch group, and so of one sequence. Channels are numbered by it; nothing is
// forwarded by it.
func (t *Tables) SetRank(s weft.SwitchID, i int) error {
	sw, err := t.table(s)
	if err == nil && (i < 0 || i >= weft.MaxPorts) {
		err = fmt.Errorf("forwarding table of switch %d: place %d in testing sequences, which have 0 to %d: give one of "+
			"these", s, i, weft.MaxPorts-1)
	}
	if err == nil {
		sw.rank = i
	}
	return err
}

// Rank is what SetRank said of switch s, 0 if it did not.
func (t *Tables) Rank(s weft.SwitchID) int {
	if sw := t.of(s); sw != nil {
		return sw.rank
	}
	return 0
}

// of is the table of switch s, nil when there is none here.
func (t *Tables) of(s weft.SwitchID) *table {
	if i := uint(s - t.base); i < uint(len(t.switches)) {
		return &t.switches[i]
	}
	return nil
}

func (t *Tables) table(s weft.SwitchID) (*table, error) {
	if sw := t.of(s); sw != nil {
		return sw, nil
	}
	if len(t.switches) < t.count {
		return nil, fmt.Errorf("forwarding tables: no switch %d, they are those of switch %d alone", s, t.base)
	}
	return nil, fmt.Errorf("forwarding tables: no switch %d, there are %d", s, t.count)
}

// Of are the tables of switch s alone; the same if they are that already, and of no switch if there
// is no such. What they hold is shared: set nothing in either from then on.
func (t *Tables) Of(s weft.SwitchID) *Tables {
	one := *t
	one.base, one.switches = s, nil
	if sw := t.of(s); sw != nil {
		i := int(s - t.base)
		one.switches = t.switches[i : i+1 : i+1]
	}
	return &one
}

// Lookup is the entry of switch s for a packet for address 0 of d that came in by a port in a VC,
// the first hop if there are several. It reports false when there is none: no such switch,
// destination, port or VC, or a destination that the switch has no row for.
func (t *Tables) Lookup(s weft.SwitchID, d weft.NICID, in weft.PortID, vc weft.VC) (Hop, bool) {
	hops := t.Choices(s, d, 0, in, vc)
	if len(hops) == 0 {
		return Hop{Port: weft.NoPort}, false
	}
	return hops[0], true
}

// Choices are the hops of switch s for a packet for an address of d that came in by a port in a VC,
// not to be written to. In tables that are per layer the port NoPort stands for a packet that
// enters layer vc here. There are none where Lookup would report false.
func (t *Tables) Choices(s weft.SwitchID, d weft.NICID, path uint16, in weft.PortID, vc weft.VC) []Hop {
	sw := t.of(s)
	if sw == nil || int(d) >= t.nics || int(path) >= t.paths || int(vc) >= t.vcs {
		return nil
	}
	n := sw.row[t.index(vc, d, int(path))]
	if n == noRow {
		return nil
	}
	if t.perLayer && in == weft.NoPort {
		in = weft.PortID(sw.ports)
	} else if int(in) >= sw.ports {
		return nil
	}
	r := &sw.rows[n]
	i := 0
	switch {
	case len(r.first) == 2 || r.first == nil && len(r.hops) == 1: // one entry
	case t.perLayer:
		i = int(in)
	default:
		i = int(in)*t.vcs + int(vc)
	}
	if r.first == nil {
		return r.hops[i : i+1]
	}
	return r.hops[r.first[i]:r.first[i+1]]
}

// Sequence is the testing sequence D of switch s, not to be written to.
func (t *Tables) Sequence(s weft.SwitchID) []weft.PortID {
	if sw := t.of(s); sw != nil {
		return sw.sequence
	}
	return nil
}

// MostHops is twice the number of switches that the tables are for. Tables that are nil bound
// nothing.
func (t *Tables) MostHops() int {
	if t == nil {
		return weft.MaxHops
	}
	return 2 * t.count
}

// Check reports why the switch at a place cannot forward by the tables: "has no forwarding tables".
func (t *Tables) Check(place *weft.Place, vcs int) error {
	switch {
	case t == nil:
		return errors.New("has no forwarding tables: give it those of this topology, as fabricd/subnet makes them")
	case vcs < t.vcs:
		return fmt.Errorf("needs %d virtual channels, there are %d: raise the number", t.vcs, vcs)
	case t.of(place.Switch) == nil || t.of(place.Switch).ports != place.Ports():
		return fmt.Errorf("has tables that do not fit switch %s (number %d, %d ports): make them for this topology",
			place.Name, place.Switch, place.Ports())
	}
	return nil
}
