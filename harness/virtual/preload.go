package virtual

import "github.com/weft-fabric/weft"

// Preloader is a core that can read what an event at a port needs, and change nothing. It does so in
// two steps: what it finds by the port's number, then what that leads to. What they return means
// nothing: it is there so that the compiler does not leave out the reading.
type Preloader interface {
	Preload(p weft.PortID) uint64
	PreloadNext(p weft.PortID) uint64
}

const (
	// preloadFrom is how many nodes a worker has when they are more than a processor's cache holds. To
	// preload took a tenth longer with 1,000 nodes, and a fifth less time with the 8,000 of a torus.
	preloadFrom = 3000
	// groupEvents is for how many events it preloads together: the processor reads for many of them at
	// a time then, where it would wait for the memory in each. What they need fits its second cache.
	groupEvents = 64
)

// coming is an event that will happen soon.
type coming struct {
	*Node
	port    weft.PortID
	arrives bool // a frame does
}

// preloadWires reads the ends of the wires that frames are put on.
func (w *worker) preloadWires(sent []sending) {
	x := uint64(0)
	for i := range sent {
		x += uint64(len(sent[i].to.lines)) + uint64(len(sent[i].to.times))
	}
	for i := range sent {
		s := &sent[i]
		x += uint64(s.to.times[s.port])
		if !s.to.lines[s.port].Empty() {
			x++
		}
	}
	w.preloaded += x
}

// look adds what the node has to do before end to what comes.
func (w *worker) look(n *Node, end weft.Time) {
	ports := len(n.ports)
	for of, at := range n.times {
		if at < end {
			c := coming{Node: n, port: weft.PortID(of), arrives: of < ports}
			if of >= ports {
				c.port = weft.PortID(max(0, of-ports-1))
			}
			w.coming = append(w.coming, c)
		}
	}
}

// runGroup lets the nodes of the group do all that they have to do before end. First it reads what
// they need for that: step by step for all of them, so that the processor need not wait for one to
// go on with the next.
func (w *worker) runGroup(end weft.Time) {
	x := uint64(0)
	for _, c := range w.coming {
		k := &c.ports[c.port]
		x += uint64(k.pacer.Free()) + uint64(k.pace.Delay)
		if f := c.lines[c.port].First(); f != nil && c.arrives {
			x += f.Sent[0] + f.Limit[0] + uint64(f.From)
		}
	}
	for _, c := range w.coming {
		if c.preloads != nil {
			x += c.preloads.Preload(c.port)
		}
	}
	for _, c := range w.coming {
		if f := c.lines[c.port].First(); c.arrives && f != nil && len(f.Packets) > 0 {
			x += f.Packets[0].Misroute + uint64(f.Packets[0].Size)
		}
		if c.preloads != nil {
			x += c.preloads.PreloadNext(c.port)
		}
	}
	w.preloaded += x
	for _, n := range w.group {
		w.runNode(n, end)
	}
	w.group, w.coming = w.group[:0], w.coming[:0]
}
