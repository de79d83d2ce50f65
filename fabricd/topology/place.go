package topology

import "github.com/weft-fabric/weft"

// Place is where a switch stands: all that its firmware may know of the topology. It is the same
// pointer on every call. Tree and Grid are set for what a generator made, even when a file then
// took links away, and Tree for a listed graph that is a tree.
func (g *Graph) Place(id weft.SwitchID) *weft.Place { return &g.places[id] }

// NoTree says why the graph is no tree; nil when it is one, or when a generator made it.
func (g *Graph) NoTree() error { return g.noTree }

// indexPlaces fills places.
func (g *Graph) indexPlaces() {
	g.places = make([]weft.Place, len(g.Switches))
	roles, neighbours := make([]weft.Role, len(g.peers)), make([]weft.Node, len(g.peers))
	for i, s := range g.Switches {
		first, end := g.first[i], g.first[i+1]
		p := &g.places[i]
		*p = weft.Place{Switch: s.ID, Name: s.Name, Roles: roles[first:end:end], Neighbours: neighbours[first:end:end]}
		for j, at := range g.peers[first:end] {
			p.Roles[j], p.Neighbours[j] = g.role(s, at.end.Node), at.end.Node
		}
		if g.tree != nil {
			p.Tree = g.tree.place(s)
		}
		if g.found != nil {
			p.Tree = &g.found[i]
		}
		if g.grid != nil {
			p.Grid = g.grid.place(s)
		}
	}
}

func (g *Graph) role(s Switch, to weft.Node) weft.Role {
	switch {
	case to.Kind == 0:
		return weft.RoleNone
	case to.Kind == weft.KindNIC:
		return weft.RoleNIC
	case g.Tiers == 0:
		return weft.RolePeer
	case g.Switches[to.Index].Tier < s.Tier:
		return weft.RoleUp
	}
	return weft.RoleDown
}
