package topology

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
)

const maxName = 64 // characters of a node's name; chosen by us

// checkName says what is wrong with the name of a node. Names stand in commands, file names and
// NATS subjects.
func checkName(name string) error {
	if name == "" {
		return errors.New("empty name, expected one as s0 or leaf-1")
	}
	if len(name) > maxName {
		return fmt.Errorf("name of %d characters, expected at most %d", len(name), maxName)
	}
	for i, r := range []byte(name) {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._-", rune(r))) {
			return fmt.Errorf("name %q, expected a letter or digit and then letters, digits, '.', '_' and '-'", name)
		}
	}
	return nil
}

// Name is the name of a node, or its number when it is not in the graph.
func (g *Graph) Name(n weft.Node) string {
	switch {
	case n.Kind == weft.KindSwitch && int(n.Index) < len(g.Switches):
		return g.Switches[n.Index].Name
	case n.Kind == weft.KindNIC && int(n.Index) < len(g.NICs):
		return g.NICs[n.Index].Name
	}
	return n.String()
}

// linkName names a link by its ends, and by its ports when it is one of several between the same
// two.
func (g *Graph) linkName(a, b weft.End, parallel bool) string {
	if parallel {
		return fmt.Sprintf("%s:%d-%s:%d", g.Name(a.Node), a.Port, g.Name(b.Node), b.Port)
	}
	return g.Name(a.Node) + "-" + g.Name(b.Node)
}

// nameLinks orients, numbers and names all links.
func (g *Graph) nameLinks() {
	between := make(map[[2]weft.Node]int, len(g.Links))
	for i := range g.Links {
		l := &g.Links[i]
		l.ID = weft.LinkID(i)
		if inOrder(l.B, l.A) {
			l.A, l.B = l.B, l.A
		}
		between[[2]weft.Node{l.A.Node, l.B.Node}]++
	}
	for i := range g.Links {
		l := &g.Links[i]
		l.Name = g.linkName(l.A, l.B, between[[2]weft.Node{l.A.Node, l.B.Node}] > 1)
	}
}

// inOrder reports whether a link is named with a first.
func inOrder(a, b weft.End) bool {
	if a.Node.Kind != b.Node.Kind {
		return a.Node.IsSwitch()
	}
	return a.Node.Index < b.Node.Index
}

// indexNames fills byName.
func (g *Graph) indexNames() {
	g.byName = make(map[string]weft.Node, len(g.Switches)+len(g.NICs))
	for _, n := range g.NICs {
		g.byName[n.Name] = n.ID.Node()
	}
	for _, s := range g.Switches {
		g.byName[s.Name] = s.ID.Node()
	}
}

// SwitchByName finds a switch. The error for an unknown name has the nearest.
func (g *Graph) SwitchByName(name string) (weft.SwitchID, error) {
	n, ok := g.byName[name]
	if ok && n.IsSwitch() {
		return weft.SwitchID(n.Index), nil
	}
	if ok {
		return 0, fmt.Errorf("%s is a NIC, not a switch", name)
	}
	if l, err := g.LinkByName(name); err == nil {
		return 0, fmt.Errorf("%s is a link, not a switch: its ends are %s and %s", name, g.Name(l.A.Node), g.Name(l.B.Node))
	}
	return 0, document.Unknown("switch", name, g.switchNames())
}

// NICByName finds a NIC. The error for an unknown name has the nearest.
func (g *Graph) NICByName(name string) (weft.NICID, error) {
	if n, ok := g.byName[name]; ok && !n.IsSwitch() {
		return weft.NICID(n.Index), nil
	}
	return 0, document.Unknown("NIC", name, g.NICNames())
}

// NodeByName finds a switch or a NIC. The error for an unknown name has the nearest.
func (g *Graph) NodeByName(name string) (weft.Node, error) {
	if n, ok := g.byName[name]; ok {
		return n, nil
	}
	return weft.Node{}, document.Unknown("switch or NIC", name, append(g.switchNames(), g.NICNames()...))
}

// LinkByName finds a link by its name, from either end: s0.00-s1.10 or s1.10-s0.00. Any link may be
// named with its ports, s3:4-s7:2, and one of several between the same two must be. The error for
// an unknown name has the nearest.
func (g *Graph) LinkByName(name string) (Link, error) {
	// Names may hold a '-', so try them all.
	for i := range len(name) {
		if name[i] != '-' {
			continue
		}
		a, okA := g.endByName(name[:i])
		b, okB := g.endByName(name[i+1:])
		if !okA || !okB {
			continue
		}
		if found := g.between(a, b); len(found) > 0 {
			return g.single(a.Node, b.Node, found)
		}
	}
	if n, ok := g.byName[name]; ok {
		kind := "NIC"
		if n.IsSwitch() {
			kind = "switch"
		}
		return Link{}, fmt.Errorf("%s is a %s, not a link: name both ends of a link: %s", name, kind, g.neighbours(n))
	}
	names := make([]string, len(g.Links))
	for i, l := range g.Links {
		names[i] = l.Name
	}
	return Link{}, document.Unknown("link", name, names)
}

// LinkBetween finds the link between two nodes by their names, either of which may have a port,
// "s3:4". Errors: an unknown node, with the nearest; two nodes that are not linked; several links
// that fit, listed.
func (g *Graph) LinkBetween(a, b string) (Link, error) {
	var ends [2]weft.End
	for i, name := range []string{a, b} {
		e, ok := g.endByName(name)
		if !ok {
			node, _, _ := strings.Cut(name, ":")
			if _, err := g.NodeByName(node); err != nil {
				return Link{}, err
			}
			return Link{}, fmt.Errorf("port of %q: expected a number from 0 to %d, as in %s:0", name, weft.MaxPorts-1, node)
		}
		ends[i] = e
	}
	found := g.between(ends[0], ends[1])
	if len(found) == 0 {
		return Link{}, fmt.Errorf("%s and %s are not linked: %s", a, b, g.neighbours(ends[0].Node))
	}
	return g.single(ends[0].Node, ends[1].Node, found)
}

// endByName reads "s3" or "s3:4". Without a port, Port is NoPort.
func (g *Graph) endByName(name string) (weft.End, bool) {
	node, port, hasPort := strings.Cut(name, ":")
	n, ok := g.byName[node]
	if !ok {
		return weft.End{}, false
	}
	e := weft.End{Node: n, Port: weft.NoPort}
	if hasPort {
		p, err := strconv.ParseUint(port, 10, 16)
		if err != nil || p >= weft.MaxPorts {
			return weft.End{}, false
		}
		e.Port = weft.PortID(p)
	}
	return e, true
}

// between are the links that join a and b; an end without a port stands for all ports of its node.
func (g *Graph) between(a, b weft.End) []Link {
	var found []Link
	for p, at := range g.attached(a.Node) {
		if at.end.Node == b.Node && at.end.Node.Kind != 0 &&
			(a.Port == weft.NoPort || int(a.Port) == p) && (b.Port == weft.NoPort || b.Port == at.end.Port) {
			found = append(found, g.Links[at.link])
		}
	}
	return found
}

func (g *Graph) attached(n weft.Node) []peer {
	if n.IsSwitch() {
		return g.ports(weft.SwitchID(n.Index))
	}
	return g.nicPeers[n.Index : n.Index+1]
}

func (g *Graph) single(a, b weft.Node, found []Link) (Link, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, l := range found {
		names[i] = l.Name
	}
	return Link{}, fmt.Errorf("%d links between %s and %s: name one of them: %s",
		len(found), g.Name(a), g.Name(b), strings.Join(names, ", "))
}

// neighbours says whom a node is linked to.
func (g *Graph) neighbours(n weft.Node) string {
	const most = 8
	var names []string
	for _, at := range g.attached(n) {
		if at.end.Node.Kind != 0 {
			names = append(names, g.Name(at.end.Node))
		}
	}
	if len(names) > most {
		names = append(names[:most:most], "...")
	}
	return g.Name(n) + " is linked to " + strings.Join(names, ", ")
}

func (g *Graph) switchNames() []string {
	names := make([]string, len(g.Switches))
	for i, s := range g.Switches {
		names[i] = s.Name
	}
	return names
}

// NICNames are the names of all NICs, by number.
func (g *Graph) NICNames() []string {
	names := make([]string, len(g.NICs))
	for i, n := range g.NICs {
		names[i] = n.Name
	}
	return names
}
