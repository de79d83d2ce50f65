package survey

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/switch/tables"
)

// Listing is a routing for people and scripts: all tables and assignments, by names.
type Listing struct {
	Engine   string    `json:"engine" yaml:"engine"`
	Topology string    `json:"topology" yaml:"topology"`
	Layers   int       `json:"layers" yaml:"layers"`
	Escape   *weft.VC  `json:"escape_layer,omitempty" yaml:"escape_layer,omitempty"`
	Paths    int       `json:"addresses" yaml:"addresses"` // of each NIC
	Tables   []Table   `json:"tables" yaml:"tables"`
	Sources  []Sources `json:"sources" yaml:"sources"`
}

// Table is how a switch forwards.
type Table struct {
	Switch  string  `json:"switch" yaml:"switch"`
	Entries []Entry `json:"entries" yaml:"entries"`
}

// Entry is a way of forwarding, and for which packets it is.
type Entry struct {
	To     []string `json:"to" yaml:"to,flow"` // NICs
	Path   int      `json:"address" yaml:"address"`
	Layers []int    `json:"layers,omitempty" yaml:"layers,omitempty,flow"` // that packets come in; all unless given
	// ports, as p4, or "entering" this layer here; all unless given
	In  []string `json:"in,omitempty" yaml:"in,omitempty,flow"`
	Out []string `json:"out" yaml:"out,flow"` // as p4 s9, or p4 s9 vc1 if the VC changes; one of them is taken
}

// Sources is how the NICs of a switch send.
type Sources struct {
	Switch string   `json:"switch" yaml:"switch"`
	Sends  []Sender `json:"sends" yaml:"sends"`
}

// Sender is by which addresses it is sent to some NICs; one is taken for each packet.
type Sender struct {
	// the NICs of the switch that send so; none: all of them
	From      []string `json:"from,omitempty" yaml:"from,flow,omitempty"`
	To        []string `json:"to" yaml:"to,flow"`
	Addresses []By     `json:"addresses" yaml:"addresses"`
}

// By is an address as sources use it.
type By struct {
	Path   uint16  `json:"address" yaml:"address"`
	Layers []int   `json:"layers" yaml:"layers,flow"` // not weft.VC, a list of which is bytes to JSON
	Enters weft.VC `json:"enters" yaml:"enters"`
}

// List lists a routing. Equal entries are put together.
func List(r *layered.Routing) Listing {
	l := Listing{Engine: r.Engine, Topology: r.Graph.Spec, Layers: r.Layers, Paths: r.Tables.Paths()}
	if r.Kind == layered.Escape {
		l.Escape = &r.Escape
	}
	for _, s := range r.Graph.Switches {
		l.Tables = append(l.Tables, Table{s.Name, entriesOf(r, s.ID)})
		if sends := sendersOf(r, s.ID); len(sends) > 0 {
			l.Sources = append(l.Sources, Sources{s.Name, sends})
		}
	}
	return l
}

// merged adds x to a list, or its first destination to the entry that is the same else. at says
// where those are.
func merged(list []Entry, at map[string]int, x Entry) []Entry {
	key := fmt.Sprint(x.Path, x.Layers, x.In, x.Out)
	if i, ok := at[key]; ok {
		list[i].To = append(list[i].To, x.To...)
		return list
	}
	at[key] = len(list)
	return append(list, x)
}

func entriesOf(r *layered.Routing, s weft.SwitchID) (list []Entry) {
	at := map[string]int{}
	for dst := range weft.NICID(len(r.Graph.NICs)) {
		for path := range r.Tables.Paths() {
			var each []Entry // of a layer
			for layer := range weft.VC(r.Layers) {
				for _, x := range ofLayer(r, s, dst, uint16(path), layer) {
					i := slices.IndexFunc(each, func(y Entry) bool { return slices.Equal(x.In, y.In) && slices.Equal(x.Out, y.Out) })
					if i >= 0 {
						each[i].Layers = append(each[i].Layers, int(layer))
					} else {
						each = append(each, x)
					}
				}
			}
			for _, x := range each {
				if len(x.Layers) == r.Layers {
					x.Layers = nil
				}
				list = merged(list, at, x)
			}
		}
	}
	return list
}

// ofLayer are the entries for packets in a layer.
func ofLayer(r *layered.Routing, s weft.SwitchID, dst weft.NICID, path uint16, layer weft.VC) (list []Entry) {
	ins := 0
	in := func(p weft.PortID, name string) {
		out := outs(r, s, r.Tables.Choices(s, dst, path, p, layer), layer)
		ins++
		if len(out) == 0 {
			return
		}
		i := slices.IndexFunc(list, func(x Entry) bool { return slices.Equal(x.Out, out) })
		if i < 0 {
			i = len(list)
			list = append(list, Entry{
				To: []string{r.Graph.NICs[dst].Name}, Path: int(path), Layers: []int{int(layer)},
				Out: out,
			})
		}
		list[i].In = append(list[i].In, name)
	}
	for p, role := range r.Graph.Place(s).Roles {
		if role != weft.RoleNone {
			in(weft.PortID(p), weft.PortID(p).String())
		}
	}
	if len(r.Tables.Choices(s, dst, path, weft.NoPort, layer)) > 0 {
		in(weft.NoPort, "entering")
	}
	if len(list) == 1 && len(list[0].In) == ins {
		list[0].In = nil
	}
	return list
}

func outs(r *layered.Routing, s weft.SwitchID, hops []tables.Hop, layer weft.VC) (list []string) {
	for _, h := range hops {
		if h.Port == weft.NoPort {
			continue
		}
		to := "nowhere"
		if e, _, ok := r.Graph.Peer(weft.End{Node: s.Node(), Port: h.Port}); ok {
			to = r.Graph.Name(e.Node)
		}
		text := h.Port.String() + " " + to
		if vc := h.In(layer); vc != layer {
			text += " " + vc.String()
		}
		list = append(list, text)
	}
	return list
}

// sendersOf lists how the NICs of a switch send: all of them alike, or each by itself where one
// sends otherwise.
func sendersOf(r *layered.Routing, s weft.SwitchID) (list []Sender) {
	at := map[string]int{}
	add := func(to string, from []string, addresses []weft.Address) {
		if len(addresses) == 0 {
			return
		}
		key := fmt.Sprint(from, addresses)
		if i, ok := at[key]; ok {
			list[i].To = append(list[i].To, to)
			return
		}
		at[key] = len(list)
		x := Sender{From: from, To: []string{to}}
		for _, a := range addresses {
			x.Addresses = append(x.Addresses, By{Path: a.Path, Layers: layersOf(a.Layers | 1<<a.VC), Enters: a.VC})
		}
		list = append(list, x)
	}
	for _, nic := range r.Graph.NICs {
		all := r.Assignment.Addresses(s, nic.ID)
		alike := true
		for p, role := range r.Graph.Place(s).Roles {
			alike = alike && (role != weft.RoleNIC || slices.Equal(all, r.Assignment.From(s, weft.PortID(p), nic.ID)))
		}
		if alike {
			add(nic.Name, nil, all)
			continue
		}
		for p, role := range r.Graph.Place(s).Roles {
			if src, _, ok := r.Graph.Peer(weft.End{Node: s.Node(), Port: weft.PortID(p)}); ok && role == weft.RoleNIC &&
				src.Node != nic.ID.Node() {
				add(nic.Name, []string{r.Graph.Name(src.Node)}, r.Assignment.From(s, weft.PortID(p), nic.ID))
			}
		}
	}
	return list
}
