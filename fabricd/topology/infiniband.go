package topology

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/topology/ibnet"
)

// Identity is what InfiniBand calls a switch or a NIC. A NIC is a connected port of a channel adapter.
type Identity struct {
	GUID        ibnet.GUID // of the switch or adapter
	PortGUID    ibnet.GUID // of port 0 of the switch, or of the port
	Port        int        // of the adapter, from 1; 0 for a switch
	Ports       int        // how many the adapter has
	Enhanced    bool       // the switch has an enhanced port 0
	LID, LMC    int        // LID 0: none is known
	Description string
}

// The first GUIDs that nodes get when no file gives them one. They are as far apart as there are NICs, four GUIDs each.
const (
	firstAdapter ibnet.GUID = 0x100000
	firstSwitch  ibnet.GUID = 0x200000
	perAdapter              = 4
)

// Identity is what InfiniBand calls a node: as the topology file says, or else GUIDs by number, no LID, and the name as
// description. Port p of a switch is port p+1 there.
func (g *Graph) Identity(n weft.Node) Identity {
	if id, ok := g.identities[n]; ok {
		return id
	}
	if n.IsSwitch() {
		guid := firstSwitch + ibnet.GUID(n.Index)
		return Identity{GUID: guid, PortGUID: guid, Enhanced: true, Description: g.Name(n)}
	}
	guid := firstAdapter + perAdapter*ibnet.GUID(n.Index)
	return Identity{GUID: guid, PortGUID: guid + 1, Port: 1, Ports: 1, Description: g.Name(n)}
}

// WriteIBNet writes the graph as a file of package ibnet. [Load] of it gives the same graph; if it is neither generated nor was
// read from such a file, its links may be numbered in another order. Switches of more than [ibnet.MaxPorts] ports are refused.
func (g *Graph) WriteIBNet(w io.Writer) error {
	f, err := g.ibFabric()
	if err != nil {
		return err
	}
	return f.Write(w)
}

func (g *Graph) ibFabric() (*ibnet.Fabric, error) {
	f := &ibnet.Fabric{Spec: g.generated}
	at := make(map[weft.Node]int, len(g.Switches)+len(g.NICs)) // NICs of one adapter share a block
	for _, s := range g.Switches {
		id := g.Identity(s.ID.Node())
		if s.Ports > ibnet.MaxPorts {
			return nil, fmt.Errorf("switch %s has %d ports, and one of InfiniBand at most %d: write another format", s.Name, s.Ports, ibnet.MaxPorts)
		}
		at[s.ID.Node()] = len(f.Nodes)
		f.Nodes = append(f.Nodes, ibnet.Node{
			Kind: ibnet.Switch, Name: fmt.Sprintf("S-%016x", uint64(id.GUID)), GUID: id.GUID, PortGUID: id.PortGUID,
			Description: id.Description, Ports: max(s.Ports, 1), Enhanced: id.Enhanced, LID: id.LID, LMC: id.LMC,
		})
	}
	adapters := make(map[ibnet.GUID]int)
	for _, n := range g.NICs {
		id := g.Identity(n.ID.Node())
		i, ok := adapters[id.GUID]
		if !ok {
			i = len(f.Nodes)
			adapters[id.GUID] = i
			f.Nodes = append(f.Nodes, ibnet.Node{
				Kind: ibnet.CA, Name: fmt.Sprintf("H-%016x", uint64(id.GUID)), GUID: id.GUID, Description: id.Description, Ports: id.Ports,
			})
		}
		at[n.ID.Node()] = i
	}
	for _, s := range g.Switches {
		for p, to := range g.ports(s.ID) {
			if to.end.Node.Kind == 0 {
				continue
			}
			far := g.ibPort(to.end)
			f.Nodes[at[s.ID.Node()]].Connected = append(f.Nodes[at[s.ID.Node()]].Connected, ibnet.Port{
				Number: p + 1, Peer: at[to.end.Node], PeerPort: far,
			})
		}
	}
	for _, n := range g.NICs {
		id := g.Identity(n.ID.Node())
		s, p := g.SwitchOf(n.ID)
		block := &f.Nodes[at[n.ID.Node()]]
		block.Connected = append(block.Connected, ibnet.Port{
			Number: id.Port, GUID: id.PortGUID, LID: id.LID, LMC: id.LMC, Peer: at[s.Node()], PeerPort: int(p) + 1,
		})
	}
	return f, nil
}

// ibPort is the number that a port has in InfiniBand.
func (g *Graph) ibPort(e weft.End) int {
	if e.Node.IsSwitch() {
		return int(e.Port) + 1
	}
	return g.Identity(e.Node).Port
}

// loadIBNet makes the graph of a file of package ibnet.
func loadIBNet(name string, data []byte) (*Graph, error) {
	f, err := ibnet.Parse(name, data)
	if err != nil {
		return nil, err
	}
	r := ibReader{name: name, fabric: f, names: ibNames(f), at: make([]weft.Node, len(f.Nodes)), nics: map[ibEnd]weft.Node{}}
	g, err := r.graph()
	if err != nil || f.Spec == "" {
		return g, err
	}
	return r.placed(g)
}

// ibReader turns the blocks of a file into the parts of a graph.
type ibReader struct {
	name   string
	fabric *ibnet.Fabric
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
		if b.Kind == ibnet.Switch {
			r.at[i] = weft.SwitchID(len(switches)).Node()
			know(r.at[i], Identity{
				GUID: b.GUID, PortGUID: b.PortGUID, Enhanced: b.Enhanced, LID: b.LID, LMC: b.LMC, Description: b.Description,
			}, b.Line)
			switches = append(switches, Switch{Name: r.names[ibEnd{i, 0}], Ports: b.Ports})
			continue
		}
		for _, p := range b.Connected {
			n := weft.NICID(len(nics)).Node()
			r.nics[ibEnd{i, p.Number}] = n
			know(n, Identity{
				GUID: b.GUID, PortGUID: p.GUID, Port: p.Number, Ports: b.Ports, LID: p.LID, LMC: p.LMC, Description: b.Description,
			}, b.Line)
			nics = append(nics, NIC{Name: r.names[ibEnd{i, p.Number}]})
		}
	}
	var ofNICs []Link
	for i, b := range r.fabric.Nodes {
		for _, p := range b.Connected {
			peer := r.fabric.Nodes[p.Peer]
			switch {
			case b.Kind == ibnet.CA && peer.Kind == ibnet.CA:
				if i < p.Peer {
					r.fail(p.Line, "adapter %q is linked to adapter %q, expected a switch at one end", clip(b.Name), clip(peer.Name))
				}
			case b.Kind == ibnet.CA:
				ofNICs = append(ofNICs, Link{A: r.end(p.Peer, p.PeerPort), B: r.end(i, p.Number)})
			case peer.Kind == ibnet.Switch && i < p.Peer:
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
	if r.fabric.Nodes[node].Kind == ibnet.CA {
		return weft.End{Node: r.nics[ibEnd{node, port}]}
	}
	return weft.End{Node: r.at[node], Port: weft.PortID(port - 1)}
}

// placed turns a file of ours that says what generated it into that, less the links that are not there.
func (r *ibReader) placed(g *Graph) (*Graph, error) {
	base, err := Generate(r.fabric.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	differs := func(line int, what string) (*Graph, error) {
		return nil, document.LineError(r.name, line, "", fmt.Errorf("%s, unlike %s: correct it, or take the line \"# weft:\" away to read the file as it is",
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
	gone := make([]bool, len(base.Links))
	for i := range gone {
		gone[i] = true
	}
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

// ibNames finds a usable name for each switch, port 0 of its block, and each connected port of an adapter: the first of its
// candidates that is nobody else's.
func ibNames(f *ibnet.Fabric) map[ibEnd]string {
	candidates := make(map[ibEnd][]string)
	var order []ibEnd
	add := func(e ibEnd, names ...string) {
		order = append(order, e)
		for _, name := range names {
			if checkName(name) == nil {
				candidates[e] = append(candidates[e], name)
			}
		}
	}
	for i, b := range f.Nodes {
		desc := ibName(b.Description)
		if b.Kind == ibnet.Switch {
			add(ibEnd{i, 0}, desc, ibName(b.Name), fmt.Sprintf("switch-%d", i))
			continue
		}
		host, _, _ := strings.Cut(b.Description, " ") // "host0 HCA-1": the device is of interest when there are two
		for _, p := range b.Connected {
			if len(b.Connected) == 1 {
				add(ibEnd{i, p.Number}, ibName(host), desc, ibName(b.Name), fmt.Sprintf("nic-%d", i))
				continue
			}
			at := fmt.Sprintf("-p%d", p.Number)
			add(ibEnd{i, p.Number}, ibName(host)+at, desc+at, ibName(b.Name)+at, fmt.Sprintf("nic-%d-p%d", i, p.Number))
		}
	}
	count := make(map[string]int)
	for _, e := range order {
		seen := make(map[string]bool)
		for _, name := range candidates[e] {
			if !seen[name] {
				seen[name] = true
				count[name]++
			}
		}
	}
	names := make(map[ibEnd]string, len(order))
	for _, e := range order {
		for _, name := range candidates[e] {
			if names[e] = name; count[name] == 1 {
				break
			}
		}
	}
	return names
}

// ibName makes a name of a description: what names may not hold becomes '-', and nothing stands around it.
func ibName(description string) string {
	if checkName(description) == nil {
		return description
	}
	var b strings.Builder
	for _, r := range description {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-._")
}
