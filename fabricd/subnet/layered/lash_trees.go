package layered

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/cdg"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// trees are the paths of LASH by destination: per destination switch d and switch s the channel that s takes to d.
type trees struct {
	layering
	w    *wires
	seed uint64

	next []int32 // at d*n+s; -1 where there is none
	turn []int32 // at d*n+s: from that channel to the one after it, -1 where there is none
	load []int32 // per channel: the paths over it

	// Of the tree that grows, per switch: no layer below low takes its path, and that one has it if it is the switch of NICs.
	low []int32
}

func newTrees(w *wires, turns *cdg.Turns, o Options) *trees {
	t := &trees{
		w: w, seed: o.Seed, next: make([]int32, w.n*w.n), turn: make([]int32, w.n*w.n), load: make([]int32, len(w.to)),
		low: make([]int32, w.n),
	}
	t.layering = layering{turns: turns, of: slices.Repeat([]uint8{none}, w.n*w.n), path: t.path}
	for i := range t.next {
		t.next[i], t.turn[i] = -1, -1
	}
	return t
}

// path gives the turns of the path that has number d*n+s.
func (t *trees) path(i int, turns []int32) []int32 {
	row := i / t.w.n * t.w.n
	for s := i - row; t.turn[row+s] >= 0; s = int(t.w.to[t.next[row+s]]) {
		turns = append(turns, t.turn[row+s])
	}
	return turns
}

// grow chooses the trees and fills the layers (steps 2 and 3), destination by destination, in the order of a breadth-first search
// from switch o.Seed, and switch by switch from the near ones to the far ones. A switch takes the channel by which its path gets into
// the lowest layer, and among those the one that fewest paths lead over.
//
// What a layer has refused a switch it refuses all switches whose path leads through that one, and what it has of the path of a switch need
// not be looked at again for those behind it: mostly there is one turn to check.
func (t *trees) grow() {
	dist := make([]int32, t.w.n)
	var queue []int32
	for _, d := range t.w.distances(int32(t.seed%uint64(t.w.n)), dist, nil) {
		if !t.w.ends[d] {
			continue
		}
		queue = t.w.distances(d, dist, queue)
		t.tree(d, queue[1:], dist)
	}
}

// tree is grow for one destination, with the other switches and their distances.
func (t *trees) tree(d int32, switches, dist []int32) {
	w, row := t.w, int(d)*t.w.n
	t.low[d] = 0
	for _, s := range switches {
		best, layer, turn := int32(-1), int32(0), int32(-1)
		for c := w.first[s]; c < w.first[s+1]; c++ {
			via := w.to[c]
			if dist[via] != dist[s]-1 || best >= 0 && t.low[via] > layer {
				continue
			}
			u := int32(-1)
			if via != d {
				u = t.turns.Find(c, t.next[row+int(via)])
			}
			k := t.lowest(row, via, u)
			if best < 0 || k < layer || k == layer && t.load[c] < t.load[best] {
				best, layer, turn = c, k, u
			}
		}
		i := row + int(s)
		t.next[i], t.turn[i], t.low[s] = best, turn, layer
		if !w.ends[s] {
			continue // it only passes on
		}
		t.storage = t.path(i, t.storage[:0])
		t.layer(int(layer)).AddPath(t.storage)
		t.sizes[layer]++
		t.of[i] = uint8(layer)
		for at := s; at != d; at = w.to[t.next[row+int(at)]] {
			t.load[t.next[row+int(at)]]++
		}
	}
}

// lowest is the lowest layer that takes the path that begins with a turn into the channel that switch via takes.
func (t *trees) lowest(row int, via, turn int32) int32 {
	k := t.low[via]
	if turn < 0 {
		return k
	}
	if t.w.ends[via] {
		if t.layers[k].Fits(turn) {
			return k
		}
		k++
	}
	t.storage = append(t.storage[:0], turn)
	t.storage = t.path(row+int(via), t.storage)
	for ; int(k) < len(t.layers); k++ {
		if t.layers[k].FitsPath(t.storage) {
			break
		}
	}
	return k
}

// routing makes tables and assignments.
func (t *trees) routing() (*Routing, error) {
	w := t.w
	r := &Routing{Engine: "lash", Graph: w.g, Layers: max(len(t.layers), 1)}
	var err error
	if r.Tables, err = portTables(w.g, r.Layers, 1); err != nil {
		return nil, err
	}
	for d, nics := range w.nics {
		for _, nic := range nics {
			_, port := w.g.SwitchOf(nic)
			for s, c := range t.next[d*w.n : (d+1)*w.n] {
				switch {
				case s == d:
				case c < 0:
					continue
				default:
					port = w.port[c]
				}
				if err := r.Tables.SetAddress(weft.SwitchID(s), 0, nic, 0, int(port)); err != nil {
					return nil, err
				}
				_, port = w.g.SwitchOf(nic)
			}
		}
	}
	address := make([]weft.Address, 1)
	r.Assignment, err = firmware.NewAssignment(w.n, len(w.g.NICs), r.Layers, 1, func(s weft.SwitchID, nic weft.NICID) []weft.Address {
		d, _ := w.g.SwitchOf(nic)
		k := t.of[int(d)*w.n+int(s)]
		if k == none {
			if d != s {
				return nil
			}
			k = 0
		}
		address[0].VC = weft.VC(k)
		return address
	})
	return r, err
}

// portTables are empty tables in which row p of a switch is its port p, in the same layer.
func portTables(g *topology.Graph, layers, paths int) (*firmware.Tables, error) {
	ports := make([]int, len(g.Switches))
	for s := range ports {
		ports[s] = g.Switches[s].Ports
	}
	tables, err := firmware.NewTablesOf(firmware.TablesShape{VCs: layers, NICs: len(g.NICs), Paths: paths, Ports: ports})
	if err != nil {
		return nil, err
	}
	for s, n := range ports {
		for p := range n {
			if _, err := tables.AddRow(weft.SwitchID(s), []firmware.Hop{{Port: weft.PortID(p), VC: firmware.SameVC}}); err != nil {
				return nil, err
			}
		}
	}
	return tables, nil
}
