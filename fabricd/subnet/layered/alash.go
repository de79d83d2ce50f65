package layered

import (
	"context"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// ALASH is LASH with adaptive switches (Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular
// Networks, section 7): all shortest paths of a pair that begin with the same link are one address,
// and switches after the first take any of them for each packet. Address k of a destination stands
// for the k-th of the source switch's ports on shortest paths, in the order of ports; T gives each
// its layers.
//
// o.Step4, on by default, gives every address all layers that its paths fit into; with o.Move, also
// on by default, a packet moves freely between them (theorem 3), otherwise it stays in the one in
// which it entered.
//
// When o.Layers do not suffice for all, each pair gets one address first, and then the others that
// fit. When they do not suffice for one each, o.Fallback says what to do.
func ALASH(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	w, turns, most, err := begin(g, o)
	if err != nil {
		return nil, err
	}
	v := &everyWay{several: newSeveral(w, turns), seen: make([]int32, len(w.To))}
	v.path = v.turnsOf
	err = v.eachPair(ctx, func(s, d int32) (int, error) {
		n := len(v.firsts)
		v.firsts = v.minimal(s, d, v.firsts)
		for range len(v.firsts) - n {
			v.to = append(v.to, d)
		}
		return len(v.firsts) - n, nil
	})
	if err != nil {
		return nil, err
	}
	f, err := v.fit(ctx, "a-lash", o, most)
	if err != nil {
		return nil, err
	}
	return v.routing(ctx, o.named("a-lash"), o, f)
}

// everyWay are the addresses of A-LASH.
type everyWay struct {
	*several
	firsts []int32 // per address: the channel with which it begins
	to     []int32 // per address: the destination
	seen   []int32 // per channel: the walk that was there last
	walk   int32
	todo   []int32
}

// minimal adds the channels from s on shortest paths to d to a list.
func (v *everyWay) minimal(s, d int32, list []int32) []int32 {
	for c := v.w.First[s]; c < v.w.First[s+1]; c++ {
		if v.dist[int(v.w.To[c])*v.w.n+int(d)]+1 == v.dist[int(s)*v.w.n+int(d)] {
			list = append(list, c)
		}
	}
	return list
}

// turnsOf gives the turns of all paths of an address.
func (v *everyWay) turnsOf(a int, turns []int32) []int32 {
	v.walk++
	d := v.to[a]
	v.todo = append(v.todo[:0], v.firsts[a])
	for i := 0; i < len(v.todo); i++ {
		c := v.todo[i]
		for next := v.w.First[v.w.To[c]]; next < v.w.First[v.w.To[c]+1]; next++ {
			if v.dist[int(v.w.To[next])*v.w.n+int(d)]+1 != v.dist[int(v.w.To[c])*v.w.n+int(d)] {
				continue
			}
			turns = append(turns, v.turns.Find(c, next))
			if v.seen[next] != v.walk {
				v.seen[next] = v.walk
				v.todo = append(v.todo, next)
			}
		}
	}
	return turns
}

// routing makes tables and assignments. The paths of a fallback have addresses after those by port.
func (v *everyWay) routing(ctx context.Context, engine string, o Options, f *fallback) (*Routing, error) {
	w := v.w
	ports := 1
	for pair := range v.src {
		ports = max(ports, int(v.first[pair+1]-v.first[pair]))
	}
	r := &Routing{Engine: engine, Graph: w.g, Kind: Adaptive, Layers: max(len(v.layers), 1)}
	paths, more := ports, newPacked(w)
	if f != nil {
		r.Layers = f.layers
		if err := f.pack(more, ports); err != nil {
			return nil, err
		}
		if f.detours != nil {
			paths += more.most
		}
	}
	var err error
	if r.Tables, err = v.tables(ctx, r.Layers, ports, paths, more, f); err != nil {
		return nil, err
	}
	path := make([]uint16, len(v.of))
	for pair := range v.src {
		for a := v.first[pair]; a < v.first[pair+1]; a++ {
			path[a] = uint16(a - v.first[pair])
		}
	}
	t := v.addresses(func(a int32) uint16 { return path[a] }, o.Move.on())
	r.Assignment, err = w.assignPaths(r.Layers, paths, f.with(t.of))
	return r, err
}

// tables are R. Of so many paths those from ports on are the detours in more.
func (v *everyWay) tables(ctx context.Context, layers, ports, paths int, more *packed, f *fallback,
) (*tables.Tables, error) {
	w := v.w
	byLayer, shortest := 1, layers // how many layers have rows of their own, and how many of them take shortest paths
	var of *rows
	var tables *tables.Tables
	var err error
	if f != nil && f.upDown != nil {
		byLayer, shortest = layers, layers-1
		if of, err = newRows(w, layers, paths); err == nil {
			tables = of.tables
		}
	} else {
		tables, err = portTables(w.g, layers, paths)
	}
	if err != nil {
		return nil, err
	}
	rows := &wayRows{w: w, tables: tables, layers: layers, perLayer: of != nil, known: make([]map[string]int, w.n)}
	var channels []int32
	for d, nics := range w.nics {
		if err := Interrupted(ctx); err != nil {
			return nil, err
		}
		for _, nic := range nics {
			if err := rows.home(nic, paths); err != nil {
				return nil, err
			}
			for s := range int32(w.n) {
				if channels = v.minimal(s, int32(d), channels[:0]); len(channels) == 0 {
					continue
				}
				for a := range ports {
					row, err := rows.row(s, channels, min(a, len(channels)-1))
					for k := 0; k < min(byLayer, shortest) && err == nil; k++ {
						err = tables.SetAddress(weft.SwitchID(s), weft.VC(k), nic, a, row)
					}
					if err != nil {
						return nil, err
					}
				}
			}
			if err := more.set(tables, d, nic, ports); err != nil {
				return nil, err
			}
		}
		if of != nil {
			if err := f.lastLayer(of, int32(d)); err != nil {
				return nil, err
			}
		}
	}
	return tables, nil
}

// wayRows adds the rows of adaptive tables, those that are alike once.
type wayRows struct {
	w      *wires
	tables *tables.Tables
	layers int
	// perLayer: the tables have a row for each layer
	perLayer bool
	known    []map[string]int
	key      []byte
}

// home makes the switch of a NIC deliver packets for any of its addresses.
func (r *wayRows) home(nic weft.NICID, paths int) error {
	s, port := r.w.g.SwitchOf(nic)
	if !r.perLayer {
		return home(r.tables, r.w.g, nic, paths)
	}
	row, err := r.tables.AddRow(s, []tables.Hop{{Port: port, VC: tables.SameVC}})
	for a := range paths {
		for k := range weft.VC(r.layers) {
			if err == nil {
				err = r.tables.SetAddress(s, k, nic, a, row)
			}
		}
	}
	return err
}

// row forwards what comes from a NIC by the k-th of the channels, and what comes from a switch by
// any.
func (r *wayRows) row(s int32, channels []int32, k int) (int, error) {
	r.key = append(r.key[:0], byte(k))
	for _, c := range channels {
		r.key = append(r.key, byte(r.w.Port[c])) // there are weft.MaxPorts at most
	}
	if row, ok := r.known[s][string(r.key)]; ok {
		return row, nil
	}
	all := make([]tables.Hop, len(channels))
	for i, c := range channels {
		all[i] = tables.Hop{Port: r.w.Port[c], VC: tables.SameVC}
	}
	entries := make([][]tables.Hop, 0, r.w.g.Switches[s].Ports*r.layers)
	for p := range weft.PortID(r.w.g.Switches[s].Ports) {
		hops := all[k : k+1]
		if peer, _, ok := r.w.g.Peer(weft.End{Node: weft.SwitchID(s).Node(), Port: p}); ok && peer.Node.IsSwitch() {
			hops = all
		}
		entries = append(entries, hops)
		for k := 1; k < r.layers && !r.perLayer; k++ {
			entries = append(entries, hops)
		}
	}
	if r.perLayer {
		entries = append(entries, all) // what comes from another layer
	}
	row, err := r.tables.AddChoices(weft.SwitchID(s), entries)
	if err != nil {
		return 0, err
	}
	if r.known[s] == nil {
		r.known[s] = make(map[string]int)
	}
	r.known[s][string(slices.Clone(r.key))] = row
	return row, nil
}
