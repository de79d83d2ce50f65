package firmware

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-fabric/weft"
)

// Tables are the forwarding tables of all switches of a fabric: route[destination][in port][in VC] = out port, out VC, as in
// Algorithm 1 of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees, appendix B. Whoever computes routes fills
// them (fabricd/subnet), firmwares forward by them. Once they are filled, any number of goroutines may read them.
//
// Most destinations of a switch are forwarded alike, so a switch keeps the ways of forwarding once each, as rows, and per
// destination the number of its row: two bytes.
type Tables struct {
	vcs, nics int
	switches  []table
}

// table is the table of one switch.
type table struct {
	ports    int
	row      []uint16 // per destination: its row, noRow for none
	rows     [][]Hop  // by in port, then in VC; or a single hop for every arrival
	sequence []weft.PortID
	rank     int // of this switch in the testing sequences of those below it
}

// Hop is how a packet leaves a switch. The port NoPort says that it cannot.
type Hop struct {
	Port weft.PortID
	VC   weft.VC
}

const (
	noRow = math.MaxUint16
	// maxEntries bounds the destinations of all switches of one fabric together: half a GiB. Chosen by us.
	maxEntries = 1 << 28
)

// NewTables makes empty tables for switches with so many ports each, NICs numbered below nics, and vcs virtual channels.
func NewTables(vcs, nics int, ports []int) (*Tables, error) {
	switch {
	case vcs < 1 || vcs > weft.MaxVCs:
		return nil, fmt.Errorf("forwarding tables for %d virtual channels: give 1 to %d", vcs, weft.MaxVCs)
	case nics < 0 || nics > weft.MaxNIC || len(ports) > weft.MaxSwitch:
		return nil, fmt.Errorf("forwarding tables of %d switches for %d NICs: at most %d and %d are possible", len(ports), nics, weft.MaxSwitch, weft.MaxNIC)
	case nics*len(ports) > maxEntries:
		return nil, fmt.Errorf("forwarding tables of %d switches for %d NICs have %d entries, more than %d: use a firmware that computes its decisions",
			len(ports), nics, nics*len(ports), maxEntries)
	}
	t := &Tables{vcs: vcs, nics: nics, switches: make([]table, len(ports))}
	all := make([]uint16, nics*len(ports))
	for i := range all {
		all[i] = noRow
	}
	for s, n := range ports {
		if n < 0 || n > weft.MaxPorts {
			return nil, fmt.Errorf("forwarding table of switch %d with %d ports: at most %d are possible", s, n, weft.MaxPorts)
		}
		t.switches[s] = table{ports: n, row: all[s*nics : (s+1)*nics : (s+1)*nics]}
	}
	return t, nil
}

// VCs is the number of virtual channels the tables are for.
func (t *Tables) VCs() int { return t.vcs }

// AddRow adds a way of forwarding to the table of switch s and returns its number for [Tables.Set]. The row has a hop for each
// in port and, within it, each in VC; or one hop alone, taken from every port and VC. The row is copied. Ports and VCs that
// the switch does not have are refused.
func (t *Tables) AddRow(s weft.SwitchID, row []Hop) (int, error) {
	sw, err := t.table(s)
	if err != nil {
		return 0, err
	}
	if len(row) != 1 && len(row) != sw.ports*t.vcs {
		return 0, fmt.Errorf("forwarding table of switch %d: a row of %d hops: give 1, or %d ports times %d VCs", s, len(row), sw.ports, t.vcs)
	}
	for _, h := range row {
		if h.Port != weft.NoPort && int(h.Port) >= sw.ports || int(h.VC) >= t.vcs {
			return 0, fmt.Errorf("forwarding table of switch %d: out by %v %v, which it does not have: there are %d ports and %d VCs", s, h.Port, h.VC, sw.ports, t.vcs)
		}
	}
	if len(sw.rows) == noRow {
		return 0, fmt.Errorf("forwarding table of switch %d: more than %d different rows: share those that are equal", s, noRow)
	}
	sw.rows = append(sw.rows, slices.Clone(row))
	return len(sw.rows) - 1, nil
}

// Set makes switch s forward packets for d by a row that was added to its table.
func (t *Tables) Set(s weft.SwitchID, d weft.NICID, row int) error {
	sw, err := t.table(s)
	switch {
	case err != nil:
		return err
	case int(d) >= t.nics:
		return fmt.Errorf("forwarding table of switch %d: no NIC %d, there are %d", s, d, t.nics)
	case row < 0 || row >= len(sw.rows):
		return fmt.Errorf("forwarding table of switch %d: no row %d, there are %d: add it first", s, row, len(sw.rows))
	}
	sw.row[d] = uint16(row)
	return nil
}

// SetSequence gives switch s the order D in which its up ports are tried at a U-turn: all different, the first first. It is
// copied.
func (t *Tables) SetSequence(s weft.SwitchID, d []weft.PortID) error {
	sw, err := t.table(s)
	if err != nil {
		return err
	}
	for i, p := range d {
		if int(p) >= sw.ports || slices.Contains(d[:i], p) {
			return fmt.Errorf("testing sequence of switch %d: %v is there twice or not a port, of %d: name every up port once", s, p, sw.ports)
		}
	}
	sw.sequence = slices.Clone(d)
	return nil
}

// SetRank says at which place, from 0, switch s is in the testing sequences of the switches below it. They are of one switch group, and
// so of one sequence. Channels are numbered by it; nothing is forwarded by it.
func (t *Tables) SetRank(s weft.SwitchID, i int) error {
	sw, err := t.table(s)
	if err == nil && (i < 0 || i >= weft.MaxPorts) {
		err = fmt.Errorf("forwarding table of switch %d: place %d in testing sequences, which have 0 to %d: give one of these", s, i, weft.MaxPorts-1)
	}
	if err == nil {
		sw.rank = i
	}
	return err
}

func (t *Tables) rank(s weft.SwitchID) int {
	if int(s) >= len(t.switches) {
		return 0
	}
	return t.switches[s].rank
}

func (t *Tables) table(s weft.SwitchID) (*table, error) {
	if int(s) >= len(t.switches) {
		return nil, fmt.Errorf("forwarding tables: no switch %d, there are %d", s, len(t.switches))
	}
	return &t.switches[s], nil
}

// Lookup is the entry of switch s for a packet for d that came in by a port in a VC. It reports false when there is none: no
// such switch, destination, port or VC, or a destination that the switch has no row for.
func (t *Tables) Lookup(s weft.SwitchID, d weft.NICID, in weft.PortID, vc weft.VC) (Hop, bool) {
	if int(s) >= len(t.switches) || int(d) >= t.nics || int(vc) >= t.vcs {
		return Hop{Port: weft.NoPort}, false
	}
	sw := &t.switches[s]
	r := sw.row[d]
	if r == noRow || int(in) >= sw.ports {
		return Hop{Port: weft.NoPort}, false
	}
	if row := sw.rows[r]; len(row) > 1 {
		return row[int(in)*t.vcs+int(vc)], true
	}
	return sw.rows[r][0], true
}

// Sequence is the testing sequence D of switch s, not to be written to.
func (t *Tables) Sequence(s weft.SwitchID) []weft.PortID {
	if int(s) >= len(t.switches) {
		return nil
	}
	return t.switches[s].sequence
}

// check says whether the tables are those of a switch at this place.
func (t *Tables) check(name string, place *weft.Place, vcs int) error {
	switch {
	case t == nil:
		return fmt.Errorf("firmware %s has no forwarding tables: give it those of this topology, as fabricd/subnet makes them", name)
	case vcs < t.vcs:
		return fmt.Errorf("firmware %s needs %d virtual channels, there are %d: raise the number", name, t.vcs, vcs)
	case int(place.Switch) >= len(t.switches) || t.switches[place.Switch].ports != place.Ports():
		return fmt.Errorf("firmware %s has tables that do not fit switch %s (number %d, %d ports): make them for this topology", name, place.Name, place.Switch, place.Ports())
	}
	return nil
}
