package dqr

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Plugin knows which turns should be enabled around a dead link of the topologies it is for
// (section IV.A, option 2).
type Plugin interface {
	// Fits returns nil for a topology that it is for, and otherwise an error that says what is
	// wrong.
	Fits(g *topology.Graph) error
	// Enable enables turns around a link that has died, in one layer, and reports whether it could.
	// Where it could not, the rest of the mechanism does what it would without a plug-in.
	Enable(link *topology.Link, e Enabler) bool
}

// Enabler is the channel list of one layer, as a [Plugin] sees it.
type Enabler interface {
	Graph() *topology.Graph
	Alive(link weft.LinkID) bool
	// Together enables turns, all of them or none, and reports whether it did. They stay enabled,
	// used or not, until [Reconfiguration.Settle].
	Together(turns []Turn) bool
}

// Turn is a dependency of one channel on the next: what comes in by a port of a switch leaves by
// another.
type Turn struct {
	At      weft.SwitchID
	In, Out weft.PortID
}
