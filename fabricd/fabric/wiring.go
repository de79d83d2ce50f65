package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/switchd"
)

// wiring collects the wires of all nodes while the links are opened.
type wiring struct {
	switches, nics [][]switchd.Wire
}

func newWiring(g *topology.Graph) *wiring {
	w := &wiring{switches: make([][]switchd.Wire, len(g.Switches)), nics: make([][]switchd.Wire, len(g.NICs))}
	for i, s := range g.Switches {
		w.switches[i] = make([]switchd.Wire, s.Ports)
	}
	for i := range w.nics {
		w.nics[i] = make([]switchd.Wire, 1)
	}
	return w
}

func (w *wiring) of(n weft.Node) []switchd.Wire {
	if n.IsSwitch() {
		return w.switches[n.Index]
	}
	return w.nics[n.Index]
}

// directionsOf are the directions of a link, A to B and B to A, as a transport has them.
func directionsOf(g *topology.Graph, l topology.Link) [2]bus.Direction {
	there := bus.Direction{From: g.Name(l.A.Node), FromPort: l.A.Port, To: g.Name(l.B.Node), ToPort: l.B.Port}
	return [2]bus.Direction{there, there.Reverse()}
}

// wire opens both directions of a link and wires its ends.
func (w *live) wire(l topology.Link, b Blueprint) error {
	dirs := w.links[l.ID]
	for i, end := range []weft.End{l.A, l.B} {
		if b.Elsewhere(end.Node) {
			continue
		}
		inbox := make(chan bus.Message, b.Inbox)
		if err := w.transport.Listen(dirs[1-i], inbox); err != nil {
			return err
		}
		out, err := w.transport.Sender(dirs[i])
		if err != nil {
			return err
		}
		w.wires.of(end.Node)[end.Port] = switchd.Wire{Out: out, Inbox: inbox, Pace: b.Pace}
	}
	return nil
}

// inboxSize bounds the frames that can be on their way to one port: each with packets has taken a credit, each without
// gives one that the port cannot have used yet, twice over for an epoch that has just ended, and some for handshakes.
func (f *Fabric) inboxSize() int {
	credits := f.opts.Switch.VCs * f.opts.Switch.InputBuffer
	return 2*(credits+credits) + 32
}
