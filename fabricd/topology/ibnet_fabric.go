package topology

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

// parseGUID reads a GUID as String prints it; leading zeros may be missing.
func parseGUID(text string) (GUID, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil || v == 0 {
		return 0, fmt.Errorf("GUID %q, expected a hexadecimal number as 0x0002c90300a1b2c3", nearest.Clip(text))
	}
	return GUID(v), nil
}

// Maker says who made a node, which tools show; zero: nobody knows.
type Maker struct {
	Vendor, Device uint32
	System         GUID // of the box that the node is part of
}

// ibKind is what a node is.
type ibKind uint8

// The kinds of node of InfiniBand.
const (
	ibSwitch  ibKind = iota + 1
	ibAdapter        // a channel adapter
)

// maxIBPorts is how many ports a node can have: port 0 is the node itself and 255 stands for no
// way.
const maxIBPorts = 254

// ibNode is one block of a file.
type ibNode struct {
	Kind        ibKind
	Name        string   // by which other blocks call it
	Maker       Maker    // zero if the file has none
	GUID        GUID     // 0 if the file has none
	PortGUID    GUID     // of port 0 of a switch
	Description string   // empty if the file has none
	Ports       int      // how many it has, connected or not, from 1
	Enhanced    bool     // port 0 of a switch is an enhanced one
	LID, LMC    int      // of port 0 of a switch; LID 0 is none
	Connected   []ibPort // in the order of the file, each number once
	Line        int      // where the file has it
}

// ibPort is a connected port of a node.
type ibPort struct {
	Number   int  // from 1
	GUID     GUID // of a port of an adapter
	LID, LMC int  // likewise; LID 0 is none
	Peer     int  // the node at the other end, by its number in ibFabric.Nodes
	PeerPort int
	Line     int // where the file has it; 0 when only the other end has the link
}

// ibFabric is what a topology file of InfiniBand holds, as ibnetdiscover prints them and ibsim
// takes them: a block for each switch and channel adapter, with a line for each connected port.
//
// A block is
//
//	vendid=0x2c9
//	switchguid=0x200000(200000)
//	Switch	4 "S-0000000000200000"		# "L0-0" enhanced port 0 lid 2 lmc 0
//	[1]	"H-0000000000100000"[1](100001) 		# "host0 HCA-1" lid 1 4xQDR
//	[3]	"S-0000000000200002"[1]		# "L1-0" lid 4 4xQDR
//
// or, for an adapter, with Ca, caguid and lines such as
//
//	[1](100001) 	"S-0000000000200000"[1]		# lid 1 lmc 0 "L0-0" lid 2 4xQDR
//
// The comments carry the description, the LID and the LMC, and are read as far as they are there.
// GUIDs may be missing, as ibsim allows; then the name holds them, S- or H- and 16 hexadecimal
// digits, or nobody. Lines of chassis are skipped.
type ibFabric struct {
	// Spec is what a file of ours says that it was made from, as kary-ntree:4,3; empty otherwise.
	// It stands in a comment.
	Spec  string
	Nodes []ibNode
	// Warnings say what of the file was skipped, each with its line.
	Warnings []string
}

// port finds a connected port of a node, nil when it has none of that number.
func (n *ibNode) port(number int) *ibPort {
	for i := range n.Connected {
		if n.Connected[i].Number == number {
			return &n.Connected[i]
		}
	}
	return nil
}
