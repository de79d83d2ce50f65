package topology

// Without is the graph without some of its links, as a subnet manager sees one in which they are
// dead: every switch, port, NIC and link keeps its number and every switch its place. A port whose
// link is dead leads nowhere, and a NIC without its link hangs nowhere, which [Graph.Peer] tells.
// What is left need not be connected. Distances are counted by what is left; two switches without a
// way are very far from each other.
func (g *Graph) Without(dead func(l *Link) bool) *Graph {
	left := *g
	left.peers = append([]peer(nil), g.peers...)
	left.nicPeers = append([]peer(nil), g.nicPeers...)
	left.removed = append([]string(nil), g.removed...)
	for i := range g.Links {
		l := &g.Links[i]
		if !dead(l) {
			continue
		}
		left.removed = append(left.removed, l.Name)
		*left.slot(l.A), *left.slot(l.B) = peer{}, peer{}
	}
	left.indexDistances()
	return &left
}
