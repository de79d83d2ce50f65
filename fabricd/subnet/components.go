package subnet

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Components tells which NICs any path of live links joins, whatever the routing: what no method
// can do better than. It is kept to be asked again and again for one topology, allocates nothing
// when it is, and belongs to one goroutine.
type Components struct {
	g      *topology.Graph
	parent []uint32 // per switch, towards one switch of its component
	nics   []int    // per switch: live NICs of the component that it stands for
	live   []bool   // per NIC: its link works
}

// NewComponents is for a topology of any kind; Compute comes next.
func NewComponents(g *topology.Graph) *Components {
	return &Components{
		g: g, parent: make([]uint32, len(g.Switches)), nics: make([]int, len(g.Switches)),
		live: make([]bool, len(g.NICs)),
	}
}

// Connected is [Components.Compute] for one set of faults.
func Connected(g *topology.Graph, dead *Dead) (unconnected int) {
	return NewComponents(g).Compute(dead)
}

// Compute finds what is connected without what is dead, and returns how many ordered pairs of
// different NICs are not. A NIC whose link or switch is dead is connected to nobody.
func (c *Components) Compute(dead *Dead) (unconnected int) {
	for i := range c.parent {
		c.parent[i], c.nics[i] = uint32(i), 0
	}
	clear(c.live)
	for i := range c.g.Links {
		if l := &c.g.Links[i]; l.BetweenSwitches() && !dead.Cuts(l) {
			c.parent[c.root(l.A.Node.Index)] = c.root(l.B.Node.Index)
		}
	}
	joined := 0
	for i := range c.g.Links {
		l := &c.g.Links[i]
		if l.BetweenSwitches() || dead.Cuts(l) {
			continue
		}
		c.live[l.B.Node.Index] = true // the NIC is the end B
		of := &c.nics[c.root(l.A.Node.Index)]
		joined += 2 * *of
		*of++
	}
	n := len(c.g.NICs)
	return n*(n-1) - joined
}

// Joined reports whether a path of live links led from src to dst at the last Compute.
func (c *Components) Joined(src, dst weft.NICID) bool {
	a, _ := c.g.SwitchOf(src)
	b, _ := c.g.SwitchOf(dst)
	return c.live[src] && c.live[dst] && c.root(uint32(a)) == c.root(uint32(b))
}

// root stands for the component of a switch; the way to it is halved each time.
func (c *Components) root(s uint32) uint32 {
	for c.parent[s] != s {
		c.parent[s] = c.parent[c.parent[s]]
		s = c.parent[s]
	}
	return s
}
