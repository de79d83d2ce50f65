package weft

import "strconv"

// SwitchID numbers the switches of one fabric from 0.
type SwitchID uint32

// NICID numbers the NICs of one fabric from 0. It is the address packets carry.
type NICID uint32

// LinkID numbers the bidirectional links of one fabric from 0.
type LinkID uint32

// PortID numbers the ports of one switch or NIC from 0.
type PortID uint16

// NoPort means "no port". Port 0 is a real port, so the zero value never does.
const NoPort PortID = 0xFFFF

// VC numbers the virtual channels of a link direction from 0.
type VC uint8

// Tier numbers the tiers of a tree from 0, the top.
type Tier uint8

// Hard bounds. Input from outside is checked against them before use.
const (
	MaxPorts   = 256     // ports of one switch
	MaxVCs     = 16      // virtual channels of one link direction
	MaxBuffer  = 4096    // packets in one VC's buffer
	MaxBatch   = 1024    // packets in one frame
	MaxPacket  = 1 << 20 // bytes of one packet
	MaxSwitch  = 1 << 16 // switches of one fabric
	MaxNIC     = 1 << 18 // NICs of one fabric
	MaxLinks   = 1 << 20 // links of one fabric
	MaxHops    = 1 << 15 // switches one packet may cross before it counts as looping
	MinPackets = 1       // the least buffer of a VC
)

// NodeKind says whether a node is a switch or a NIC.
type NodeKind uint8

// The kinds of node. The zero value is neither.
const (
	KindSwitch NodeKind = iota + 1
	KindNIC
)

// Node is a switch or a NIC of one fabric.
type Node struct {
	Kind  NodeKind
	Index uint32 // the SwitchID or NICID
}

// Node returns the switch as a node.
func (id SwitchID) Node() Node { return Node{Kind: KindSwitch, Index: uint32(id)} }

// Node returns the NIC as a node.
func (id NICID) Node() Node { return Node{Kind: KindNIC, Index: uint32(id)} }

// IsSwitch reports whether n is a switch.
func (n Node) IsSwitch() bool { return n.Kind == KindSwitch }

// String prints n by number, "switch 3"; names belong to the topology.
func (n Node) String() string {
	switch n.Kind {
	case KindSwitch:
		return "switch " + strconv.Itoa(int(n.Index))
	case KindNIC:
		return "nic " + strconv.Itoa(int(n.Index))
	}
	return "no node"
}

// End is one end of a link: a port of a node.
type End struct {
	Node Node
	Port PortID
}

// String prints p as "p3".
func (p PortID) String() string {
	if p == NoPort {
		return "p-"
	}
	return "p" + strconv.Itoa(int(p))
}

// String prints v as "vc1".
func (v VC) String() string { return "vc" + strconv.Itoa(int(v)) }
