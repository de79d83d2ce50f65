package virtual

import "github.com/weft-fabric/weft"

// Preloader is a core that can read what an event at a port needs, and change nothing. What it
// returns means nothing: it is there so that the compiler does not leave out the reading.
type Preloader interface {
	Preload(p weft.PortID) uint64
}

const (
	// preloadFrom is how many nodes a worker has when they are more than a processor's cache holds. To
	// preload took a tenth longer with 1,000 nodes, and a fifth less time with the 8,000 of a torus.
	preloadFrom = 3000
	// groupNodes is for how many nodes it preloads together: the processor reads for many events at a
	// time then, where it would wait for the memory in each of them.
	groupNodes = 16
)

// runGroup lets the nodes of the group do all that they have to do before end.
func (w *worker) runGroup(end weft.Time) {
	for _, n := range w.group {
		w.preloaded += n.preload(end)
	}
	for _, n := range w.group {
		w.runNode(n, end)
	}
	w.group = w.group[:0]
}

// preload reads what the node needs for what it has to do before end.
func (n *Node) preload(end weft.Time) (x uint64) {
	ports := len(n.ports)
	for of, at := range n.times {
		if at >= end {
			continue
		}
		p := weft.PortID(0)
		switch {
		case of < ports:
			p = weft.PortID(of)
			if f := n.lines[p].First(); f != nil {
				x += f.Sent[0] + f.Limit[0]
				if len(f.Packets) > 0 {
					x += f.Packets[0].Misroute + uint64(f.Packets[0].Size)
				}
			}
		case of > ports:
			p = weft.PortID(of - ports - 1)
			x += uint64(n.ports[p].pacer.Free())
		}
		if n.preloads != nil {
			x += n.preloads.Preload(p)
		}
	}
	return x
}
