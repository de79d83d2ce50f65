package layered

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// Kind says how switches use a [Routing].
type Kind uint8

// The kinds of routing.
const (
	Deterministic Kind = iota // one way for each in port, layer and address
	Adaptive                  // any of the ways in any of a packet's layers
	// any way in the adaptive layers, and when none has room, the escape layer, which is not left
	// again
	Escape
)

// Routing is what an engine computes. Layer i is virtual channel i of every link.
type Routing struct {
	Engine string // its name, with the options that are not defaults
	Graph  *topology.Graph
	Kind   Kind
	Layers int // how many virtual channels it uses
	// Escape is the escape layer where Kind says so. A packet enters it as if it came from a NIC.
	Escape weft.VC

	// Tables are R: per switch, in port, layer and address the ports to choose among. All of them
	// stay in the layer.
	Tables *tables.Tables
	// Assignment is A and T: what the NICs of each switch send by.
	Assignment *tables.Assignment
	// Unroutable is how many ordered pairs of different NICs have no way.
	Unroutable int
}

// Channel is a channel between switches: the direction of a link away from its End, in a layer.
type Channel struct {
	From  weft.End
	Layer weft.VC
}
