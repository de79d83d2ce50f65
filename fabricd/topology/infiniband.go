package topology

import (
	"fmt"
	"io"

	"github.com/weft-fabric/weft"
)

// Identity is what InfiniBand calls a switch or a NIC. A NIC is a connected port of a channel
// adapter.
type Identity struct {
	Maker       Maker
	GUID        GUID // of the switch or adapter
	PortGUID    GUID // of port 0 of the switch, or of the port
	Port        int  // of the adapter, from 1; 0 for a switch
	Ports       int  // how many the adapter has
	Enhanced    bool // the switch has an enhanced port 0
	LID, LMC    int  // LID 0: none is known
	Description string
}

// The first GUIDs that nodes get when no file gives them one. They are as far apart as there are
// NICs, four GUIDs each.
const (
	firstAdapter GUID = 0x100000
	firstSwitch  GUID = 0x200000
	perAdapter        = 4
)

// Identity is what InfiniBand calls a node: as the topology file says, or else GUIDs by number, no
// LID, and the name as description. Port p of a switch is port p+1 there.
func (g *Graph) Identity(n weft.Node) Identity {
	id := g.identity(n)
	id.Maker = id.Maker.usual(id.GUID, n.IsSwitch())
	return id
}

func (g *Graph) identity(n weft.Node) Identity {
	if id, ok := g.identities[n]; ok {
		return id
	}
	if n.IsSwitch() {
		guid := firstSwitch + GUID(n.Index)
		return Identity{GUID: guid, PortGUID: guid, Enhanced: true, Description: g.Name(n)}
	}
	guid := firstAdapter + perAdapter*GUID(n.Index)
	return Identity{GUID: guid, PortGUID: guid + 1, Port: 1, Ports: 1, Description: g.Name(n)}
}

// givenGUID is the GUID of a switch, or of the port of a NIC, that a file gave it; empty for none.
func (g *Graph) givenGUID(n weft.Node) string {
	if id, ok := g.identities[n]; ok {
		if n.IsSwitch() {
			return id.GUID.String()
		}
		return id.PortGUID.String()
	}
	return ""
}

// WriteIBNet writes the graph as a topology file of InfiniBand. [Load] of it gives the same graph;
// if it is neither generated nor was read from such a file, its links may be numbered in another
// order. Switches of more than [maxIBPorts] ports are refused.
func (g *Graph) WriteIBNet(w io.Writer) error {
	f, err := g.ibFabric()
	if err != nil {
		return err
	}
	return f.Write(w)
}

func (g *Graph) ibFabric() (*ibFabric, error) {
	f := &ibFabric{Spec: g.generated}
	at := make(map[weft.Node]int, len(g.Switches)+len(g.NICs)) // NICs of one adapter share a block
	for _, s := range g.Switches {
		id := g.Identity(s.ID.Node())
		if s.Ports > maxIBPorts {
			return nil, fmt.Errorf("switch %s has %d ports, and one of InfiniBand at most %d: write another format", s.Name,
				s.Ports, maxIBPorts)
		}
		at[s.ID.Node()] = len(f.Nodes)
		f.Nodes = append(f.Nodes, ibNode{
			Kind: ibSwitch, Name: fmt.Sprintf("S-%016x", uint64(id.GUID)), Maker: id.Maker, GUID: id.GUID, PortGUID: id.PortGUID,
			Description: id.Description, Ports: max(s.Ports, 1), Enhanced: id.Enhanced, LID: id.LID, LMC: id.LMC,
		})
	}
	adapters := make(map[GUID]int)
	for _, n := range g.NICs {
		id := g.Identity(n.ID.Node())
		i, ok := adapters[id.GUID]
		if !ok {
			i = len(f.Nodes)
			adapters[id.GUID] = i
			f.Nodes = append(f.Nodes, ibNode{
				Kind: ibAdapter, Name: fmt.Sprintf("H-%016x", uint64(id.GUID)), Maker: id.Maker, GUID: id.GUID,
				Description: id.Description, Ports: id.Ports,
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
			f.Nodes[at[s.ID.Node()]].Connected = append(f.Nodes[at[s.ID.Node()]].Connected, ibPort{
				Number: p + 1, Peer: at[to.end.Node], PeerPort: far,
			})
		}
	}
	for _, n := range g.NICs {
		id := g.Identity(n.ID.Node())
		s, p := g.SwitchOf(n.ID)
		block := &f.Nodes[at[n.ID.Node()]]
		block.Connected = append(block.Connected, ibPort{
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
