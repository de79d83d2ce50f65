package firmware

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

// still is a switch with room everywhere that stands still.
func still(place *weft.Place) *switching.Still {
	return &switching.Still{At: place, Free: 2, Registers: make([]uint64, 4*64)}
}

// placeOf is the place of switch <w,tier> in a k-ary n-tree.
func placeOf(k, n, tier int, w ...int) *weft.Place {
	return newTree(fmt.Sprintf("kary-ntree:%d,%d", k, n)).place(tier, w)
}

// place is the place of switch <w,tier>.
func (t *tree) place(tier int, w []int) *weft.Place {
	for _, v := range t.views {
		if p := v.At.Tree; int(p.Tier) == tier && slices.Equal(p.W, w) {
			return v.At
		}
	}
	panic("no such switch")
}

// tree is a k-ary n-tree or an m-port n-tree whose switches stand still.
type tree struct {
	g     *topology.Graph
	k, n  int
	views []*switching.Still
	peers [][]weft.End // per switch and port
}

func newTree(spec string) *tree {
	g, err := topology.Generate(spec)
	if err != nil {
		panic(err)
	}
	t := &tree{g: g, n: g.Tiers}
	for id := range g.Switches {
		place := g.Place(weft.SwitchID(id))
		t.k = place.Tree.K
		t.views = append(t.views, still(place))
		var peers []weft.End
		for p := range place.Ports() {
			peer, _, _ := g.Peer(weft.End{Node: weft.SwitchID(id).Node(), Port: weft.PortID(p)})
			peers = append(peers, peer)
		}
		t.peers = append(t.peers, peers)
	}
	return t
}

func (t *tree) nics() int { return len(t.g.NICs) }

// leaf is the switch of a NIC and the port the NIC is at.
func (t *tree) leaf(nic weft.NICID) (sw int, p weft.PortID) {
	id, p := t.g.SwitchOf(nic)
	return int(id), p
}

// next is the switch and port at the other end of the link at port p of switch sw, which leads to a
// switch.
func (t *tree) next(sw int, p weft.PortID) (int, weft.PortID) {
	peer := t.peers[sw][p]
	return int(peer.Node.Index), peer.Port
}

func (t *tree) role(sw int, p weft.PortID) weft.Role { return t.views[sw].At.Roles[p] }

// arrival is how a packet comes in at port p of sw.
func (t *tree) arrival(sw int, p weft.PortID, vc weft.VC) switching.Arrival {
	return switching.Arrival{Port: p, VC: vc, From: t.role(sw, p)}
}

// element is what can be dead: a link, or a switch, which is to its neighbours as if all its links
// were. They are named by their upper ends.
type element []weft.End

// elements lists the links between switches and, if asked for, the switches above the leaves.
func (t *tree) elements(switches bool) (all []element) {
	for sw := range t.views {
		for p := range t.peers[sw] {
			if t.role(sw, weft.PortID(p)) == weft.RoleDown {
				all = append(all, element{{Node: weft.SwitchID(sw).Node(), Port: weft.PortID(p)}})
			}
		}
	}
	for sw, v := range t.views {
		if !switches || v.At.Tree.Leaf() {
			continue
		}
		var e element
		for p, peer := range t.peers[sw] {
			if t.role(sw, weft.PortID(p)) == weft.RoleDown {
				peer = weft.End{Node: weft.SwitchID(sw).Node(), Port: weft.PortID(p)}
			}
			e = append(e, peer)
		}
		all = append(all, e)
	}
	return all
}

// die takes all links of all of set down.
func (t *tree) die(set ...element) {
	for _, e := range set {
		for _, end := range e {
			sw := int(end.Node.Index)
			low, q := t.next(sw, end.Port)
			t.views[sw].Dead.Add(end.Port)
			t.views[low].Dead.Add(q)
		}
	}
}

// heal brings all links up.
func (t *tree) heal() {
	for _, v := range t.views {
		v.Dead = switching.PortSet{}
	}
}

// sequences calls f with every so many-th element, and every so many-th sequence of two if most is
// two.
func sequences(elements []element, most, each, twos int, f func(chain []element)) {
	n := 0
	for i, a := range elements {
		if i%each == 0 {
			f([]element{a})
		}
		for j, b := range elements {
			if n++; most == 2 && i != j && n%twos == 0 {
				f([]element{a, b})
			}
		}
	}
}

// sets calls f with every so many-th set of at most most elements dead, the empty one and those of
// one at least.
func (t *tree) sets(elements []element, most, every int, f func(set []element)) {
	n := 0
	var add func(from int, set []element)
	add = func(from int, set []element) {
		if n++; n%every == 0 || len(set) < 2 {
			t.heal()
			t.die(set...)
			f(set)
		}
		if len(set) == most {
			return
		}
		for i := from; i < len(elements); i++ {
			add(i+1, append(set[:len(set):len(set)], elements[i]))
		}
	}
	add(0, nil)
	t.heal()
}
