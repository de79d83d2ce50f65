package fabric

import (
	"time"

	"github.com/weft-fabric/weft"
)

// A neighbour must not count as dead because we ourselves did not let it speak: a machine with other things to do may hold
// up the goroutine that carries the frames of all links, or the one that steps the neighbour, for hundreds of milliseconds,
// while the one that looks at the clock runs on time. Silence counts only while neither is so.

// maxExcuse bounds for how long: a broker that has stopped is a silence of its own.
const maxExcuse = time.Second

// excuse returns what tells the driver at e whether what comes to a port is held up by ourselves now.
func (f *Fabric) excuse(n weft.Node) func(p weft.PortID) bool {
	slack := f.opts.Link.Liveness.Interval.Duration() / 2
	return func(p weft.PortID) bool {
		peer, id, ok := f.graph.Peer(weft.End{Node: n, Port: p})
		if !ok {
			return false
		}
		lag := f.lag(peer)
		if f.beat != nil {
			l := f.links[id]
			d := 0
			if l.A.Node == n {
				d = 1
			}
			lag = max(lag, f.beat.Lag(f.opts.Transport.Shard(l.dirs[d])))
		}
		return lag > slack && lag < maxExcuse
	}
}

// lag is by how much a node that runs in this process is late with its hellos.
func (f *Fabric) lag(e weft.End) time.Duration {
	if e.Node.IsSwitch() {
		return f.switches[e.Node.Index].Lag(e.Port)
	}
	return f.nics[e.Node.Index].Lag(e.Port)
}
