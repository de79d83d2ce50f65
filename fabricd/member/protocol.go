package member

import (
	"errors"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/linkmon/liveness"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/credit"
	"github.com/weft-fabric/weft/switch/pace"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Verbs that a process requests of the fabric.
const (
	VerbJoin   = "join"
	VerbAttach = "attach"
	VerbLeave  = "leave"
)

// Verbs that the fabric asks of a process. Each is answered by an [Answer].
const (
	AskState = "state"
	AskPort  = "port"  // a [PortOrder]
	AskCut   = "cut"   // a [CutOrder]
	AskCrash = "crash" // lose all that is inside
	AskEnd   = "end"   // the fabric has ended, and so should the process; an [EndOrder]
)

// TellSeen is the kind of what a process tells: a [Seen].
const TellSeen = "seen"

// JoinRequest asks to become a switch.
type JoinRequest struct {
	Switch string `json:"switch"`
	PID    int    `json:"pid"`
	Host   string `json:"host"`
}

// AttachRequest asks for signal on all links, or to be released from being a switch.
type AttachRequest struct {
	Switch string `json:"switch"`
	Number uint64 `json:"number"` // of the charter
}

// Charter is all that a process needs to be a switch.
type Charter struct {
	Fabric   string `json:"fabric"`
	Number   uint64 `json:"number"`   // of this incarnation; no other has it
	Topology string `json:"topology"` // a topology file
	Firmware string `json:"firmware"` // by name

	VCs          int                 `json:"vcs"`
	InputBuffer  int                 `json:"input_buffer"`  // packets per VC
	OutputBuffer int                 `json:"output_buffer"` // packets per VC
	Queueing     switching.Queueing  `json:"queueing"`
	Selection    switching.Selection `json:"selection"`
	Waiting      switching.Waiting   `json:"waiting"`
	EagerCredits bool                `json:"eager_credits"`
	Requeue      bool                `json:"requeue"`
	Batch        int                 `json:"batch"`
	Liveness     liveness.Config     `json:"liveness"`
	Pace         pace.Pace           `json:"pace"`
	Inbox        int                 `json:"inbox"` // frames that may be on their way to one port
	Seed         uint64              `json:"seed"`
	Epoch        weft.Epoch          `json:"epoch"` // before the first of every link
	Packets      bool                `json:"packets"`
	Notices      bool                `json:"notices"` // tell sources of discards

	Shards      int             `json:"shards"`
	Credentials bus.Credentials `json:"credentials"` // none: the broker is not the fabric's own, use yours

	Host    string    `json:"host"`    // of the fabric
	Started time.Time `json:"started"` // by the wall clock of that host
	Now     weft.Time `json:"now"`     // by the fabric's clock, when it answered
}

// Answer is what a process answers: its state after what was asked.
type Answer struct {
	Number   uint64    `json:"number"`   // of the charter
	At       weft.Time `json:"at"`       // when it was so
	Observed uint64    `json:"observed"` // how much it had seen by then, see [Seen.Upto]
	Lost     uint64    `json:"lost"`     // observations of packets that were too many to tell

	Snapshot switching.Snapshot `json:"snapshot"`
	Flows    []credit.Flow      `json:"flows"` // per port
	Driver   switchd.Stats      `json:"driver"`
	Links    bus.Stats          `json:"links"`
}

// PortOrder says what is to become of one port. What is nil stays.
type PortOrder struct {
	Port   weft.PortID      `json:"port"`
	Signal *bool            `json:"signal,omitempty"`
	Impair *pace.Impairment `json:"impair,omitempty"`
}

// CutOrder names directions of the process's links that are cut from now on, and others that no longer are.
type CutOrder struct {
	Cut      []bus.Direction `json:"cut,omitempty"`
	Restored []bus.Direction `json:"restored,omitempty"`
}

// EndOrder says why a process is to end.
type EndOrder struct {
	Why string `json:"why"`
}

// Seen is what a process has observed, oldest first.
type Seen struct {
	Number uint64        `json:"number"` // of the charter
	Upto   uint64        `json:"upto"`   // how many observations it has made, with these
	Events []Observation `json:"events"`
}

// Observation is what a core reported at one moment, see [weft.Actions].
type Observation struct {
	At      weft.Time         `json:"at"`
	Drops   []weft.Drop       `json:"drops,omitempty"`
	Hops    []weft.Hop        `json:"hops,omitempty"`
	Left    []weft.Departure  `json:"left,omitempty"`
	Changes []weft.PortChange `json:"changes,omitempty"`
	Turned  int               `json:"turned,omitempty"`
	Effects bool              `json:"effects,omitempty"` // packets were dropped, and which does not matter
	Faults  []Fault           `json:"faults,omitempty"`
	Notices []weft.Notice     `json:"notices,omitempty"`
}

// Fault is a [weft.Fault] that travels.
type Fault struct {
	Port weft.PortID `json:"port"`
	Text string      `json:"text"`
}

// Actions is o in the words of a core.
func (o Observation) Actions() *weft.Actions {
	a := &weft.Actions{Drops: o.Drops, Hops: o.Hops, Left: o.Left, Changes: o.Changes, Turned: o.Turned, Notices: o.Notices, WakeAt: weft.Never}
	for _, f := range o.Faults {
		a.Faults = append(a.Faults, weft.Fault{Port: f.Port, Err: errors.New(f.Text)})
	}
	return a
}
