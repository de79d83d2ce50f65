package weft

// Core is one node of the fabric, a switch or a NIC, as its driver sees it: a function of (state,
// time, event) that appends what must be done to out. It has one owner at a time, who serialises
// the calls; it keeps no clock and never blocks. Times must not go backwards.
type Core interface {
	// Ports is the number of ports.
	Ports() int
	// Signal tells that the link at port p has signal (up) or has lost it.
	Signal(now Time, p PortID, up bool, out *Actions)
	// Receive takes a frame that arrived at port p. It keeps no reference to f.
	Receive(now Time, p PortID, f *Frame, out *Actions)
	// Exempt tells that the neighbour at port p is not heard because the driver holds it up: a
	// frame waits to be received, or was not let through.
	Exempt(now Time, p PortID)
	// LinksDue is from when on Exempt matters before Tick: a neighbour may have missed a hello; Never:
	// it does not.
	LinksDue() Time
	// Transmit fills f with what port p may send now, at most limit packets, and reports whether
	// there is anything to send. A frame may carry no packets: credits alone, a hello, or the
	// handshake of a link that comes up; a limit of 0 asks for nothing else. out.More says whether
	// to call again; when it does not, the port comes up in out.Ready when there is more.
	Transmit(now Time, p PortID, limit int, f *Frame, out *Actions) bool
	// Tick does what was due at or before now. Call it at the latest when Actions.WakeAt says.
	Tick(now Time, out *Actions)
}

// Actions is what a core asks of its driver. The driver owns it, passes it to the next calls after
// Reset, and so no call allocates once its slices have grown.
type Actions struct {
	Ready  []PortID // ports that may have something to transmit, packets or a frame without; a port may stand here twice
	Owed   []PortID // set by Tick: ports at which a hello is due, also where packets wait for the link to be free
	More   bool     // set by Transmit: the port has more to transmit
	Since  Time     // set by Transmit: when the last of the packets came that it gives, see Frame.At
	Asking bool     // the core waits for decisions of its firmware; see Switch.Asks of package switch
	WakeAt Time     // call Tick at this time at the latest; Never when there is nothing to wait for

	Drops   []Drop       // packets that ended here and were not delivered
	Hops    []Hop        // decisions taken for traced packets
	Ways    []Candidate  // storage of the candidates of Hops
	Egress  []Egress     // traced packets that left a NIC, or a switch late
	Arrived []Header     // traced packets delivered to this NIC
	Carried []Header     // packets with a payload, delivered to this NIC; whoever takes them frees the payloads
	Room    bool         // the NIC takes packets with a payload again
	Changes []PortChange // ports whose link came up or went down, as routing sees it
	Turned  int          // packets sent another way because of a fault
	Faults  []Fault      // input that breaks the protocol
	Notices []Notice     // to sources whose packets were discarded
}

// Reset empties a and keeps its storage.
func (a *Actions) Reset() {
	a.Ready = a.Ready[:0]
	a.Owed = a.Owed[:0]
	a.More, a.Asking, a.Since = false, false, 0
	a.WakeAt = Never
	a.Drops = a.Drops[:0]
	a.Hops = a.Hops[:0]
	a.Ways = a.Ways[:0]
	a.Egress = a.Egress[:0]
	a.Arrived = a.Arrived[:0]
	a.Carried, a.Room = a.Carried[:0], false
	a.Changes = a.Changes[:0]
	a.Turned = 0
	a.Faults = a.Faults[:0]
	a.Notices = a.Notices[:0]
}

// Account is where a packet ends. Every packet ends in exactly one of them.
type Account uint8

// The accounts of the ledger. The zero value is none of them: still in flight.
const (
	Delivered  Account = iota + 1
	LostWire           // sent on a link and never received
	LostQueued         // in the output queue of a link when it died
	LostCrash          // inside a switch when it crashed
	Discarded          // by a switch, by a rule of its firmware
)

// String prints the account as reports do.
func (a Account) String() string {
	switch a {
	case Delivered:
		return "delivered"
	case LostWire:
		return "lost on the wire"
	case LostQueued:
		return "lost in the queue of a dead link"
	case LostCrash:
		return "lost in a crashed switch"
	case Discarded:
		return "discarded"
	}
	return "in flight"
}

// Drop is a packet that ended at this node without being delivered.
type Drop struct {
	Account Account
	Port    PortID // the output it was queued for (LostQueued), or the input it came from
	Rule    string // the rule that discarded it
	Header  Header
}

// Hop is one decision of a switch for one traced packet.
type Hop struct {
	At            Time // of the decision
	Switch        SwitchID
	In            PortID // where the packet came in
	InVC          VC
	Out           PortID // where it goes out; NoPort when discarded
	OutVC         VC
	Rule          string // the rule of the firmware that fired
	Waited        Time   // since it arrived at this switch
	Header        Header
	Before, After Fields // the routing fields on arrival and on the way out
	Alternatives  int    // how many candidates there were
	Turned        bool   // it was sent another way than it would be without faults
	Why           uint8  // of Waited: a bit for each switching.Stall, of value 1 << reason
	// Candidates are those that there were, as they were when one was chosen. They are in the
	// storage of Actions, so whoever keeps the hop clones them.
	Candidates []Candidate
}

// Candidate is one of the outputs that the firmware named for a Hop.
type Candidate struct {
	Port    PortID
	VC      VC
	Class   uint8 // of a lower class is preferred
	Down    bool  // its link is not up
	Chosen  bool  // it is the one that was taken
	Room    int32 // packets that its output queue could still take
	Credits int32 // packets that the neighbour could take
}

// Egress is a traced packet that left a NIC, or a switch after it had waited in the output queue
// for a credit.
type Egress struct {
	At     Time
	Port   PortID // it left by
	VC     VC
	Queued Time // how long since the decision; at a NIC since the packet was generated
	Header Header
	// Carries is what a packet carries that left a NIC: its bytes, and in words what they are. The
	// core leaves it empty, whoever has the payload fills it.
	Carries Carried
}

// Carried is what a packet carries; no bytes: nothing.
type Carried struct {
	Bytes int
	Text  string // a packet of IP, as "TCP a > b"; empty: something else
}

// HasEvents reports whether a holds anything to publish.
func (a *Actions) HasEvents() bool {
	return len(a.Drops)+len(a.Hops)+len(a.Egress)+len(a.Arrived)+len(a.Changes)+len(a.Faults)+len(a.Notices)+
		a.Turned > 0
}

// PortChange tells that a port came up or went down, as routing sees it.
type PortChange struct {
	Port PortID
	Up   bool
	Why  Cause // of going down
}

// Cause says how an end learned that its link is down.
type Cause uint8

// The causes. The zero value is none: the link came up.
const (
	BySignal    Cause = iota + 1 // loss of signal
	BySilence                    // hellos are missing
	ByNeighbour                  // the neighbour has started anew
	ByCrash                      // this switch itself crashed
)

// String prints the cause in one word, as reports do.
func (c Cause) String() string {
	return [...]string{"", "signal", "silence", "neighbour", "crash"}[c]
}

// Notice tells the source of a packet that a switch has discarded it, and that its destination
// cannot be reached now. It is a management datagram, as a trap is in InfiniBand: it takes no
// credits, is in no account of the ledger, and may be lost.
type Notice struct {
	Src, Dst NICID  // of the packet; the notice goes to Src
	Rule     string // that discarded it
}

// Fault names a violation of the link protocol by the neighbour, or a frame that was damaged on its
// way from it: a named, counted error, never a panic.
type Fault struct {
	Port    PortID
	Err     error
	Count   uint64 // how many there were of this kind since the last that was told, with this one; 0 is 1
	Damaged bool   // a frame whose checksum does not match; its packets count as lost on the wire
}
