package switching

import "github.com/weft-fabric/weft"

// Firmware is a routing function. One value serves all switches of a fabric: what a switch
// remembers it declares as [Register]s, which live in the switch.
type Firmware interface {
	// Route decides for one packet that is next in its input queue. It may run again for the same
	// packet when no candidate had room, and must not change pkt or keep a reference to anything it
	// is given. Its answer may use the storage of sw.Scratch.
	Route(pkt *weft.Header, at Arrival, sw View) Decision
}

// Checker is a firmware that can run only in some places, or needs more than one virtual channel.
type Checker interface {
	// Check says whether a switch at this place with so many VCs can run the firmware, and if not,
	// why and what to do.
	Check(place *weft.Place, vcs int) error
}

// Roomy is a firmware that asks for more than one free place in an output queue, see
// [Candidate].Need.
type Roomy interface {
	// LeastRoom is how many packets an output queue of a switch at this place must hold: else none
	// would ever have as many free places.
	LeastRoom(place *weft.Place) int
}

// Requeuer is a firmware whose packets may be routed a second time when the link that they were
// queued for has died.
//
// Such a packet is routed as if it had arrived only now, but it waits in the output queue of the
// dead link, not in the input queue it came by. It waits for what a packet in that input queue
// would wait for, and nobody waits for the dead channel but packets of its flow behind it, which
// came by the same channel. So it closes no circle of waiting that was not there, as long as the
// firmware decides by the arrival, by which links are dead and by its registers, names no dead
// port, and never asks whether the packet holds a place in the channel it came by. Bubble flow
// control does ask. See docs/reference/routing.md.
type Requeuer interface {
	// CheckRequeue says why it may not be done at a switch in this place; nil: it may.
	CheckRequeue(place *weft.Place) error
}

// DestinationBased is a firmware whose decision depends on where a packet goes, on how it came and
// on its routing fields, and not on its source, its place in the flow, its size, age or hops.
// Whoever explores what it does need not look at every source.
type DestinationBased interface{ DestinationBased() }

// Symmetric is a firmware for trees to which the ports of one direction are all alike: with up
// ports and down ports renumbered, it gives the same candidates, renumbered. Fault sets that differ
// by the digits' values only are then the same to it. The package harness/verify checks the claim.
type Symmetric interface{ Symmetric() }

// Numbered is a firmware whose channels can be numbered so that each hop of a packet is in a
// channel of a higher number than the one before. There is then no deadlock, whatever is dead
// (Dally and Seitz).
type Numbered interface {
	// ChannelNumber is the number of the channel that leaves a switch at this place by a port that
	// leads to a switch.
	ChannelNumber(place *weft.Place, p weft.PortID, vc weft.VC) int
}

// Sourcer is a firmware that has NICs write routing fields into the packets that they send.
type Sourcer interface {
	// Source writes what the NIC at a port of its switch, leaf, knows of the way into the fields of
	// h, which are those of [weft.NewFields] so far. It may run again for the same packet, changes
	// nothing else of h and keeps no reference.
	Source(leaf *weft.Place, at weft.PortID, h *weft.Header)
}

// Assigner is a firmware that says by which addresses and in which virtual layers NICs send (A and
// T of Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular Networks). Without one, packets
// go to address 0 of their destination and enter in VC 0.
type Assigner interface {
	// Addresses are those that the NIC at a port of its switch, leaf, chooses among at random for
	// each packet to dst, all alike; not to be written to. None: it has no way there, and its
	// packets go as without an Assigner.
	Addresses(leaf *weft.Place, at weft.PortID, dst weft.NICID) []weft.Address
}

// AddressesOf is what the NIC at a port of its switch, leaf, asks for the addresses of a
// destination; nil for a firmware that is no [Assigner].
func AddressesOf(fw Firmware, leaf *weft.Place, at weft.PortID) func(dst weft.NICID) []weft.Address {
	a, ok := fw.(Assigner)
	if !ok {
		return nil
	}
	return func(dst weft.NICID) []weft.Address { return a.Addresses(leaf, at, dst) }
}

// Bounded is a firmware that knows how many switches a packet crosses at most. What has crossed as
// many is discarded, as looping, by the switch that it comes to then; without a bound it is after
// [weft.MaxHops].
type Bounded interface {
	// MostHops is that many switches, the first and the last among them.
	MostHops() int
}

// Notifier is a firmware that can have the source of a packet told that it was discarded; see
// [Decision].Notify.
type Notifier interface {
	// Notifying is the firmware that does.
	Notifying() Firmware
}

// Stateful is a firmware that keeps state in the switch.
type Stateful interface {
	// Registers declares the state of a switch at this place.
	Registers(place *weft.Place) []Register
}

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
	// Register is the value of the i-th register of [Stateful].Registers, from 0.
	Register(i int) uint64
	// Draw is one random number, uniform over all values.
	Draw() uint64
	// Now is the time on the fabric's clock.
	Now() weft.Time
	// Scratch is an empty slice with room for every candidate there can be, so that Route need not
	// allocate.
	Scratch() []Candidate
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
	return Decision{Candidates: append(sw.Scratch(), Candidate{Port: p, VC: vc, Fields: f}), Rule: rule}
}

// As returns d with its kind of step set.
func (d Decision) As(t Turn) Decision {
	d.Turn = t
	return d
}
