package virtual

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// Attach has packets with payloads go to c; nil: to nobody. Payloads stay in the buffer that they
// were written to, all the way.
func (n *Node) Attach(c switchd.Carrier) { n.carrier = c }

// Payloads are the buffers with what packets of all nodes carry.
func (n *Node) Payloads() *wire.Payloads { return &n.worker.engine.payloads }

// carry gives payloads to whoever takes them.
func (n *Node) carry(out *weft.Actions) {
	switch {
	case n.carrier == nil:
		n.Payloads().FreeOf(out.Carried)
		return
	case len(out.Carried) > 0:
		n.carrier.Carried(out.Carried)
	}
	if out.Room {
		n.carrier.Room()
	}
}

// freeCarried frees what the packets of a frame carry that nobody has taken.
func (n *Node) freeCarried(p *packed) {
	if p.carrying > 0 {
		var f weft.Frame
		p.unpack(&f)
		n.Payloads().FreeOf(f.Packets)
	}
}
