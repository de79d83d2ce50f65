package topology

import "github.com/weft-fabric/weft"

// Kind is a family of topologies, by its name in a spec.
type Kind string

// The kinds of topology. File is any graph that was listed link by link.
const (
	KaryNTree Kind = "kary-ntree"
	MPortTree Kind = "mport-tree"
	LeafSpine Kind = "leaf-spine"
	Mesh      Kind = "mesh"
	Torus     Kind = "torus"
	Ring      Kind = "ring"
	Irregular Kind = "irregular"
	File      Kind = "file"
)

// Switch is one switch of a graph.
type Switch struct {
	ID     weft.SwitchID
	Name   string
	Tier   weft.Tier // 0 is the top; only meaningful when Graph.Tiers > 0
	Digits []int     // w_0 .. w_(n-2) of <w,l>, in trees
	Coord  []int     // x, y, ..., in meshes, tori and rings
	Ports  int       // how many it has, connected or not
}

// NIC is one endpoint of a graph. It has one port, port 0, and one link.
type NIC struct {
	ID   weft.NICID
	Name string
}

// Link joins two ports. A is the end that the name begins with: the switch when B is a NIC,
// otherwise the switch with the lower id, which in a tree is the one of the upper tier.
type Link struct {
	ID   weft.LinkID
	Name string
	A, B weft.End
}

// Other is the end of the link that is not at node n.
func (l Link) Other(n weft.Node) weft.End {
	if l.A.Node == n {
		return l.B
	}
	return l.A
}

// BetweenSwitches reports whether neither end is a NIC.
func (l Link) BetweenSwitches() bool { return l.A.Node.IsSwitch() && l.B.Node.IsSwitch() }

// Graph is a topology. Ids are positions in its slices. It is read-only.
type Graph struct {
	Spec     string // what [Parse] was given, or the name [New] was given
	Kind     Kind
	Tiers    int // tiers of a tree, 0 when the switches have no tiers
	Switches []Switch
	NICs     []NIC
	Links    []Link
	Warnings []string // what of a file was left out, each with its line

	generated  string                 // the spec of the generator that made it; empty for a listed graph
	removed    []string               // the links that a file took away from what was generated
	identities map[weft.Node]Identity // what InfiniBand calls the nodes, as far as a file says so; see Identity
	tree       *tree                  // the arithmetic of a tree, nil for other kinds
	found      []weft.Tree            // per switch its place in the tree that was found in a file; nil: it is none
	noTree     error                  // why none was found
	grid       *grid                  // the arithmetic of a mesh, torus or ring, nil for other kinds

	first    []uint32 // first[s] is where the ports of switch s begin in peers
	peers    []peer   // per port of every switch
	nicPeers []peer   // per NIC

	places    []weft.Place         // per switch
	adjacency Adjacency            // empty when there is arithmetic
	table     []uint16             // links from each switch to each; nil when there is arithmetic, or they are too many
	byName    map[string]weft.Node // switches and NICs
}

// peer is what a port leads to. The zero value is a port that leads nowhere.
type peer struct {
	end  weft.End
	link weft.LinkID
}

// Peer is the other end of the link at a port, and the link. It reports false when the port is not
// connected or is not there.
func (g *Graph) Peer(e weft.End) (weft.End, weft.LinkID, bool) {
	p := g.slot(e)
	if p == nil || p.end.Node.Kind == 0 {
		return weft.End{}, 0, false
	}
	return p.end, p.link, true
}

// SwitchOf is the switch that a NIC is linked to, and the port of that switch.
func (g *Graph) SwitchOf(id weft.NICID) (weft.SwitchID, weft.PortID) {
	e := g.nicPeers[id].end
	return weft.SwitchID(e.Node.Index), e.Port
}

// slot is the entry for a port, nil when there is no such port.
func (g *Graph) slot(e weft.End) *peer {
	i := int(e.Node.Index)
	switch {
	case e.Node.Kind == weft.KindSwitch && i < len(g.Switches):
		if int(e.Port) < int(g.first[i+1]-g.first[i]) {
			return &g.peers[int(g.first[i])+int(e.Port)]
		}
	case e.Node.Kind == weft.KindNIC && i < len(g.nicPeers):
		if e.Port == 0 {
			return &g.nicPeers[i]
		}
	}
	return nil
}

// ports are the entries of all ports of a switch.
func (g *Graph) ports(s weft.SwitchID) []peer { return g.peers[g.first[s]:g.first[s+1]] }

// finish makes the tables that the methods read. Links whose ends are not there are left out, and
// of two links at one port the first stays: check reports both.
func (g *Graph) finish() {
	g.first = make([]uint32, len(g.Switches)+1)
	for i, s := range g.Switches {
		g.first[i+1] = g.first[i] + uint32(s.Ports)
	}
	g.peers = make([]peer, g.first[len(g.Switches)])
	g.nicPeers = make([]peer, len(g.NICs))
	for _, l := range g.Links {
		a, b := g.slot(l.A), g.slot(l.B)
		if a == nil || b == nil || a == b || a.end.Node.Kind != 0 || b.end.Node.Kind != 0 {
			continue
		}
		*a, *b = peer{l.B, l.ID}, peer{l.A, l.ID}
	}
	if g.Kind == File {
		g.noTree = g.findTree()
	}
	g.indexNames()
	g.indexPlaces()
	g.indexDistances()
}
