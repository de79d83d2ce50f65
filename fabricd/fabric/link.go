package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// link is a link with its directions: 0 from A to B, 1 from B to A. The leader's state says what
// becomes of it.
type link struct {
	topology.Link
	dirs [2]wire.Direction
}

func newLink(g *topology.Graph, l topology.Link) *link {
	there, _ := host.Direction(g, l.A)
	return &link{Link: l, dirs: [2]wire.Direction{there, there.Reverse()}}
}

// ends are A and B.
func (l *link) ends() [2]weft.End { return [2]weft.End{l.A, l.B} }

// LinkLoss is what one link lost.
type LinkLoss struct {
	Wire   uint64 `json:"wire"`
	Queued uint64 `json:"queued"`
}

// idsOf are the numbers of links.
func idsOf(links []*link) []weft.LinkID {
	ids := make([]weft.LinkID, len(links))
	for i, l := range links {
		ids[i] = l.ID
	}
	return ids
}
