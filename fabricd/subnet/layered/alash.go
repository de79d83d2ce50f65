package layered

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// ALASH is LASH with adaptive switches (Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular Networks, section 7): all shortest
// paths of a pair that begin with the same link are one address, and switches after the first take any of them for each packet. Address k
// of a destination stands for the k-th of the source switch's ports on shortest paths, in the order of ports; T gives each its layers.
//
// o.Step4, on by default, gives every address all layers that its paths fit into; with o.Move, also on by default, a packet moves freely
// between them (theorem 3), otherwise it stays in the one in which it entered.
//
// When o.Layers do not suffice for all, each pair gets one address first, and then the others that fit. When they do not suffice for one
// each, o.Fallback says what to do.
func ALASH(g *topology.Graph, o Options) (*Routing, error) {
	w, turns, most, err := begin(g, o)
	if err != nil {
		return nil, err
	}
	v := &everyWay{several: newSeveral(w, turns), seen: make([]int32, len(w.to))}
	v.path = v.turnsOf
	err = v.eachPair(func(s, d int32) (int, error) {
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
	left, err := v.fit("a-lash", o, most)
	if err != nil {
		return nil, err
	}
	return v.routing(o.named("a-lash"), o, left)
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
	for c := v.w.first[s]; c < v.w.first[s+1]; c++ {
		if v.dist[int(v.w.to[c])*v.w.n+int(d)]+1 == v.dist[int(s)*v.w.n+int(d)] {
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
		for next := v.w.first[v.w.to[c]]; next < v.w.first[v.w.to[c]+1]; next++ {
			if v.dist[int(v.w.to[next])*v.w.n+int(d)]+1 != v.dist[int(v.w.to[c])*v.w.n+int(d)] {
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

func (v *everyWay) routing(engine string, o Options, _ []int32) (*Routing, error) {
	w := v.w
	most := 1
	for pair := range v.src {
		most = max(most, int(v.first[pair+1]-v.first[pair]))
	}
	r := &Routing{Engine: engine, Graph: w.g, Kind: Adaptive, Layers: max(len(v.layers), 1)}
	var err error
	if r.Tables, err = portTables(w.g, r.Layers, most); err != nil {
		return nil, err
	}
	rows := &wayRows{w: w, tables: r.Tables, layers: r.Layers, known: make([]map[string]int, w.n)}
	var ports []int32
	for d, nics := range w.nics {
		for _, nic := range nics {
			if err := home(r.Tables, w.g, nic, most); err != nil {
				return nil, err
			}
			for s := range int32(w.n) {
				if ports = v.minimal(s, int32(d), ports[:0]); len(ports) == 0 {
					continue
				}
				for a := range most {
					row, err := rows.row(s, ports, min(a, len(ports)-1))
					if err == nil {
						err = r.Tables.SetAddress(weft.SwitchID(s), 0, nic, a, row)
					}
					if err != nil {
						return nil, err
					}
				}
			}
		}
	}
	path := make([]uint16, len(v.of))
	for pair := range v.src {
		for a := v.first[pair]; a < v.first[pair+1]; a++ {
			path[a] = uint16(a - v.first[pair])
		}
	}
	t := v.addresses(func(a int32) uint16 { return path[a] }, o.Move.Or(true))
	r.Assignment, err = w.assignPaths(r.Layers, most, t.of)
	return r, err
}

// wayRows adds the rows of adaptive tables, those that are alike once.
type wayRows struct {
	w      *wires
	tables *firmware.Tables
	layers int
	known  []map[string]int
	key    []byte
}

// row forwards what comes from a NIC by the k-th of the channels, and what comes from a switch by any.
func (r *wayRows) row(s int32, channels []int32, k int) (int, error) {
	r.key = append(r.key[:0], byte(k))
	for _, c := range channels {
		r.key = append(r.key, byte(r.w.port[c])) // there are weft.MaxPorts at most
	}
	if row, ok := r.known[s][string(r.key)]; ok {
		return row, nil
	}
	all := make([]firmware.Hop, len(channels))
	for i, c := range channels {
		all[i] = firmware.Hop{Port: r.w.port[c], VC: firmware.SameVC}
	}
	entries := make([][]firmware.Hop, 0, r.w.g.Switches[s].Ports*r.layers)
	for p := range weft.PortID(r.w.g.Switches[s].Ports) {
		hops := all[k : k+1]
		if peer, _, ok := r.w.g.Peer(weft.End{Node: weft.SwitchID(s).Node(), Port: p}); ok && peer.Node.IsSwitch() {
			hops = all
		}
		for range r.layers {
			entries = append(entries, hops)
		}
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
