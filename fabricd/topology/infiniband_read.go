package topology

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

// loadIBNet makes the graph of a topology file of InfiniBand.
func loadIBNet(name string, data []byte) (*Graph, error) {
	f, err := parseIBNet(name, data)
	if err != nil {
		return nil, err
	}
	warnings, err := leaveOut(name, f)
	if err != nil {
		return nil, err
	}
	r := ibReader{
		name: name, fabric: f, names: ibNames(f), at: make([]weft.Node, len(f.Nodes)),
		nics: map[ibEnd]weft.Node{},
	}
	g, err := r.graph()
	if err == nil && f.Spec != "" {
		g, err = r.placed(g)
	}
	if err != nil {
		return nil, err
	}
	g.Warnings = append(f.Warnings, warnings...)
	return g, nil
}

// leaveOut takes the links away that a graph does not have: those from a node to itself, which are
// loopback cables, and those between two adapters. It says which.
func leaveOut(name string, f *ibFabric) (warnings []string, err error) {
	hasSwitch := slices.ContainsFunc(f.Nodes, func(n ibNode) bool { return n.Kind == ibSwitch })
	for i := range f.Nodes {
		b := &f.Nodes[i]
		kept := b.Connected[:0:0]
		for _, p := range b.Connected {
			peer := &f.Nodes[p.Peer]
			line := cmp.Or(p.Line, peer.Line)
			switch {
			case p.Peer == i:
				if p.Number <= p.PeerPort {
					warnings = append(warnings,
						fmt.Sprintf("%s:%d: left out the cable from port %d to port %d of %q: both of its ends are there",
							name, line, p.Number, p.PeerPort, nearest.Clip(b.Name)))
				}
			case b.Kind == ibAdapter && peer.Kind == ibAdapter && !hasSwitch:
				return nil, document.LineError(name, line, "",
					fmt.Errorf("adapter %q is linked to adapter %q, and there is no switch: expected a fabric with one",
						nearest.Clip(b.Name), nearest.Clip(peer.Name)))
			case b.Kind == ibAdapter && peer.Kind == ibAdapter:
				if i < p.Peer {
					warnings = append(warnings,
						fmt.Sprintf("%s:%d: left out the link from adapter %q to adapter %q: no switch is between them",
							name, line, nearest.Clip(b.Name), nearest.Clip(peer.Name)))
				}
			default:
				kept = append(kept, p)
			}
		}
		b.Connected = kept
	}
	return warnings, nil
}

// ibReader turns the blocks of a file into the parts of a graph.
type ibReader struct {
	name   string
	fabric *ibFabric
	names  map[ibEnd]string
	at     []weft.Node // the switch that a block is
	nics   map[ibEnd]weft.Node
	errs   document.Errors

	identities map[weft.Node]Identity
	lines      map[weft.Node]int
}

// ibEnd is a port of a block; port 0 of a switch is the switch.
type ibEnd struct{ node, port int }

func (r *ibReader) fail(line int, format string, args ...any) {
	r.errs.Add(document.LineError(r.name, line, "", fmt.Errorf(format, args...)))
}

func (r *ibReader) graph() (*Graph, error) {
	var switches []Switch
	var nics []NIC
	var links []Link
	r.identities, r.lines = make(map[weft.Node]Identity, len(r.fabric.Nodes)), make(map[weft.Node]int, len(r.fabric.Nodes))
	know := func(n weft.Node, id Identity, line int) {
		r.lines[n] = line
		if id.GUID == 0 || id.PortGUID == 0 {
			return // then it gets one of ours
		}
		r.identities[n] = id
	}
	for i, b := range r.fabric.Nodes {
		if b.Kind == ibSwitch {
			r.at[i] = weft.SwitchID(len(switches)).Node()
			know(r.at[i], Identity{
				Maker: b.Maker, GUID: b.GUID, PortGUID: b.PortGUID, Enhanced: b.Enhanced, LID: b.LID, LMC: b.LMC,
				Description: b.Description,
			}, b.Line)
			switches = append(switches, Switch{Name: r.names[ibEnd{i, 0}], Ports: b.Ports})
			continue
		}
		for _, p := range b.Connected {
			n := weft.NICID(len(nics)).Node()
			r.nics[ibEnd{i, p.Number}] = n
			know(n, Identity{
				Maker: b.Maker, GUID: b.GUID, PortGUID: p.GUID, Port: p.Number, Ports: b.Ports, LID: p.LID, LMC: p.LMC,
				Description: b.Description,
			}, b.Line)
			nics = append(nics, NIC{Name: r.names[ibEnd{i, p.Number}]})
		}
	}
	var ofNICs []Link
	for i, b := range r.fabric.Nodes {
		for _, p := range b.Connected {
			peer := r.fabric.Nodes[p.Peer]
			switch {
			case b.Kind == ibAdapter:
				ofNICs = append(ofNICs, Link{A: r.end(p.Peer, p.PeerPort), B: r.end(i, p.Number)})
			case peer.Kind == ibSwitch && i < p.Peer:
				links = append(links, Link{A: r.end(i, p.Number), B: r.end(p.Peer, p.PeerPort)})
			}
		}
	}
	links = append(links, ofNICs...)
	if err := r.errs.Err(); err != nil {
		return nil, err
	}
	g, err := assemble(r.name, switches, nics, links)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	g.identities = r.identities
	report := func(p problem) {
		r.fail(r.line(g, p), "%s%w", g.label(p), p.err)
	}
	if g.check(report); r.errs.Len() == 0 {
		g.checkConnected(report)
	}
	if err := r.errs.Err(); err != nil {
		return nil, err
	}
	return g, nil
}

// line is where the file has the part that a problem is about.
func (r *ibReader) line(g *Graph, p problem) int {
	switch p.part {
	case aSwitch:
		return r.lines[weft.SwitchID(p.index).Node()]
	case aNIC:
		return r.lines[weft.NICID(p.index).Node()]
	case aLink:
		return r.lines[g.Links[p.index].A.Node]
	}
	return 1
}

func (r *ibReader) end(node, port int) weft.End {
	if r.fabric.Nodes[node].Kind == ibAdapter {
		return weft.End{Node: r.nics[ibEnd{node, port}]}
	}
	return weft.End{Node: r.at[node], Port: weft.PortID(port - 1)}
}

// placed turns a file of ours that says what generated it into that, less the links that are not
// there.
func (r *ibReader) placed(g *Graph) (*Graph, error) {
	base, err := Generate(r.fabric.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	differs := func(line int, what string) (*Graph, error) {
		return nil, document.LineError(r.name, line, "",
			fmt.Errorf("%s, unlike %s: correct it, or take the line \"# weft:\" away to read the file as it is",
				what, r.fabric.Spec))
	}
	if len(g.Switches) != len(base.Switches) || len(g.NICs) != len(base.NICs) {
		return differs(1, fmt.Sprintf("%d switches and %d NICs", len(g.Switches), len(g.NICs)))
	}
	for i, s := range g.Switches {
		if b := base.Switches[i]; s.Name != b.Name || s.Ports != max(b.Ports, 1) {
			return differs(r.lines[s.ID.Node()], fmt.Sprintf("switch %s with %d ports", s.Name, s.Ports))
		}
	}
	for i, n := range g.NICs {
		if n.Name != base.NICs[i].Name {
			return differs(r.lines[n.ID.Node()], "NIC "+n.Name)
		}
	}
	gone := slices.Repeat([]bool{true}, len(base.Links))
	for _, l := range g.Links {
		end, id, ok := base.Peer(l.A)
		if !ok || end != l.B {
			return differs(r.lines[l.A.Node], "link "+g.linkName(l.A, l.B, true))
		}
		gone[id] = false
	}
	base.Spec, base.identities = g.Spec, g.identities
	base.remove(gone)
	return base, nil
}
