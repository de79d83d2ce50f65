package fabric

import (
	"fmt"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// link is what the fabric knows of one link. Its directions are 0, A to B, and 1, B to A.
type link struct {
	topology.Link
	dirs [2]wire.Direction
	up   [2]atomic.Bool // as the node at A, at B sees it; set by Observe

	// Guarded by Fabric.mu.
	cut             [2]*activeFault     // per direction, the fault that cuts it now
	impaired        [2]*activeFault     // per direction, the fault that impairs it
	suffers         [2]fault.Impairment // per direction; zero: nothing
	signal          [2]bool             // whether the end at A, at B was last given signal
	lostConnections map[int]*incident   // by connection to the broker, the loss of it; empty: it is carried
}

func newLink(g *topology.Graph, l topology.Link) *link {
	return &link{Link: l, dirs: directionsOf(g, l), lostConnections: map[int]*incident{}}
}

// ends are A and B.
func (l *link) ends() [2]weft.End { return [2]weft.End{l.A, l.B} }

// isCut reports whether nothing comes through in direction d now. The caller holds Fabric.mu.
func (l *link) isCut(d int) bool { return l.cut[d] != nil && !l.cut[d].flapUp }

// endsUp are the ends that see the link up.
func (l *link) endsUp() (ends []weft.End) {
	for i, e := range l.ends() {
		if l.up[i].Load() {
			ends = append(ends, e)
		}
	}
	return ends
}

// both are both directions.
var both = [2]bool{true, true}

// directions says which directions of l an order means whose first end is the link's B if reversed.
func directions(d fault.Direction, reversed bool) [2]bool {
	if reversed {
		return [2]bool{d.BtoA(), d.AtoB()}
	}
	return [2]bool{d.AtoB(), d.BtoA()}
}

// signalled reports whether the ends know of the cut of direction d.
func (l *link) signalled(d int) bool { return l.isCut(d) && !l.cut[d].spec.Silent }

// signals says which ends have signal. An end is without when both directions are cut and it was told; when only what comes
// to it is cut, it goes on saying so to its neighbour. The caller holds mu.
func (f *Fabric) signals(l *link) [2]bool {
	if !f.alive(l) || l.signalled(0) && l.signalled(1) {
		return [2]bool{}
	}
	return both
}

// alive reports whether l is held by two live nodes and a broker. The caller holds mu.
func (f *Fabric) alive(l *link) bool {
	for _, e := range l.ends() {
		if e.Node.IsSwitch() && f.switches[e.Node.Index].crash != nil {
			return false
		}
	}
	return len(l.lostConnections) == 0 && !f.dead(l)
}

// dead reports whether an end of l is on a host that is lost.
func (f *Fabric) dead(l *link) bool {
	a, b := f.hostOf(l.A.Node), f.hostOf(l.B.Node)
	return a.failed.Load() || b.failed.Load()
}

// usable reports whether l should carry packets. The caller holds mu.
func (f *Fabric) usable(l *link) bool { return f.alive(l) && !l.isCut(0) && !l.isCut(1) }

// connected is the direction that dirs are of l.
func connected(dirs [2]bool) fault.Direction {
	switch dirs {
	case [2]bool{true, false}:
		return fault.To
	case [2]bool{false, true}:
		return fault.From
	}
	return ""
}

func (f *Fabric) link(id weft.LinkID) (*link, error) {
	if int(id) >= len(f.links) {
		return nil, fmt.Errorf("link %d: %w: there are %d", id, ErrUnknown, len(f.links))
	}
	return f.links[id], nil
}

// held reports whether damping keeps either end of l down.
func (f *Fabric) held(l *link) bool {
	return f.hostOf(l.A.Node).held(l.A) || f.hostOf(l.B.Node).held(l.B)
}

func (f *Fabric) linksOf(id weft.SwitchID) []*link {
	var out []*link
	for _, l := range f.links {
		if l.A.Node == id.Node() || l.B.Node == id.Node() {
			out = append(out, l)
		}
	}
	return out
}

// LinkLoss is what one link lost.
type LinkLoss struct {
	Wire   uint64 `json:"wire"`
	Queued uint64 `json:"queued"`
}

// directionsOf are the directions of a link, A to B and B to A, as a transport has them.
func directionsOf(g *topology.Graph, l topology.Link) [2]wire.Direction {
	there, _ := host.Direction(g, l.A)
	return [2]wire.Direction{there, there.Reverse()}
}
