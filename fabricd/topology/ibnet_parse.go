package topology

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

// parseIBNet reads the file with that name and content. Errors have the line and are collected:
// lines that are not of the format, a name, GUID or port that is there twice, a port that the node
// does not have, a link that leads to no block, that the two ends do not agree about, or that only
// one of them lists where others are listed by both. Routers are left out, and
// lines before the first block that are not of the format, and diagnostics of the tools anywhere,
// are skipped: ibFabric.Warnings names all of these.
func parseIBNet(name string, data []byte) (*ibFabric, error) {
	if len(data) > document.MaxSize {
		return nil, fmt.Errorf("%s: %d bytes, expected at most %d: %w", name, len(data), document.MaxSize,
			document.ErrTooLarge)
	}
	p := &ibParser{
		name: name, fabric: &ibFabric{}, byName: map[string]int{}, names: map[[2]int]ibFar{},
		guids: map[GUID]ibOwner{}, routers: map[string]bool{},
	}
	rest := string(data)
	for rest != "" && !p.errs.Full() {
		p.text, rest, _ = strings.Cut(rest, "\n")
		p.text = strings.TrimRight(p.text, "\r")
		p.line++
		if err := p.read(); err != nil {
			p.fail(p.line, "%w", err)
		}
	}
	p.finish()
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	return p.fabric, nil
}

type ibParser struct {
	name    string
	fabric  *ibFabric
	errs    document.Errors
	line    int
	text    string
	skipped ibSkipped // the first line that was

	begun  bool // a block has begun: what stands before is not of the file
	broken bool // the block that is open has no node: its port lines are not looked at
	again  bool // the block that is open is there a second time
	at     int  // the node of the block that is open

	head    ibHead
	byName  map[string]int
	routers map[string]bool  // by name: those that are left out
	names   map[[2]int]ibFar // per node and port: where it leads, until all blocks are known
	guids   map[GUID]ibOwner
}

// ibSkipped is a line that is not of the format.
type ibSkipped struct {
	line int
	text string
}

// ibHead are the lines of a block before its node.
type ibHead struct {
	guid, port GUID
	maker      Maker
	line       int
}

// ibFar is the other end of a link as this end calls it; guid is 0 if it does not say.
type ibFar struct {
	name string
	guid GUID
}

// ibOwner is who has a GUID.
type ibOwner struct {
	what string
	node int
	line int
}

func (p *ibParser) fail(line int, format string, args ...any) {
	text := ""
	if line == p.line {
		text = p.text
	}
	p.errs.Add(document.LineError(p.name, line, text, fmt.Errorf(format, args...)))
}

// read takes one line.
func (p *ibParser) read() error {
	text := strings.TrimSpace(p.text)
	first, rest := cutSpace(text)
	switch {
	case text == "":
		p.broken = false
		return nil
	case strings.HasPrefix(text, "#"):
		if spec, ok := strings.CutPrefix(text, specMark); ok {
			p.fabric.Spec = strings.TrimSpace(spec)
		}
		return nil
	case isDiagnostic(text), !p.begun && !begins(text):
		p.skip(text)
		return nil
	}
	p.begun = true
	switch {
	case strings.HasPrefix(text, "["):
		if p.broken {
			return nil
		}
		return p.port(text)
	case first == "Switch":
		return p.node(ibSwitch, rest)
	case first == "Ca", first == "Hca":
		return p.node(ibAdapter, rest)
	case strings.HasPrefix(first, "rtguid="):
		return nil
	case first == "Rt":
		return p.router(rest)
	case first == "Chassis", first == "Hostname:", strings.HasPrefix(text, "Non-Chassis Nodes"):
		return nil
	case strings.Contains(first, "="):
		return p.key(first)
	}
	p.broken = true
	return unknownLine(text)
}

func unknownLine(text string) error {
	return fmt.Errorf("found %q, expected Switch, Ca, a port as [1], a GUID or a comment", nearest.Clip(text))
}

// key reads one of vendid, devid, sysimgguid, switchguid and caguid.
func (p *ibParser) key(text string) error {
	key, value, _ := strings.Cut(text, "=")
	c := cursor{rest: value}
	v, ok := c.hex()
	if !ok {
		return fmt.Errorf("found %q, expected a hexadecimal number after %q, as 0x2c9", nearest.Clip(text),
			nearest.Clip(key+"="))
	}
	switch key {
	case "vendid":
		p.head.maker.Vendor = uint32(v)
	case "devid":
		p.head.maker.Device = uint32(v)
	case "sysimgguid":
		p.head.maker.System = GUID(v)
	}
	if key != "switchguid" && key != "caguid" {
		return nil
	}
	h := ibHead{guid: GUID(v), maker: p.head.maker, line: p.line}
	if c.take("(") {
		if v, ok = c.hex(); !ok || !c.take(")") {
			return fmt.Errorf("%s=%q, expected a GUID and the one of its port as 0x200000(200000)", key, nearest.Clip(value))
		}
		h.port = GUID(v)
	}
	if p.head.line != 0 {
		return fmt.Errorf("a second GUID, expected the Switch or Ca of that at line %d first", p.head.line)
	}
	p.head = h
	return nil
}

// node reads a line that begins with Switch or Ca.
func (p *ibParser) node(kind ibKind, rest string) error {
	head := p.head
	p.head = noIBHead
	p.broken, p.again = true, false
	c := cursor{rest: rest}
	ports, okPorts := c.number()
	c.space()
	name, okName := c.quoted()
	c.space()
	if !okPorts || !okName || name == "" || c.rest != "" && !c.take("#") {
		return errors.New(`expected the number of ports and the name, as Switch 4 "S-0000000000200000"`)
	}
	if ports < 1 || ports > maxIBPorts {
		return fmt.Errorf("%d ports, expected 1 to %d", ports, maxIBPorts)
	}
	if len(p.fabric.Nodes) >= weft.MaxSwitch+weft.MaxNIC {
		return fmt.Errorf("more than %d switches and adapters", weft.MaxSwitch+weft.MaxNIC)
	}
	n := ibNode{
		Kind: kind, Name: name, Maker: head.maker, GUID: head.guid, PortGUID: head.port, Ports: ports,
		Line: p.line,
	}
	n.GUID = cmp.Or(n.GUID, guidOf(name))
	if kind == ibSwitch && n.PortGUID == 0 {
		n.PortGUID = n.GUID
	}
	n.comment(c.rest)
	if first, ok := p.byName[name]; ok {
		return p.repeat(first, n)
	}
	number := len(p.fabric.Nodes)
	p.at = number
	p.byName[name] = number
	p.fabric.Nodes = append(p.fabric.Nodes, n)
	p.broken = false
	if err := p.claim("node GUID", n.GUID, number); err != nil {
		return err
	}
	if n.PortGUID != n.GUID {
		return p.claim("port GUID", n.PortGUID, number)
	}
	return nil
}

// router leaves a router out: it leads out of the fabric. Links to it go when all blocks are read.
func (p *ibParser) router(rest string) error {
	p.head, p.broken = noIBHead, true
	c := cursor{rest: rest}
	_, okPorts := c.number()
	c.space()
	name, okName := c.quoted()
	if !okPorts || !okName || name == "" {
		return errors.New(`expected the number of ports and the name, as Rt 8 "R-0000000000300000"`)
	}
	p.routers[name] = true
	p.warn(p.line, "left out router %q and its links: Weft has no routers", nearest.Clip(name))
	return nil
}

var noIBHead ibHead

// repeat begins the block of a node that has one already. ibnetdiscover -g prints adapters twice
// that are in a chassis: such a block says the same again.
func (p *ibParser) repeat(first int, n ibNode) error {
	was := p.fabric.Nodes[first]
	line := was.Line
	if n.Kind != ibAdapter || was.Kind != ibAdapter || was.GUID != n.GUID || was.Ports != n.Ports ||
		was.Description != n.Description {
		return fmt.Errorf("%q has a block at line %d already", nearest.Clip(n.Name), line)
	}
	p.at, p.broken, p.again = first, false, true
	return nil
}

// claim notes whose a GUID is. The GUID of a node and of one of its ports may be the same.
func (p *ibParser) claim(what string, g GUID, node int) error {
	if g == 0 {
		return nil
	}
	if o, ok := p.guids[g]; ok && (o.node != node || o.what == what) {
		return fmt.Errorf("GUID %v is that of %q at line %d too, expected one of its own", g,
			nearest.Clip(p.fabric.Nodes[o.node].Name), o.line)
	}
	p.guids[g] = ibOwner{what, node, p.line}
	return nil
}

// comment reads what follows the # of a node: its description, and of a switch the LID and LMC of
// its port 0.
func (n *ibNode) comment(text string) {
	c := cursor{rest: text}
	c.space()
	if n.Description, _ = c.quotedToLast(); n.Kind == ibAdapter {
		return
	}
	n.Enhanced = strings.Contains(c.rest, "enhanced port 0")
	n.LID, n.LMC = lids(c.rest)
}

// port reads a line that begins with [.
func (p *ibParser) port(text string) error {
	if len(p.fabric.Nodes) == 0 {
		return errors.New("a port before the first Switch or Ca, expected its block")
	}
	number := p.at
	n := &p.fabric.Nodes[number]
	c := cursor{rest: text}
	port := ibPort{Line: p.line}
	var ok, okName, okPeer bool
	port.Number, ok = c.bracketed()
	c.external()
	if guid, there := c.parenthesised(); there {
		port.GUID = GUID(guid)
	}
	c.space()
	name, okName := c.quoted()
	c.space()
	port.PeerPort, okPeer = 1, true // as ibsim has it when the file names no port
	if strings.HasPrefix(c.rest, "[") {
		port.PeerPort, okPeer = c.bracketed()
	}
	c.external()
	c.space()
	peerGUID, _ := c.parenthesised()
	c.external()
	c.space()
	c.options()
	switch {
	case !ok || !okName || !okPeer || c.rest != "" && !c.take("#"):
		return errors.New(`expected a port and where it leads, as [3] "S-0000000000200002"[1]`)
	case port.Number < 1 || port.Number > n.Ports:
		return fmt.Errorf("port %d of %q, expected 1 to %d", port.Number, nearest.Clip(n.Name), n.Ports)
	case port.PeerPort < 1 || port.PeerPort > maxIBPorts:
		return fmt.Errorf("leads to port %d of %q, expected 1 to %d", port.PeerPort, nearest.Clip(name), maxIBPorts)
	}
	if other := n.port(port.Number); other != nil {
		was := p.names[[2]int{number, port.Number}]
		if p.again && was.name == name && other.PeerPort == port.PeerPort && (port.GUID == 0 || port.GUID == other.GUID) {
			return nil
		}
		return fmt.Errorf("port %d of %q is at line %d already", port.Number, nearest.Clip(n.Name), other.Line)
	}
	if n.Kind == ibAdapter {
		port.LID, port.LMC = lids(strings.TrimSpace(c.rest))
		if port.GUID == 0 && n.GUID != 0 {
			port.GUID = n.GUID + GUID(port.Number)
		}
	}
	p.names[[2]int{number, port.Number}] = ibFar{name, GUID(peerGUID)}
	n.Connected = append(n.Connected, port)
	if n.Kind == ibAdapter {
		return p.claim("port GUID", port.GUID, number)
	}
	return nil
}

// lids reads "lid 8 lmc 0" at the end of a switch's comment or the beginning of that of an
// adapter's port.
func lids(text string) (lid, lmc int) {
	text, _, _ = strings.Cut(text, `"`)
	words := strings.Fields(text)
	for i, w := range words[:max(len(words)-1, 0)] {
		c := cursor{rest: words[i+1]}
		v, ok := c.number()
		switch {
		case ok && w == "lid" && v <= MaxLID:
			lid = v
		case ok && w == "lmc" && v <= MaxLMC:
			lmc = v
		}
	}
	return lid, lmc
}

// The bounds of LIDs and LMCs: those of unicast, and three bits.
const (
	MaxLID = 0xBFFF
	MaxLMC = 7
)
