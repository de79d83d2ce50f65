package dqr

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// Result is what a reconfiguration did. Flows are ordered pairs of different NICs, and of different
// switches where Options has them.
type Result struct {
	FlowsTotal int // all flows, routed or not
	// those that were disconnected by it, or were unroutable or away from the engine's path, and have
	// got another path
	FlowsRerouted int
	FlowsLost     int // those that were disconnected by it and have got none
	Unroutable    int // all flows that have no path now
	Isolated      int // of these: no live links lead from the source to the destination

	// Acyclic: the dependencies of all paths in force since the last Settle, and of the new ones,
	// have no cycle. It is found by following the tables, not by the channel list.
	Acyclic bool
	// NewTurns is how many turns were enabled for paths of flows, by moving channels of a list;
	// PluginTurns and LocalTurns for the plug-in and for local paths, in advance.
	NewTurns, PluginTurns, LocalTurns int
	Searches                          int // how often paths to a destination were searched

	paths func(yield func(Rerouted) bool)
}

// Tolerated reports whether every flow that live links can carry has a path, and no deadlock can
// be.
func (r *Result) Tolerated() bool { return r.Unroutable == r.Isolated && r.Acyclic }

// Rerouted is a flow from all NICs of a switch, or from the switch itself, to a NIC or a switch.
type Rerouted struct {
	From     weft.SwitchID
	To       weft.Node
	Flows    int // how many flows it is: the NICs of From, or 1
	Address  uint16
	Old, New []layered.Channel // between switches; nil for none
}
