package opensm

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/switch/tables"
)

// builder makes tables and assignment of what was read.
type builder struct {
	*forwarding
	file, vlFile string
	lids         *LIDs
	vl           *sl2vl
	sl           *pathSL
	sources      [][]weft.NICID // per switch: its NICs

	paths      int // addresses of a NIC
	layers     int
	unroutable int
	enter      []uint16          // T, per switch, NIC and path: the layers that packets of its NICs enter, as bits
	own        map[nicPair]uint8 // of NICs of switches whose NICs do not send alike: the layer that theirs enter
	// hops are the layers that packets leave in, per entry of a table; nil when all of them stay in
	// the layer they come in.
	hops map[entry]uint8
	// changing are the addresses at each switch some of whose packets change layers.
	changing map[pair]bool
}

// entry is one of a table: an address at a switch, and the port and layer by which packets come.
type entry struct {
	pair
	in weft.PortID
	vc uint8
}

// newBuilder makes a builder of forwarding tables; file is what errors call them.
func newBuilder(f *forwarding, file string) *builder {
	b := &builder{forwarding: f, file: file, sources: make([][]weft.NICID, len(f.graph.Switches))}
	for _, n := range f.graph.NICs {
		s, _ := f.graph.SwitchOf(n.ID)
		b.sources[s] = append(b.sources[s], n.ID)
	}
	return b
}

func (b *builder) routing(ctx context.Context) (*layered.Routing, error) {
	g := b.graph
	b.paths, b.layers = b.lids.paths(), 1
	b.enter, b.own = make([]uint16, len(g.Switches)*len(g.NICs)*b.paths), map[nicPair]uint8{}
	if b.vl != nil {
		b.hops, b.changing = map[entry]uint8{}, map[pair]bool{}
	}
	for d := range g.NICs {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: no routing is made of it: %w", b.file, context.Cause(ctx))
		}
		if err := b.destination(weft.NICID(d)); err != nil {
			return nil, err
		}
	}
	lft, err := b.tables()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.file, err)
	}
	assignment, err := tables.NewAssignment(len(g.Switches), len(g.NICs), b.layers, b.paths,
		func(s weft.SwitchID, d weft.NICID) []weft.Address {
			var list []weft.Address
			for path := range b.paths {
				for layers := b.enter[b.index(pair{s, d, path})]; layers != 0; layers &= layers - 1 {
					list = append(list, weft.Address{Path: uint16(path), VC: weft.VC(bits.TrailingZeros16(layers))})
				}
			}
			return list
		})
	if err == nil {
		assignment, err = assignment.WithOwn(b.ownAddresses())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.file, err)
	}
	return &layered.Routing{
		Engine: "tables:" + b.file, Graph: g, Kind: layered.Deterministic, Layers: b.layers,
		Tables: lft, Assignment: assignment, Unroutable: b.unroutable,
	}, nil
}

func (b *builder) index(x pair) int {
	return (int(x.from)*len(b.graph.NICs)+int(x.to))*b.paths + x.path
}

// out is the out port of a switch for an address; false when it has none.
func (b *builder) out(x pair) (weft.PortID, bool) {
	lid := b.lids.of[x.to.Node()].first + x.path
	ports := b.port[x.from]
	if lid >= len(ports) || ports[lid] == noPath || ports[lid] == 0 {
		return weft.NoPort, false
	}
	return weft.PortID(ports[lid] - 1), true
}

// destination finds the layers of all ways to one NIC, and counts those that do not arrive. A pair
// is routable when it is by each of the addresses that it may use.
func (b *builder) destination(d weft.NICID) error {
	g := b.graph
	home, _ := g.SwitchOf(d)
	lost := make([]bool, len(g.Switches))
	addressed := make([]bool, len(g.Switches))
	for path := range b.lids.of[d.Node()].count {
		arrives := b.arrives(d, path)
		for s := range g.Switches {
			x := pair{weft.SwitchID(s), d, path}
			ok, err := b.assign(x, arrives[s])
			if err != nil {
				return err
			}
			addressed[s] = addressed[s] || ok
			lost[s] = lost[s] || ok && !arrives[s]
		}
	}
	for s := range g.Switches {
		if lost[s] || !addressed[s] {
			b.unroutable += len(b.sources[s])
			if weft.SwitchID(s) == home {
				b.unroutable-- // a NIC does not send to itself
			}
		}
	}
	return nil
}

// arrives says from which switches an address is reached.
func (b *builder) arrives(d weft.NICID, path int) []bool {
	const open, yes, no = 1, 2, 3
	g := b.graph
	state := make([]uint8, len(g.Switches))
	var way []weft.SwitchID
	for s := range weft.SwitchID(len(g.Switches)) {
		way = way[:0]
		verdict := uint8(no)
		for at := s; ; {
			if state[at] == yes || state[at] == no {
				verdict = state[at]
				break
			}
			if state[at] == open { // a loop
				break
			}
			state[at] = open
			way = append(way, at)
			port, ok := b.out(pair{at, d, path})
			if !ok {
				break
			}
			to, _, ok := g.Peer(weft.End{Node: at.Node(), Port: port})
			if ok && to.Node == d.Node() {
				verdict = yes
			}
			if !ok || !to.Node.IsSwitch() {
				break
			}
			at = weft.SwitchID(to.Node.Index)
		}
		for _, at := range way {
			state[at] = verdict
		}
	}
	ok := make([]bool, len(state))
	for s, v := range state {
		ok[s] = v == yes
	}
	return ok
}

// ownAddresses are those by which single NICs send, of switches whose NICs do not send alike.
func (b *builder) ownAddresses() (list []tables.NICAddresses) {
	for s, nics := range b.sources {
		for d := range weft.NICID(len(b.graph.NICs)) {
			for _, src := range nics {
				x := tables.NICAddresses{Switch: weft.SwitchID(s), Dst: d}
				own := false
				for path := range b.paths {
					layers := b.enter[b.index(pair{x.Switch, d, path})]
					if layers == 0 {
						continue
					}
					layer := uint8(bits.TrailingZeros16(layers))
					if at, ok := b.own[nicPair{src, d, path}]; ok {
						layer, own = at, true
					}
					x.List = append(x.List, weft.Address{Path: uint16(path), VC: weft.VC(layer)})
				}
				if own {
					_, x.Port = b.graph.SwitchOf(src)
					list = append(list, x)
				}
			}
		}
	}
	return list
}

// assign finds the layers in which the NICs of a switch send to an address; false when no path
// record lets them.
func (b *builder) assign(x pair, arrives bool) (bool, error) {
	all := b.sources[x.from]
	var layers uint16
	for _, src := range all {
		if src == x.to && len(all) > 1 {
			continue
		}
		sl, ok := b.sl.from(src, x)
		if !ok {
			return false, nil
		}
		vl, ok := b.vl.lane(src.Node(), 0, 0, sl)
		if !ok {
			return false,
				fmt.Errorf("%s: NIC %s has no virtual lane for service level %d, in which it sends to %s: give the tables of "+
					"this fabric",
					b.levels(), b.graph.Name(src.Node()), sl, b.graph.Name(x.to.Node()))
		}
		layers |= 1 << vl
		b.own[nicPair{src, x.to, x.path}] = vl
		b.layers = max(b.layers, int(vl)+1)
		if b.vl == nil || !arrives {
			continue
		}
		_, port := b.graph.SwitchOf(src)
		if err := b.follow(x, port, vl, sl); err != nil {
			return false, err
		}
	}
	if layers&(layers-1) == 0 { // they send alike
		for _, src := range all {
			delete(b.own, nicPair{src, x.to, x.path})
		}
	}
	b.enter[b.index(x)] = layers
	return layers != 0, nil
}

// levels is the file that service levels are mapped by.
func (b *builder) levels() string {
	if b.vl == nil {
		return b.file
	}
	return b.vlFile
}

// follow notes in which layers a packet travels that comes in by a port, to where its way ends.
func (b *builder) follow(x pair, in weft.PortID, layer, sl uint8) error {
	g := b.graph
	for {
		port, _ := b.out(x)
		vl, ok := b.vl.lane(x.from.Node(), int(in)+1, int(port)+1, sl)
		if !ok {
			return fmt.Errorf("%s: switch %s has no virtual lane from port %d to %d for service level %d, in which packets to "+
				"%s come: give the tables of this fabric",
				b.vlFile, g.Switches[x.from].Name, in+1, port+1, sl, g.Name(x.to.Node()))
		}
		e := entry{x, in, layer}
		if old, known := b.hops[e]; known && old != vl {
			return fmt.Errorf("%s: switch %s sends packets to %s that come by port %d in virtual lane %d on in lanes %d and "+
				"%d, by their service level: Weft's tables do not look at it",
				b.vlFile, g.Switches[x.from].Name, g.Name(x.to.Node()), in+1, layer, old, vl)
		}
		b.hops[e] = vl
		if vl != layer {
			b.changing[x] = true
		}
		b.layers = max(b.layers, int(vl)+1)
		to, _, _ := g.Peer(weft.End{Node: x.from.Node(), Port: port})
		if !to.Node.IsSwitch() {
			return nil
		}
		x.from, in, layer = weft.SwitchID(to.Node.Index), to.Port, vl
	}
}

// tables makes R. Most addresses are forwarded by a row of one hop, shared by all that leave by its
// port.
func (b *builder) tables() (*tables.Tables, error) {
	g := b.graph
	shape := tables.TablesShape{VCs: b.layers, NICs: len(g.NICs), Paths: b.paths}
	for _, s := range g.Switches {
		shape.Ports = append(shape.Ports, s.Ports)
	}
	t, err := tables.NewTablesOf(shape)
	if err != nil {
		return nil, err
	}
	for _, s := range g.Switches {
		rows := make(map[weft.PortID]int, s.Ports)
		for d := range g.NICs {
			for path := range b.paths {
				x := pair{s.ID, weft.NICID(d), path}
				port, ok := b.out(x)
				if !ok || path >= b.lids.of[x.to.Node()].count {
					continue
				}
				row, ok := rows[port]
				if b.changing[x] {
					row, err = t.AddRow(s.ID, b.row(x, s.Ports, port))
				} else if !ok {
					row, err = t.AddRow(s.ID, []tables.Hop{{Port: port, VC: tables.SameVC}})
					rows[port] = row
				}
				if err == nil {
					err = t.SetAddress(s.ID, 0, x.to, path, row)
				}
				if err != nil {
					return nil, err
				}
			}
		}
	}
	return t, nil
}

// injected is the layer in which packets of some NIC of the switch go on that enter in layer vc;
// false when none enters in it.
func (b *builder) injected(x pair, vc uint8) (uint8, bool) {
	for _, src := range b.sources[x.from] {
		_, in := b.graph.SwitchOf(src)
		if vl, ok := b.hops[entry{x, in, vc}]; ok {
			return vl, true
		}
	}
	return 0, false
}

// row is one by in port and layer.
func (b *builder) row(x pair, ports int, port weft.PortID) []tables.Hop {
	roles := b.graph.Place(x.from).Roles
	var hops []tables.Hop
	for in := range ports {
		for vc := range b.layers {
			h := tables.Hop{Port: port, VC: tables.SameVC}
			vl, ok := b.hops[entry{x, weft.PortID(in), uint8(vc)}]
			if !ok && roles[in] == weft.RoleNIC { // whoever follows packets takes any of the NICs of a switch for all of them
				vl, ok = b.injected(x, uint8(vc))
			}
			if ok {
				h.VC = weft.VC(vl)
			}
			hops = append(hops, h)
		}
	}
	return hops
}
