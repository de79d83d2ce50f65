package ledger

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// HostID numbers the hosts of one fabric. The leader gives the numbers, from 1; 0 is no host.
type HostID uint32

// Incarnation numbers what hosts were started as, all over the fabric: no two have the same number,
// under whichever leader, and one that is started later has a higher one. The upper 32 bits are the
// term of the leader that started it. 0 is none.
type Incarnation uint64

// String is the term and the number in it, as "3.1"; the number alone where there are no terms.
func (i Incarnation) String() string {
	if term := i >> 32; term > 0 {
		return fmt.Sprintf("%d.%d", uint64(term), uint32(i))
	}
	return fmt.Sprintf("%d", uint32(i))
}

// Event is what [Ledger.Step] takes: one of the types below.
type Event interface{ event() }

// HostStarted says that a new incarnation of a host runs, and which nodes it begins with. Earlier
// incarnations of the host are gone for good. No nodes means the nodes that the host had.
type HostStarted struct {
	Host        HostID
	Incarnation Incarnation
	Nodes       []weft.Node
}

// HostSuspect says that a host does not answer.
type HostSuspect struct {
	Host     HostID
	Incident int // that has the cost, which the leader ends; 0: the ledger begins one, and ends it
}

// HostFailed says that nobody answers for a host. Its neighbours have been told that their links to
// it are down. It may come back as it was.
type HostFailed struct {
	Host     HostID
	Incident int // as that of HostSuspect, unless the host has one
}

// HostEnded says that a host is gone for good, and nobody takes its place.
type HostEnded struct {
	Host     HostID
	Incident int // as that of HostSuspect, unless the host has one; 0: the ledger begins one and ends it at once
}

// NodeMoved says that a node runs on another host from now on, which is alive. What it held moves
// along as a hand-over, see [Flow].
type NodeMoved struct {
	Node     weft.Node
	To       HostID
	HandOver weft.Epoch // its number; 0: there is none, the node begins empty
}

// FaultBegan says that the leader has ordered a fault, which [Ledger.Last] is the number of once it
// was stepped.
type FaultBegan struct {
	Kind     string // the verb, as "cut", or what else was done, as "handover"
	Target   string // what people call the link or switch
	Links    []weft.LinkID
	Switches []weft.SwitchID
	// Late says that the fault is noticed only now. What its links and switches have lost before,
	// and no incident has cost, is its own.
	Late bool
}

// FaultEnded says that an active fault has been repaired. Its effects are counted until the first
// [Tick] at least [Settle] later.
type FaultEnded struct{ Incident int }

// LeaderChanged says that another leader goes on from this state, so that no host has been heard
// yet.
type LeaderChanged struct{}

// Tick says that time has passed. The leader has asked all hosts just before when the effects of a
// fault have been counted for long enough.
type Tick struct{}

// Answer is what a host says when it is asked: all it has counted since its incarnation began, read
// at one moment. Lists are sparse: what is not in them is zero. The ledger keeps the lists; the
// caller does not change them any more.
type Answer struct {
	Host        HostID
	Incarnation Incarnation
	Seq         uint64    // rises with every answer of the incarnation, from 1
	Asked       weft.Time // when the leader asked, on the leader's clock
	Final       bool      // it holds nothing, and will neither send nor receive again

	Counted
	Held   uint64 // packets inside switches
	Queued uint64 // packets in the send queues of NICs
	Wires  uint64 // packets on links of which both ends are on this host

	// Sent and Received count the packets of all sessions with other incarnations, of those that
	// the ledger had the host forget too. Flows are these sessions one by one. Of sessions with
	// incarnations that began after Asked nothing may be told: then it is in neither.
	Sent, Received uint64
	Flows          []Flow
}

// Counted is what a host has counted and stays true when it is gone.
type Counted struct {
	Counters Counters
	Discards []Rule     // packets discarded, by rule, in the order of names
	Wire     []LinkLost // on the wires of links of which both ends were on this host, in the order of links
	Queue    []EndLost  // in the output queues of links that went down, in the order of ends
	Crash    []NodeLost // inside switches that crashed, in the order of switches
}

// Flow is one session as one of its sides counts it.
type Flow struct {
	// End is the side's end of the link. Of hand-overs of a node to and from another host it is the
	// node, with weft.NoPort. Epochs are then the numbers of hand-overs, which the leader gives and
	// which rise all over the fabric: LastFrom and LastTo of the latest that was given, of LastSent
	// packets, and Mine and Peer of the latest that was taken, with Taken packets, come or not.
	// State is link.Down.
	End  weft.End
	Peer Incarnation // on the other side
	// Flow counts the packets of this session alone, also of when the two met before, and has the
	// epochs in which it last sent. Mine is that of the end now. State is link.Down if the end has
	// no signal, is not there any more, or is up with another incarnation: then nothing that was
	// sent to epochs up to Mine is received any more. An end in link.Init comes up with whoever
	// names its epoch: all its sessions are in link.Init then.
	Flow link.Flow
}

// Rule is how many packets one rule has discarded.
type Rule struct {
	Name    string
	Packets uint64
}

// LinkLost is how many packets were lost on the wires of a link, from A to B and from B to A.
type LinkLost struct {
	Link weft.LinkID
	Wire [2]uint64
}

// EndLost is how many packets were lost in the output queue of an end.
type EndLost struct {
	End     weft.End
	Packets uint64
}

// NodeLost is how many packets were lost inside a switch that crashed.
type NodeLost struct {
	Switch  weft.SwitchID
	Packets uint64
}

func (HostStarted) event()   {}
func (HostSuspect) event()   {}
func (HostFailed) event()    {}
func (HostEnded) event()     {}
func (NodeMoved) event()     {}
func (FaultBegan) event()    {}
func (FaultEnded) event()    {}
func (LeaderChanged) event() {}
func (Tick) event()          {}
func (*Answer) event()       {}

// OrderKind says what an [Order] is.
type OrderKind uint8

// The kinds of order.
const (
	// Query asks the host for an [Answer]: something in doubt depends on it.
	Query OrderKind = iota + 1
	// Forget has the host leave out its sessions with Peer, of which all is known. The leader sends
	// it once a checkpoint made since is kept: an older one needs them.
	Forget
	// Refuse tells that the host said something that cannot be, and Why.
	Refuse
)

// Order is what the leader is to do.
type Order struct {
	Kind OrderKind
	Host HostID
	Peer Incarnation
	Why  string
}
