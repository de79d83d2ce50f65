package virtual

import (
	"math/bits"

	"github.com/weft-fabric/weft"
)

// Preloader is a core that can read what an event at a port needs, and change nothing. It does so
// in two steps: what it finds by the port's number, then what that leads to. What they return means
// nothing: it is there so that the compiler does not leave out the reading.
type Preloader interface {
	Preload(p weft.PortID) uint64
	PreloadNext(p weft.PortID) uint64
}

const (
	// preloadFrom is how many nodes a worker has when they are more than a processor's cache holds. To
	// preload took a tenth longer with 1,000 nodes, and a fifth less time with the 8,000 of a torus.
	preloadFrom = 3000
	// groupNodes is how many nodes it reads together, groupEvents for how many events it then reads
	// ports, frames and cores, and groupFrames for how many frames that are put on wires: the processor
	// reads for many of them at a time then, where it would wait for the memory at each. What they need
	// fits its second cache.
	groupNodes  = 64
	groupEvents = 128
	groupFrames = 64
)

// coming is an event that will happen soon, at a port.
type coming struct {
	*Node
	event
}

// port is that at which it happens; a look at the time is at port 0.
func (c *coming) port() weft.PortID {
	switch p, ports := int(c.of), len(c.ports); {
	case p < ports:
		return weft.PortID(p)
	case p > ports:
		return weft.PortID(p - ports - 1)
	}
	return 0
}

// arrival is the frame that comes; nil: none does.
func (c *coming) arrival() *packed {
	if int(c.of) >= len(c.ports) {
		return nil
	}
	return c.ports[c.of].line.First()
}

// preloadWires reads the ends of the wires that frames are put on.
func (w *worker) preloadWires(sent []sending) {
	x := uint64(0)
	for i := range sent {
		x += uint64(len(sent[i].to.ports))
	}
	for i := range sent {
		x += uint64(sent[i].to.ports[sent[i].port].arrives)
	}
	w.preloaded += x
}

// runGroup lets the nodes of the group do all that they have to do before end. It reads the nodes,
// and runs as many of them at a time as have groupEvents to do.
func (w *worker) runGroup(end weft.Time) {
	x := uint64(0)
	for _, n := range w.group {
		x += uint64(n.looks) + n.stats.FramesIn
	}
	w.preloaded += x
	for rest := w.group; len(rest) > 0; {
		nodes := 0
		for events := 0; nodes < len(rest) && events < groupEvents; nodes++ {
			events += rest[nodes].events()
		}
		w.runSome(rest[:nodes], end)
		rest = rest[nodes:]
	}
	w.group = w.group[:0]
}

// runSome lets nodes do all that they have to do before end. First it reads what they need for that:
// step by step for all of them, so that the processor need not wait for one to go on with the next.
func (w *worker) runSome(nodes []*Node, end weft.Time) {
	x := uint64(0)
	for _, n := range nodes {
		for i := range (len(n.ports) + 63) / 64 {
			for word := n.pending[i].arrivals | n.pending[i].sends; word != 0; word &= word - 1 {
				x += uint64(n.ports[i<<6+bits.TrailingZeros64(word)].arrives)
			}
		}
	}
	for _, n := range nodes {
		if !n.halted {
			n.all(end, func(of int, at weft.Time) { w.coming = append(w.coming, coming{n, n.event(of, at)}) })
		}
	}
	for i := range w.coming {
		c := &w.coming[i]
		if f := c.arrival(); f != nil {
			x += uint64(f.from)
		} else {
			x += uint64(c.ports[c.port()].routing)
		}
		x += c.core.Preload(c.port())
	}
	for i := range w.coming {
		c := &w.coming[i]
		if f := c.arrival(); f != nil && f.packets > 0 {
			x += f.room[0].Misroute + uint64(f.room[0].VC)
		}
		x += c.core.PreloadNext(c.port())
	}
	w.preloaded += x
	for i := 0; i < len(w.coming); {
		n := w.coming[i].Node
		for ; i < len(w.coming) && w.coming[i].Node == n; i++ {
			w.insert(w.coming[i].event)
		}
		w.carryOut(n, end)
	}
	w.coming = w.coming[:0]
}
