package ib

import (
	"cmp"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Config is what all nodes have in common.
type Config struct {
	VLs int // data virtual lanes of every port: 1, 2, 4, 8 or 15
}

// Subnet is the management state of all nodes. One goroutine owns it.
type Subnet struct {
	graph *topology.Graph
	cfg   Config
	nodes []node
	ports map[weft.End]PortRef // which port the end of a link is
	traps traps
	paths pathTable
	cut   map[weft.LinkID]bool // nothing comes through, whatever its ends think
}

// PortRef names a port: the number of its node here, and its own in InfiniBand.
type PortRef struct{ Node, Port int }

// node is a switch, or a channel adapter with all its ports.
type node struct {
	kind        uint8 // typeAdapter or typeSwitch
	guid        topology.GUID
	maker       topology.Maker
	description string
	ports       []port // by number; port 0 of an adapter is not used
	sw          *switchState
	id          weft.SwitchID // of a switch
	manager     bool          // a subnet manager runs at this node
}

const (
	typeAdapter = 1
	typeSwitch  = 2
)

// port is one port. A port that no link leads to is always down.
type port struct {
	guid   topology.GUID
	linked bool
	link   weft.LinkID
	end    weft.End // of the link, in the graph
	peer   PortRef
	up     bool   // the link has signal at both ends
	downed uint64 // how often it went down

	info     portInfo
	pkeys    [pkeyBlocks * 32]uint16
	lanes    map[int]*[16]uint8 // SL to VL: of a switch by in port, of an adapter at 0; nil: as it was made
	arbiter  [4][64]byte        // VL arbitration, low and high, as written
	guids    [8]uint64
	baseline Counters // what was counted when counters were cleared
}

const pkeyBlocks = 1

// switchState is what only switches have.
type switchState struct {
	linear       []uint8 // port by LID, as far as blocks were written; noPort: none
	multicast    map[uint32][32]uint16
	top          uint16
	lifetime     uint8
	defaultPort  uint8
	primary      uint8
	notPrimary   uint8
	multicastTop uint16
	stateChanged bool
	enhanced     bool
}

const (
	noPort       = 255
	linearCap    = 49152 // all unicast LIDs
	multicastCap = 1024
)

// New makes the subnet of a graph. All ports with a link are down until [Subnet.SetLink] says
// otherwise.
func New(g *topology.Graph, cfg Config) *Subnet {
	s := &Subnet{graph: g, cfg: cfg, ports: map[weft.End]PortRef{}}
	for _, sw := range g.Switches {
		id := g.Identity(sw.ID.Node())
		n := node{
			kind: typeSwitch, guid: id.GUID, maker: id.Maker, description: id.Description, id: sw.ID,
			ports: make([]port, sw.Ports+1),
			sw:    &switchState{enhanced: id.Enhanced, multicast: map[uint32][32]uint16{}},
		}
		for p := range n.ports {
			n.ports[p].guid = id.PortGUID
			if p > 0 {
				s.ports[weft.End{Node: sw.ID.Node(), Port: weft.PortID(p - 1)}] = PortRef{len(s.nodes), p}
			}
		}
		s.nodes = append(s.nodes, n)
	}
	adapters := map[topology.GUID]int{}
	for _, nic := range g.NICs {
		id := g.Identity(nic.ID.Node())
		i, ok := adapters[id.GUID]
		if !ok {
			i = len(s.nodes)
			adapters[id.GUID] = i
			ports := make([]port, max(id.Ports, id.Port)+1)
			n := node{kind: typeAdapter, guid: id.GUID, maker: id.Maker, description: id.Description, ports: ports}
			s.nodes = append(s.nodes, n)
		}
		s.nodes[i].ports[id.Port].guid = id.PortGUID
		s.ports[weft.End{Node: nic.ID.Node()}] = PortRef{i, id.Port}
	}
	for _, l := range g.Links {
		a, b := s.ports[l.A], s.ports[l.B]
		s.port(a).connect(l.ID, l.A, b)
		s.port(b).connect(l.ID, l.B, a)
	}
	for i := range s.nodes {
		s.nodes[i].makePorts(cfg.VLs)
	}
	s.takeLIDs()
	s.cut = map[weft.LinkID]bool{}
	s.paths.sl = map[pathKey]uint8{}
	return s
}

// takeLIDs gives nodes the LIDs that the topology has, as if it had been managed before: a manager
// keeps those.
func (s *Subnet) takeLIDs() {
	give := func(p *port, id topology.Identity) {
		putBE16(p.info[:], infoLID, uint16(id.LID))
		putBits(p.info[:], 34, 0, 3, uint8(id.LMC))
	}
	for _, sw := range s.graph.Switches {
		give(&s.nodes[s.switchNode(sw.ID)].ports[0], s.graph.Identity(sw.ID.Node()))
	}
	for _, n := range s.graph.NICs {
		give(s.nicPort(n.ID), s.graph.Identity(n.ID.Node()))
	}
}

func (p *port) connect(id weft.LinkID, end weft.End, peer PortRef) {
	p.linked, p.link, p.end, p.peer = true, id, end, peer
}

func (s *Subnet) port(r PortRef) *port { return &s.nodes[r.Node].ports[r.Port] }

// valid reports whether there is such a port.
func (s *Subnet) valid(r PortRef) bool {
	return r.Node >= 0 && r.Node < len(s.nodes) && r.Port >= 0 && r.Port < len(s.nodes[r.Node].ports) &&
		(r.Port > 0 || s.nodes[r.Node].kind == typeSwitch)
}

// managed is the port that has the LID of r: port 0 of a switch, or the port itself.
func (s *Subnet) managed(r PortRef) *port {
	if s.nodes[r.Node].kind == typeSwitch {
		return &s.nodes[r.Node].ports[0]
	}
	return s.port(r)
}

// Find is the port of a node that is named as in the topology, by its description or by a GUID as
// ibnetdiscover names it, "S-0000000000200000"; "" is the first NIC. It reports false when there is
// none.
func (s *Subnet) Find(name string) (PortRef, bool) {
	if name == "" && len(s.graph.NICs) > 0 {
		return s.ports[weft.End{Node: weft.NICID(0).Node()}], true
	}
	for _, n := range s.graph.NICs {
		if n.Name == name {
			return s.ports[weft.End{Node: n.ID.Node()}], true
		}
	}
	for i, n := range s.nodes {
		named := n.kind == typeSwitch && s.graph.Switches[n.id].Name == name
		if named || n.description == name || n.nodeName() == name {
			return s.firstPort(i), true
		}
	}
	return PortRef{}, false
}

func (s *Subnet) firstPort(i int) PortRef {
	if s.nodes[i].kind == typeSwitch {
		return PortRef{i, 0}
	}
	return PortRef{i, max(1, slices.IndexFunc(s.nodes[i].ports, func(p port) bool { return p.linked }))}
}

// nodeName is the name that ibnetdiscover gives a node.
func (n *node) nodeName() string {
	prefix := "H-"
	if n.kind == typeSwitch {
		prefix = "S-"
	}
	return prefix + n.guid.String()[2:]
}

// Name is what tools call the node of a port.
func (s *Subnet) Name(r PortRef) string { return s.nodes[r.Node].nodeName() }

// End is the end of a link that a port is; false for one without a link.
func (s *Subnet) End(r PortRef) (weft.End, bool) {
	p := s.port(r)
	return p.end, p.linked
}

// Where is the node of a port, as people name it.
func (s *Subnet) Where(r PortRef) string {
	n := &s.nodes[r.Node]
	name := cmp.Or(n.description, n.nodeName())
	if n.kind == typeSwitch {
		name = s.graph.Switches[n.id].Name
	}
	return name
}

// SetCut tells the subnet which links let nothing through.
func (s *Subnet) SetCut(links map[weft.LinkID]bool) { s.cut = links }

// ManagerAt reports whether a subnet manager runs at the node of a port.
func (s *Subnet) ManagerAt(r PortRef) bool { return s.nodes[r.Node].manager }
