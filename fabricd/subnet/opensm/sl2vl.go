package opensm

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

const (
	serviceLevels = 16
	managementVL  = 15 // carries no data: packets that are mapped to it are dropped
)

// checkLanes refuses a routing of more layers than InfiniBand has virtual lanes for data.
func checkLanes(r *layered.Routing) error {
	if r.Layers > managementVL {
		return fmt.Errorf("%s has %d layers, and InfiniBand has %d virtual lanes for data: take a routing of fewer layers",
			r.Engine, r.Layers, managementVL)
	}
	return nil
}

const (
	sl2vlHead = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n" + sl2vlEnd
	sl2vlEnd  = "#--------------------------------------------------------\n"
)

// WriteSL2VL writes what option sl2vl reads, as OpenSM dumps it: at every switch and NIC, service
// level i is virtual lane i. Levels that no path has share the lanes that are used.
func WriteSL2VL(w io.Writer, r *layered.Routing, lids *LIDs) error {
	if err := checkLanes(r); err != nil {
		return err
	}
	var row []byte
	for sl := range serviceLevels {
		row = fmt.Appendf(row, " %-2d", sl%r.Layers)
	}
	out := bufio.NewWriter(w)
	for _, n := range byPortGUID(r.Graph) {
		id := r.Graph.Identity(n)
		kind, ports := "Channel Adapter", 0
		if n.IsSwitch() {
			kind, ports = "Switch", r.Graph.Switches[n.Index].Ports
		}
		lid, _ := lids.Of(n)
		fmt.Fprintf(out, "%s %v, base LID %d, \"%s\"\n%s", kind, id.PortGUID, lid, id.Description, sl2vlHead)
		for to := min(1, ports); to <= ports; to++ {
			for from := range ports + 1 {
				fmt.Fprintf(out, "%-3d %-3d :%s\n", from, to, row)
			}
		}
		fmt.Fprint(out, sl2vlEnd, "\n")
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write service levels to virtual lanes: %w", err)
	}
	return nil
}

// sl2vl maps service levels to virtual lanes, per node by in and out port. A nil one maps each
// level to the lane of its number.
type sl2vl struct {
	ports map[weft.Node]*sl2vlPorts
	rows  [][serviceLevels]uint8 // those that are different; the first says nothing
}

// sl2vlPorts are the rows of one node.
type sl2vlPorts struct {
	ports int      // the highest port
	row   []uint16 // by in and out port; 0 for none
}

// lane is the virtual lane that a packet of a service level leaves a node in; false when the tables
// say nothing, or that it is dropped.
func (t *sl2vl) lane(n weft.Node, in, out int, sl uint8) (uint8, bool) {
	if t == nil {
		return sl, sl != managementVL
	}
	p := t.ports[n]
	if p == nil || in > p.ports || out > p.ports {
		return 0, false
	}
	row := p.row[in*(p.ports+1)+out]
	vl := t.rows[row][sl]
	return vl, row != 0 && vl != managementVL
}

// readSL2VL reads the tables as OpenSM dumps them (opensm-sl2vl.dump). Errors have the line.
func readSL2VL(n nodes, f File) (*sl2vl, error) {
	t := &sl2vl{ports: map[weft.Node]*sl2vlPorts{}, rows: make([][serviceLevels]uint8, 1)}
	known := map[[serviceLevels]uint8]uint16{}
	in := linesOf(f)
	var at *sl2vlPorts
	for in.next() {
		switch {
		case in.text == "" || strings.HasPrefix(in.text, "#"):
		case strings.HasPrefix(in.text, "Switch ") || strings.HasPrefix(in.text, "Channel Adapter "):
			id, ok := guidAfter(in.text, "Switch")
			if !ok {
				id, ok = guidAfter(in.text, "Adapter")
			}
			node, there := n.byGUID[id]
			switch {
			case !ok:
				return nil, in.fail("found %q, expected the beginning of a table as Switch 0x0000000000200000, base LID 2",
					nearest.Clip(in.text))
			case !there:
				return nil, in.fail("%w", n.unknown("node", id))
			case t.ports[node] != nil:
				return nil, in.fail("a second table of %s", n.graph.Name(node))
			}
			ports := 0
			if node.IsSwitch() {
				ports = n.graph.Switches[node.Index].Ports
			}
			at = &sl2vlPorts{ports: ports, row: make([]uint16, (ports+1)*(ports+1))}
			t.ports[node] = at
		default:
			if at == nil {
				return nil, in.fail("found %q, expected the beginning of a table as Switch 0x0000000000200000, base LID 2",
					nearest.Clip(in.text))
			}
			ends, row, ok := sl2vlRow(in.text)
			if !ok {
				return nil, in.fail("found %q, expected an in port, an out port, a colon and 16 virtual lanes",
					nearest.Clip(in.text))
			}
			if at.ports == 0 {
				ends = [2]int{} // an adapter's, by the port
			}
			if ends[0] > at.ports || ends[1] > at.ports {
				return nil, in.fail("port %d, expected 0 to %d", max(ends[0], ends[1]), at.ports)
			}
			number, ok := known[row]
			if !ok {
				if len(t.rows) > 0xFFFF {
					return nil, in.fail("more than %d different rows", 0xFFFF)
				}
				number = uint16(len(t.rows))
				known[row] = number
				t.rows = append(t.rows, row)
			}
			at.row[ends[0]*(at.ports+1)+ends[1]] = number
		}
	}
	return t, in.err()
}

// sl2vlRow reads "0   1   : 0  1  2 ...".
func sl2vlRow(text string) (ends [2]int, row [serviceLevels]uint8, ok bool) {
	head, tail, ok := strings.Cut(text, ":")
	ports, lanes := strings.Fields(head), strings.Fields(tail)
	if !ok || len(ports) != 2 || len(lanes) != serviceLevels {
		return ends, row, false
	}
	for i, p := range ports {
		if ends[i], ok = number(p, noPath); !ok {
			return ends, row, false
		}
	}
	for i, vl := range lanes {
		v, ok := number(vl, serviceLevels-1)
		if !ok {
			return ends, row, false
		}
		row[i] = uint8(v)
	}
	return ends, row, true
}
