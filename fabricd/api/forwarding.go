package api

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/switch/tables"
)

// ForwardingView is how packets for one address of a destination leave.
type ForwardingView struct {
	Dst  string `json:"dst"`
	Path int    `json:"path,omitempty" jsonschema_description:"Which address of the destination, 0 unless given."`
	In   *int   `json:"in,omitempty" jsonschema_description:"Of packets that come in there, -1 from another layer; all unless given."`
	InVC *int   `json:"in_vc,omitempty"`
	Port int    `json:"port" jsonschema_description:"-1: not at all."`
	VC   int    `json:"vc" jsonschema_description:"-1: the one it came in."`

	Or []OutputView `json:"or,omitempty" jsonschema_description:"Other ways, where the switch chooses among several."`
}

// forwarding is the table of a switch, if its firmware has one: a line per address, several when it
// matters where packets come in.
func forwarding(f *fabric.Fabric, id weft.SwitchID) (list []ForwardingView) {
	program, _, _ := f.Program(id)
	t := program.Tables
	if t == nil {
		return nil
	}
	g := f.Topology()
	for _, n := range g.NICs {
		for path := range t.Paths() {
			lines := linesFor(t, id, n.ID, uint16(path), g.Switches[id].Ports, n.Name)
			if len(list)+len(lines) > maxForwardingShown {
				return list
			}
			list = append(list, lines...)
		}
	}
	return list
}

// linesFor are the lines of one address: one if all packets for it are forwarded alike; else one
// per layer, if it does not matter by which port they come in there.
func linesFor(t *tables.Tables, id weft.SwitchID, d weft.NICID, path uint16, ports int,
	name string,
) (lines []ForwardingView) {
	ins := make([]weft.PortID, ports, ports+1)
	for i := range ins {
		ins[i] = weft.PortID(i)
	}
	if t.PerLayer() {
		ins = append(ins, weft.NoPort)
	}
	first := make([]*ForwardingView, t.VCs())
	alike, inside := true, true // all lines; those within a layer
	for _, in := range ins {
		for vc := range t.VCs() {
			hops := t.Choices(id, d, path, in, weft.VC(vc))
			if len(hops) == 0 {
				continue
			}
			v := lineOf(hops)
			v.Dst, v.Path, v.In, v.InVC = name, int(path), new(portNumber(in)), new(vc)
			if first[vc] == nil {
				first[vc] = &v
			}
			inside = inside && same(first[vc], &v)
			alike = alike && (len(lines) == 0 || same(&lines[0], &v))
			lines = append(lines, v)
		}
	}
	switch {
	case len(lines) == 0:
	case alike:
		lines[0].In, lines[0].InVC = nil, nil
		return lines[:1]
	case inside && t.PerLayer():
		lines = lines[:0]
		for _, v := range first {
			if v != nil {
				v.In = nil
				lines = append(lines, *v)
			}
		}
	}
	return lines
}

func lineOf(hops []tables.Hop) (v ForwardingView) {
	for i, h := range hops {
		o := OutputView{portNumber(h.Port), int(h.VC)}
		if h.VC == tables.SameVC {
			o.VC = -1
		}
		if i == 0 {
			v.Port, v.VC = o.Port, o.VC
		} else {
			v.Or = append(v.Or, o)
		}
	}
	return v
}

// portNumber is a port as JSON has it: -1 for none.
func portNumber(p weft.PortID) int {
	if p == weft.NoPort {
		return -1
	}
	return int(p)
}

func same(a, b *ForwardingView) bool {
	return a.Port == b.Port && a.VC == b.VC && slices.Equal(a.Or, b.Or)
}
