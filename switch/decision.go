package switching

import "github.com/weft-fabric/weft"

// Register is one word of state that a firmware keeps in each switch, zero at the start and after a
// crash.
type Register struct {
	Name   string
	Width  int       // bits in use, 1 to 64; for printing
	Expire weft.Time // the register is zeroed this long after it was last written; 0 is never
}

// Arrival says where a packet came in.
type Arrival struct {
	Port weft.PortID // of this switch
	VC   weft.VC     // of the input queue that the packet is in
	From weft.Role   // RoleUp: from above, RoleDown: from below, RoleNIC: from a NIC, RolePeer: no tiers
}

// View is what a firmware may see of its switch while it decides. Valid only during Route.
type View interface {
	// Place is where the switch stands in its topology. It must not be written to.
	Place() *weft.Place
	// VCs is how many virtual channels each link direction has.
	VCs() int
	// PortUp reports whether the link at p is up: signal, and a neighbour that answers.
	PortUp(p weft.PortID) bool
	// Room is how many packets the output queue (p, vc) can still take.
	Room(p weft.PortID, vc weft.VC) int
	// Occupancy is how many packets wait in the output queue (p, vc).
	Occupancy(p weft.PortID, vc weft.VC) int
	// Credits is how many packets the neighbour can take in (p, vc).
	Credits(p weft.PortID, vc weft.VC) int
	// Register is the value of the i-th register of [Firmware].Registers, from 0.
	Register(i int) uint64
	// Draw is one random number, uniform over all values.
	Draw() uint64
	// Now is the time on the fabric's clock.
	Now() weft.Time
	// Scratch is an empty slice with room for every candidate there can be, so that Route need not
	// allocate.
	Scratch() []Candidate
}

// Offerer is a [View] that may leave open which of some ports are up.
type Offerer interface {
	// Offer reports whether a candidate at p may be offered; see the function of that name.
	Offer(p weft.PortID) bool
}

// Offer reports whether the link at p is up, to a firmware that offers a candidate at each port of
// which this is so, and looks at nothing of the answers but whether there is any. It is PortUp in a
// fabric. Who explores the firmware need not try every subset of the ports.
func Offer(sw View, p weft.PortID) bool {
	if o, ok := sw.(Offerer); ok {
		return o.Offer(p)
	}
	return sw.PortUp(p)
}

// Searcher is a [View] that finds the first of some ports that is up at once.
type Searcher interface {
	// FirstUp is what the function of that name says.
	FirstUp(from, end, but weft.PortID) weft.PortID
}

// FirstUp is the first port at from or after it, and before end, whose link is up, but for one;
// [weft.NoPort] if there is none. The firmware has asked for no port after that one.
func FirstUp(sw View, from, end, but weft.PortID) weft.PortID {
	if s, ok := sw.(Searcher); ok {
		return s.FirstUp(from, end, but)
	}
	for p := from; p < end; p++ {
		if p != but && sw.PortUp(p) {
			return p
		}
	}
	return weft.NoPort
}

// Candidate is one way a packet may leave.
type Candidate struct {
	Port   weft.PortID // of this switch
	VC     weft.VC     // of the output queue, below [View].VCs
	Class  uint8       // lower classes are preferred whenever they have room: adaptive 0, escape 1
	Need   uint8       // free slots wanted in the output queue; 0 means 1. Bubble flow control asks for 2
	Fields weft.Fields // the routing fields of the header on the way out
}

// Turn says what kind of step a decision is, for counting.
type Turn uint8

// The kinds of step.
const (
	Straight Turn = iota // the way the packet would take without faults
	Reroute              // another way, because of a fault
	UTurn                // another way, up again after coming down (Definition 13 of the fat-tree paper)
)

// Decision is a firmware's answer. Without candidates the packet is discarded.
type Decision struct {
	Candidates []Candidate
	Rule       string // the rule that fired, as the paper numbers it
	Turn       Turn
	Write      RegisterWrite
	Notify     bool // with a discard: tell the packet's source, which may stop sending there for a time
}

// RegisterWrite sets a declared register to a value and restarts its timer, when the decision is
// taken.
type RegisterWrite struct {
	Do    bool // false: nothing is written
	Index int
	Value uint64
}

// Discard is the decision to discard the packet. The rule is counted and printed in reports.
func Discard(rule string) Decision { return Decision{Rule: rule} }

// To is the decision for a single candidate: port p and virtual channel vc. The packet leaves with
// the routing fields f; pkt.Fields keeps them as they are. The rule is kept in traces.
func To(sw View, p weft.PortID, vc weft.VC, f weft.Fields, rule string) Decision {
	list := append(sw.Scratch(), Candidate{}) // which is written where it stays
	c := &list[0]
	c.Port, c.VC, c.Fields = p, vc, f
	return Decision{Candidates: list, Rule: rule}
}

// As returns d with its kind of step set.
func (d Decision) As(t Turn) Decision {
	d.Turn = t
	return d
}
