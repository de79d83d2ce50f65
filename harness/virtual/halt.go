package virtual

import "github.com/weft-fabric/weft"

// Halt stops the node, as SIGSTOP does a process: its core sends nothing, hears nothing and does
// not look at the time. What comes to it waits. It hears of its links' signal all the same.
func (n *Node) Halt() { n.halted = true }

// Continue lets the node go on. It first takes what has come meanwhile, port by port, each in the
// order in which it came.
func (n *Node) Continue() {
	n.halted = false
	for _, from := range n.engine.nodes {
		for p := range from.ports {
			if k := &from.ports[p]; k.to == n && !k.line.Empty() {
				from.await(weft.PortID(p), laneOther)
			}
		}
	}
	n.engine.schedule(n.engine.now, evTick|n.index, laneOther)
	n.tickAt = n.engine.now
	for p := range n.ports {
		if k := &n.ports[p]; k.owed {
			k.owed = false
			n.mayTransmit(weft.PortID(p), n.engine.now)
		}
	}
}
