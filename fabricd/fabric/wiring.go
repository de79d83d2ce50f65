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

// wire opens both directions of a link and puts its ends into w.
func (f *Fabric) wire(l topology.Link, w *wiring) (*link, error) {
	a, b := f.graph.Name(l.A.Node), f.graph.Name(l.B.Node)
	k := &link{Link: l, dark: map[int]*record{}, dirs: [2]bus.Direction{
		{From: a, FromPort: l.A.Port, To: b, ToPort: l.B.Port},
		{From: b, FromPort: l.B.Port, To: a, ToPort: l.A.Port},
	}}
	for i, end := range []weft.End{l.A, l.B} {
		inbox := make(chan bus.Message, f.inboxSize())
		if err := f.opts.Transport.Listen(k.dirs[1-i], inbox); err != nil {
			return nil, err
		}
		out, err := f.opts.Transport.Sender(k.dirs[i])
		if err != nil {
			return nil, err
		}
		w.of(end.Node)[end.Port] = switchd.Wire{Out: out, Inbox: inbox, Pace: f.opts.Link.pace()}
	}
	return k, nil
}

// inboxSize bounds the frames that can be on their way to one port: each with packets has taken a credit, each without
// gives one that the port cannot have used yet, twice over for an epoch that has just ended, and some for handshakes.
func (f *Fabric) inboxSize() int {
	credits := f.opts.Switch.VCs * f.opts.Switch.InputBuffer
	return 2*(credits+credits) + 32
}
