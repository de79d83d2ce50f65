package fabric

import (
	"time"

	"github.com/weft-fabric/weft"
)

// A neighbour must not count as dead because we ourselves did not let it speak: a machine with other things to do may hold
// up the goroutine that carries the frames of all links, or the one that steps the neighbour, for hundreds of milliseconds,
// while the one that looks at the clock runs on time. Silence counts only while neither is so.

// excuse returns what tells the driver of n whether what comes to a port is held up by ourselves, or was until just now.
func (f *Fabric) excuse(n weft.Node) func(p weft.PortID) bool {
	interval := f.opts.Link.Liveness.Interval.Duration()
	return func(p weft.PortID) bool {
		peer, id, ok := f.graph.Peer(weft.End{Node: n, Port: p})
		if !ok {
			return false
		}
		if f.late(peer, interval/2, interval) {
			return true
		}
		if f.beat == nil {
			return false
		}
		l, d := f.links[id], 0
		if l.A.Node == n {
			d = 1
		}
		return f.beat.Late(f.opts.Transport.Shard(l.dirs[d]), interval/2, interval)
	}
}

// late reports whether a node that runs in this process is late with its hellos, or was within that time.
func (f *Fabric) late(e weft.End, slack, within time.Duration) bool {
	if e.Node.IsSwitch() {
		return f.switches[e.Node.Index].Late(e.Port, slack, within)
	}
	return f.nics[e.Node.Index].Late(e.Port, slack, within)
}
