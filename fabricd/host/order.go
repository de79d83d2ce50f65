package host

import (
	"errors"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/tables"
)

// Order is what a host is to do: the fields in their sequence, each list from its beginning. The
// host answers when all is done. An order that names nodes, ports or links that the host does not
// have is refused whole.
type Order struct {
	Number uint64 `json:"number"` // of the spec
	Term   uint64 `json:"term,omitempty"`

	// After is how many orders the host had carried out when the leader asked what was done to it,
	// which this order completes. A host that has carried out another one since refuses it: that
	// one came late. nil: it does not matter.
	After *uint64 `json:"after,omitempty"`

	// Clock puts the host's clock forward by so much, because the leader has found it behind;
	// packets on their way look older by it. Negative: the clock is ahead, and goes slower until it
	// has lost so much.
	Clock    weft.Time       `json:"clock,omitempty"`
	Cut      []LinkDirection `json:"cut,omitempty"`      // directions with an end in the host that are cut from now on
	Restored []LinkDirection `json:"restored,omitempty"` // and others that no longer are
	Impair   []ImpairOrder   `json:"impair,omitempty"`
	Await    []AwaitOrder    `json:"await,omitempty"`
	Refuse   []RefuseOrder   `json:"refuse,omitempty"`
	Release  []ReleaseOrder  `json:"release,omitempty"` // switches that another host runs from now on
	Take     []TakeOrder     `json:"take,omitempty"`    // and others that this one runs
	Crash    []weft.SwitchID `json:"crash,omitempty"`   // lose all that is inside
	// SignalAll gives signal to all ends without it, except those that Signals takes it from and
	// those of switches that another host runs.
	SignalAll bool          `json:"signal_all,omitempty"`
	Signals   []SignalOrder `json:"signals,omitempty"` // an end that loses signal and gets it again is in the list twice
	// Restart are switches that return: each gets its Signals in one step, after all other ends;
	// see switching.ReturnWait.
	Restart []weft.SwitchID `json:"restart,omitempty"`

	Generation *uint16         `json:"generation,omitempty"`
	Hold       *bool           `json:"hold,omitempty"`      // NICs inject nothing, or do again
	Readdress  []weft.SwitchID `json:"readdress,omitempty"` // the NICs of these switches send by the addresses of now
	Traffic    *TrafficOrder   `json:"traffic,omitempty"`
	TimeFactor float64         `json:"time_factor,omitempty"` // of the host's clock, see [Clock]; 0: as before
	Notices    []weft.Notice   `json:"notices,omitempty"`     // for sources that are NICs of the host
	Mark       []MarkOrder     `json:"mark,omitempty"`
	Unmark     []MarkOrder     `json:"unmark,omitempty"`
	Send       []SendOrder     `json:"send,omitempty"`

	Counters *CountersRequest `json:"counters,omitempty"` // what the counters of the answer are to hold; nil: the least
}

// OrderAnswer is the result of an order.
type OrderAnswer struct {
	Counters  Counters    `json:"counters"`             // taken when all was done
	Released  []Released  `json:"released,omitempty"`   // per entry of Release
	Mark      []MarkReply `json:"mark,omitempty"`       // per entry of Mark
	MarksLeft []int       `json:"marks_left,omitempty"` // per entry of Unmark, marks that no packet has taken
	Sent      []SendReply `json:"sent,omitempty"`       // per entry of Send
}

// SignalOrder gives signal to an end, or takes it.
type SignalOrder struct {
	End End  `json:"end"`
	Up  bool `json:"up,omitempty"`
}

// ImpairOrder sets the impairment of the direction out of an end. Zero is none.
type ImpairOrder struct {
	End    End             `json:"end"`
	Impair link.Impairment `json:"impair"`
}

// TrafficOrder sets the traffic of all NICs of the fabric; each host makes the sources of its own
// NICs.
type TrafficOrder struct {
	Spec string `json:"spec"` // as nic.ParseTraffic reads it; "none" stops it
	// the state of the PCG that draws what the pattern leaves to chance, before it draws
	Draws []byte `json:"draws,omitempty"`
	Trace []byte `json:"trace,omitempty"` // of a trace its file, compressed as [wire.Compress] does

	Sources []nic.Source `json:"-" msgpack:"-"` // of all NICs, for a host that is reached by calls; nil: it makes them
}

// MarkOrder marks the next packets of a flow to be traced, or takes marks back; see [nic.NIC.Mark].
type MarkOrder struct {
	Src   weft.NICID `json:"src"`
	Dst   weft.NICID `json:"dst"`
	Count int        `json:"count"`
}

// MarkReply is the result of a mark.
type MarkReply struct {
	Busy bool `json:"busy,omitempty"` // the NIC has packets of its own to send
	Refusal
}

// SendOrder puts one packet into the send queue of a NIC.
type SendOrder struct {
	Src    weft.NICID `json:"src"`
	Dst    weft.NICID `json:"dst"`
	Bytes  int        `json:"bytes"`
	Traced bool       `json:"traced,omitempty"`
}

// SendReply is the result of a SendOrder.
type SendReply struct {
	Seq uint64 `json:"seq"`
	Refusal
}

// Refusal says why something was not done; empty: it was done.
type Refusal struct {
	Err string `json:"err,omitempty"`
	err error  // of a host that is reached by calls
}

func refusal(err error) Refusal { return Refusal{text(err), err} }

// Reason is Err as an error.
func (r Refusal) Reason() error {
	if r.err == nil && r.Err != "" {
		return errors.New(r.Err)
	}
	return r.err
}

// LoadOrder gives switches other tables, and their NICs what these say about sending. A patch that
// cannot be applied leaves the other switches alone.
type LoadOrder struct {
	Number  uint64          `json:"number"` // of the spec
	Term    uint64          `json:"term,omitempty"`
	Patches []*tables.Patch `json:"patches"`
	Files   []File          `json:"files,omitempty"` // that patches with a routing need
	// Made is what each patch comes to, for a host that is reached by calls; nil: the host makes it.
	Made []*Loaded `json:"-" msgpack:"-"`
}

// File is what a host must keep to make a firmware by its name, see [subnet.Pin].
type File struct {
	Routing string `json:"routing"`
	Bytes   []byte `json:"bytes"`
}

// LoadAnswer is the result of a LoadOrder, per patch, once all that can be are in force.
type LoadAnswer struct {
	Versions []LoadedVersion `json:"versions"`
}

// LoadedVersion is the version that a switch forwards by after a patch.
type LoadedVersion struct {
	Switch  weft.SwitchID `json:"switch"`
	Version uint64        `json:"version"`
	Err     string        `json:"err,omitempty"` // why it is not the patch's
}
