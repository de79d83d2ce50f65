package fabric

import (
	"time"

	"github.com/weft-fabric/weft"
)

// A neighbour must not count as dead because we ourselves did not let it speak: a machine with other things to do may hold
// up the goroutine that carries the frames of all links, or the one that steps the neighbour, for hundreds of milliseconds,
// while the one that looks at the clock runs on time. Silence counts only while neither is so.

// excuse returns what tells the driver of n whether what comes to a port is held up by ourselves, or was until just now.
func (w *live) excuse(n weft.Node, interval time.Duration) func(p weft.PortID) bool {
	return func(p weft.PortID) bool {
		peer, id, ok := w.graph.Peer(weft.End{Node: n, Port: p})
		if !ok {
			return false
		}
		if w.late(peer, interval/2, interval) {
			return true
		}
		if w.beat == nil {
			return false
		}
		from, to := w.transport.Shard(w.links[id][0].From), w.transport.Shard(w.links[id][0].To)
		return w.beat.Late(from, interval/2, interval) || to != from && w.beat.Late(to, interval/2, interval)
	}
}

// late reports whether a node that runs in this process is late with its hellos, or was within that time.
func (w *live) late(e weft.End, slack, within time.Duration) bool {
	d := w.nics
	if e.Node.IsSwitch() {
		d = w.switches
	}
	return d[e.Node.Index] != nil && d[e.Node.Index].Late(e.Port, slack, within)
}
