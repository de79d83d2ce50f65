package ibnet

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

// GUID is the number that a node or a port of InfiniBand has from its maker; 0 is none.
type GUID uint64

// String prints the GUID as the tools do, 0x and 16 digits.
func (g GUID) String() string { return fmt.Sprintf("0x%016x", uint64(g)) }

// ParseGUID reads a GUID as String prints it; leading zeros may be missing.
func ParseGUID(text string) (GUID, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil || v == 0 {
		return 0, fmt.Errorf("GUID %q, expected a hexadecimal number as 0x0002c90300a1b2c3", nearest.Clip(text))
	}
	return GUID(v), nil
}

// Kind is what a node is.
type Kind uint8

// The kinds of node.
const (
	Switch Kind = iota + 1
	CA          // a channel adapter
)

// MaxPorts is how many ports a node can have: port 0 is the node itself and 255 stands for no way.
const MaxPorts = 254

// Node is one block of a file.
type Node struct {
	Kind        Kind
	Name        string // by which other blocks call it
	GUID        GUID   // 0 if the file has none
	PortGUID    GUID   // of port 0 of a switch
	Description string // empty if the file has none
	Ports       int    // how many it has, connected or not, from 1
	Enhanced    bool   // port 0 of a switch is an enhanced one
	LID, LMC    int    // of port 0 of a switch; LID 0 is none
	Connected   []Port // in the order of the file, each number once
	Line        int    // where the file has it
}

// Port is a connected port of a node.
type Port struct {
	Number   int  // from 1
	GUID     GUID // of a port of an adapter
	LID, LMC int  // likewise; LID 0 is none
	Peer     int  // the node at the other end, by its number in Fabric.Nodes
	PeerPort int
	Line     int // where the file has it; 0 when only the other end has the link
}

// Fabric is what a file holds.
type Fabric struct {
	// Spec is what a file of ours says that it was made from, as kary-ntree:4,3; empty otherwise.
	// It stands in a comment.
	Spec  string
	Nodes []Node
	// Warnings say what of the file was skipped, each with its line.
	Warnings []string
}

// port finds a connected port of a node, nil when it has none of that number.
func (n *Node) port(number int) *Port {
	for i := range n.Connected {
		if n.Connected[i].Number == number {
			return &n.Connected[i]
		}
	}
	return nil
}
