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
	n.times[n.clock()] = n.worker.now
	for of, at := range n.times {
		if at < weft.Never {
			n.worker.schedule(n, of, max(at, n.worker.now))
		}
	}
}
