package host

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// Verbs that the leader asks of a host, of which the host's name is the node; a [Client] does.
// Requests and answers are msgpack, see [bus.Handle]. A request that names another incarnation than
// the host's is refused, and nothing of it is done; so is an order of a leader whose term is lower
// than one that the host has heard of, for that has been replaced. Where nobody is ever replaced
// terms are 0.
const (
	AskCounters = "counters" // a [CountersRequest], answered by a [Counters]
	AskOrder    = "order"    // an [Order], answered by an [OrderAnswer]
	AskRead     = "read"     // a [ReadRequest], answered by [Readings]
	AskNode     = "node"     // a [NodeRequest], answered by [Nodes]
	AskLoad     = "load"     // a [LoadOrder], answered by a [LoadAnswer]
	AskPrograms = "programs" // nothing, answered by a report.Report
	AskEnd      = "end"      // an [EndOrder]: the host ends. Answered by a last [Counters], with everything
)

// TellEvents is the kind of what a host tells: an [EventBatch].
const TellEvents = "events"

// CountersRequest asks for a host's counters.
type CountersRequest struct {
	Number uint64 `json:"number"` // of the spec; 0: of whichever there is, as a new leader asks
	Term   uint64 `json:"term"`   // of the leader; 0: any

	Ends bool `json:"ends,omitempty"` // Counters.Flows
	// Peers are the incarnations of the host's neighbours. Counters.Flows tells sessions apart by
	// them, and leaves out sessions with others. What passed with incarnations that began later has
	// not happened yet, as far as the answer tells. nil: those of the request before.
	Peers []Peer `json:"peers,omitempty"`

	Generations bool `json:"generations,omitempty"` // Counters.Generations
	Latency     bool `json:"latency,omitempty"`     // Counters.Latency
	Applied     bool `json:"applied,omitempty"`     // Counters.Applied
}

// Peer is an incarnation of a neighbour. A host has its own name; a node on no host, or one that
// has moved, has the node's name. The peers of one neighbour are in the order of their epochs; an
// incarnation that ran a node several times is listed several times. The last has Number 0: who has
// epochs above its First is not known yet.
type Peer struct {
	Host string `json:"host"`
	link.Incarnation
}

// Counters are a host's counters since it was made. While packets move, nodes are read at slightly
// different moments; at a quiescent point the counters are exact.
type Counters struct {
	// What the ledger takes. Host and Asked are the leader's to fill in.
	ledger.Answer

	Name     string     `json:"name"`
	Number   uint64     `json:"number"`   // of the spec
	At       weft.Time  `json:"at"`       // when the first node was read, on the host's own clock
	Now      weft.Time  `json:"now"`      // when it was answered, likewise
	First    weft.Epoch `json:"first"`    // of the spec: below all epochs of its links
	Observed uint64     `json:"observed"` // how much the host had observed by At, see [EventBatch.Upto]

	Blocked uint64        `json:"blocked"` // packets inside switches that wait for room in an output queue
	Drivers switchd.Stats `json:"drivers"`
	Links   wire.Stats    `json:"links"` // of this host; Add leaves it
	// the longest that a running timer keeps a register, or an end waits; 0: none does
	Timers weft.Time `json:"timers"`

	// Up has a bit for each end of the host, in the order of [Placement.Ends]: set if the end sees
	// its link up.
	Up       []byte `json:"up,omitempty"`
	HeldDown []End  `json:"held_down,omitempty"` // ends that damping keeps down

	FirstGeneration int `json:"first_generation,omitempty"` // of Generations
	// of all NICs together; of each NIC at most nic.MaxGenerations
	Generations      []nic.GenerationStats `json:"generations,omitempty"`
	OlderGenerations nic.GenerationStats   `json:"older_generations,omitzero"` // all before
	// of all NICs together: a histogram in nanoseconds, see [DecodeLatency]
	Latency []byte   `json:"latency,omitempty"`
	Applied *Applied `json:"applied,omitempty"` // what was done to the host
}

// End is an end of a link, as it travels.
type End struct {
	NIC  bool        `json:"nic,omitempty"`
	Node uint32      `json:"node"` // its SwitchID or NICID
	Port weft.PortID `json:"port,omitempty"`
}

// LinkDirection is one direction of a link, as it travels.
type LinkDirection struct {
	Link weft.LinkID `json:"link"`
	Back bool        `json:"back,omitempty"` // from B to A
}

// Applied is the lasting effect of all orders, for a leader that did not give them.
type Applied struct {
	Signals  []byte          `json:"signals"` // which ends have signal: bits as in Counters.Up
	Cut      []LinkDirection `json:"cut,omitempty"`
	Impaired []ImpairOrder   `json:"impaired,omitempty"`
	// of tables, per switch of the host in its order; nil: none has tables
	Versions   []uint64        `json:"versions,omitempty"`
	Traffic    TrafficOrder    `json:"traffic"`
	Generation uint16          `json:"generation"`
	Hold       bool            `json:"hold,omitempty"`
	Away       []weft.SwitchID `json:"away,omitempty"` // switches of the host that another one runs
	Orders     uint64          `json:"orders"`         // how many orders were carried out
}

// ReadRequest asks for readings of all nodes of the host.
type ReadRequest struct {
	Number uint64 `json:"number"`
	VCs    bool   `json:"vcs,omitempty"` // of virtual channels, and nothing else
}

// Readings are what viewers read of all nodes again and again.
type Readings struct {
	Number   uint64       `json:"number"`
	At       weft.Time    `json:"at"`
	Switches []SwitchRead `json:"switches"` // in the order of the host's [Placement]
	NICs     []NICRead    `json:"nics"`     // likewise
	VCs      []VCRead     `json:"vcs,omitempty"`
}

// NodeRequest asks for everything about some nodes.
type NodeRequest struct {
	Number   uint64          `json:"number"`
	Switches []weft.SwitchID `json:"switches,omitempty"`
	NICs     []weft.NICID    `json:"nics,omitempty"`
	Since    []weft.Time     `json:"since,omitempty"` // for each, what connections on NICs suffered since then
}

// Nodes are the nodes asked for, in the order of the request.
type Nodes struct {
	Number   uint64               `json:"number"`
	At       weft.Time            `json:"at"`
	Switches []switching.Snapshot `json:"switches,omitempty"`
	Flows    [][]link.Flow        `json:"flows,omitempty"` // per switch, per port
	NICs     []nic.Snapshot       `json:"nics,omitempty"`
	Drivers  []switchd.Stats      `json:"drivers,omitempty"`  // per switch, then per NIC
	Suffered []fault.Connections  `json:"suffered,omitempty"` // per moment asked for
}

// EndOrder says why a host is to end.
type EndOrder struct {
	Number uint64 `json:"number"` // 0: whichever there is
	Term   uint64 `json:"term,omitempty"`
	Stay   bool   `json:"stay,omitempty"` // its nodes stop, and it answers on for some seconds, or until an order without
	Why    string `json:"why"`
}

// EndOf is e in the form that travels.
func EndOf(e weft.End) End { return End{NIC: !e.Node.IsSwitch(), Node: e.Node.Index, Port: e.Port} }

// End is e in its usual form.
func (e End) End() weft.End {
	if e.NIC {
		return weft.End{Node: weft.NICID(e.Node).Node(), Port: e.Port}
	}
	return weft.End{Node: weft.SwitchID(e.Node).Node(), Port: e.Port}
}
