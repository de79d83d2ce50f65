package virtual

import "github.com/weft-fabric/weft"

// Halt stops the node, as SIGSTOP does a process: its core sends nothing, hears nothing and does
// not look at the time. What comes to it waits. It hears of its links' signal all the same.
func (n *Node) Halt() { n.halted = true }

// Continue lets the node go on. It first takes what has come meanwhile, port by port, each in the
// order in which it came.
func (n *Node) Continue() {
	n.enter()
	n.halted = false
	now := n.worker.now
	n.lookAt(now)
	for p := range weft.PortID(len(n.ports)) {
		if k := &n.ports[p]; k.arrives < weft.Never {
			n.arriveAt(p, max(k.arrives, now))
		}
		if k := &n.ports[p]; k.sends < weft.Never {
			n.sendAt(p, max(k.sends, now))
		}
	}
}
