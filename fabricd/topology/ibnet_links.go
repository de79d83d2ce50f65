package topology

import (
	"errors"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

// finish joins the links when all lines are read.
func (p *ibParser) finish() {
	if p.head.line != 0 {
		p.fail(p.head.line, "%w", errors.New("the file ends in a block without Switch, Ca or Rt: it is cut short"))
	}
	if p.errs.Len() > 0 {
		return // links would only repeat it
	}
	if len(p.fabric.Nodes) == 0 {
		if p.skipped.line > 0 {
			p.fail(p.skipped.line, "%w", unknownLine(p.skipped.text))
			return
		}
		p.fail(1, "%w", errors.New("no Switch and no Ca, expected a topology as ibnetdiscover prints it"))
		return
	}
	p.resolve()
	if p.errs.Len() == 0 {
		p.agree()
	}
}

// resolve finds the blocks that the ports lead to.
func (p *ibParser) resolve() {
	nodes := p.fabric.Nodes
	for i := range nodes {
		nodes[i].Connected = slices.DeleteFunc(nodes[i].Connected, func(port ibPort) bool {
			name := p.names[[2]int{i, port.Number}].name
			if strings.HasPrefix(name, "?-") { // neither switch, adapter nor router: ibnetdiscover prints no block
				p.warn(port.Line, "left out the link from port %d of %q to %q: ibnetdiscover does not know what that is",
					port.Number, nearest.Clip(nodes[i].Name), nearest.Clip(name))
				return true
			}
			return p.routers[name]
		})
		for j := range nodes[i].Connected {
			port := &nodes[i].Connected[j]
			name := p.names[[2]int{i, port.Number}].name
			peer, ok := p.byName[name]
			switch {
			case !ok:
				p.fail(port.Line, "port %d of %q leads to %q, which has no block: the file is cut short; or remove this line",
					port.Number, nearest.Clip(nodes[i].Name), nearest.Clip(name))
			case port.PeerPort > nodes[peer].Ports:
				p.fail(port.Line, "leads to port %d of %q, which has %d", port.PeerPort, nearest.Clip(name), nodes[peer].Ports)
			}
			port.Peer = peer
		}
	}
}

// agree holds the two ends of each link against each other. A file may list each link once; where
// others are listed at both ends, one that is not was lost.
func (p *ibParser) agree() {
	type end struct{ node, port int }
	at := make(map[end]*ibPort)
	for i := range p.fabric.Nodes {
		n := &p.fabric.Nodes[i]
		for j := range n.Connected {
			at[end{i, n.Connected[j].Number}] = &n.Connected[j]
		}
	}
	var both int
	var once []end // those whose other end lists nothing
	for i, n := range p.fabric.Nodes {
		for _, port := range n.Connected {
			back := at[end{port.Peer, port.PeerPort}]
			switch {
			case back == nil:
				once = append(once, end{i, port.Number})
			case back.Peer == i && back.PeerPort == port.Number:
				both++
				if g := p.names[[2]int{i, port.Number}].guid; g != 0 && back.GUID != 0 && g != back.GUID {
					p.fail(port.Line, "port %d of %q leads to port GUID %v, which by line %d is %v", port.Number, nearest.Clip(n.Name),
						g, back.Line, back.GUID)
				}
			default:
				p.fail(port.Line, "port %d of %q leads to port %d of %q, which by line %d leads to port %d of %q", port.Number,
					nearest.Clip(n.Name),
					port.PeerPort, nearest.Clip(p.fabric.Nodes[port.Peer].Name), back.Line, back.PeerPort,
					nearest.Clip(p.fabric.Nodes[back.Peer].Name))
			}
		}
	}
	taken := make(map[end]int, len(once))
	for _, e := range once {
		port := *at[e]
		peer := &p.fabric.Nodes[port.Peer]
		far := end{port.Peer, port.PeerPort}
		switch line, ok := taken[far]; {
		case both > 0:
			p.fail(port.Line, "port %d of %q leads to port %d of %q, whose block at line %d does not have it: the file is cut "+
				"short, or was edited at one end",
				e.port, nearest.Clip(p.fabric.Nodes[e.node].Name), port.PeerPort, nearest.Clip(peer.Name), peer.Line)
		case ok:
			p.fail(port.Line, "port %d of %q is taken by line %d already", port.PeerPort, nearest.Clip(peer.Name), line)
		default:
			taken[far] = port.Line
		}
	}
	if p.errs.Len() > 0 {
		return
	}
	for _, e := range once { // only now: at points into what grows here
		port := *p.fabric.Nodes[e.node].port(e.port)
		peer := &p.fabric.Nodes[port.Peer]
		back := ibPort{Number: port.PeerPort, Peer: e.node, PeerPort: e.port}
		if peer.Kind == ibAdapter {
			if back.GUID = p.names[[2]int{e.node, e.port}].guid; back.GUID == 0 && peer.GUID != 0 {
				back.GUID = peer.GUID + GUID(back.Number)
			}
		}
		peer.Connected = append(peer.Connected, back)
	}
}
