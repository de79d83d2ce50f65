package host

import (
	"encoding/json"
	"time"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/pace"
)

// Spec is all that a process needs to be a host.
type Spec struct {
	Fabric string `json:"fabric"`
	Host   string `json:"host"`
	Number uint64 `json:"number"` // of this incarnation; above those of all hosts before it in the fabric
	Term   uint64 `json:"term,omitempty"`
	// Again counts the earlier hosts of these nodes, under this name or another: 0 the first time.
	// It makes their NICs number packets anew, so that nobody takes the gap for a loss. At most
	// nic.MaxIncarnation.
	Again uint32 `json:"again,omitempty"`

	Topology  []byte    `json:"topology"`  // of the whole fabric: a YAML topology file, compressed as [deflate.Compress] does
	Routing   string    `json:"routing"`   // by name
	Placement Placement `json:"placement"` // what this host is
	// Placements says on which host every node is, and so in which shard.
	Placements []Placement `json:"placements"`

	Switch SwitchOptions `json:"switch"`
	NIC    NICOptions    `json:"nic"`
	Link   LinkOptions   `json:"link"`
	Seed   uint64        `json:"seed"`
	Epoch  weft.Epoch    `json:"epoch"` // before the first of every link

	Generation uint16 `json:"generation,omitempty"` // at which its NICs begin
	Hold       bool   `json:"hold,omitempty"`       // they inject nothing until told to

	// Packets makes the host tell of every packet that is dropped; else only of those traced.
	Packets bool `json:"packets,omitempty"`

	// Now is the fabric's time when the spec was written. The host's clock goes on from there by
	// its machine's clock, so it is behind by the time that the spec was on its way; the leader
	// measures that, see [Counters].Now.
	Now weft.Time `json:"now"`

	// Credentials are the process's on the broker, in a form that the broker's owner knows; empty
	// in checkpoints.
	Credentials json.RawMessage `json:"credentials,omitempty"`
}

// SwitchOptions are the options of every switch; zero values are the defaults of
// [switching.Config].
type SwitchOptions struct {
	VCs          int                 `json:"vcs"`
	InputBuffer  int                 `json:"input_buffer"`  // packets per VC
	OutputBuffer int                 `json:"output_buffer"` // packets per VC
	Queueing     switching.Queueing  `json:"queueing"`
	Selection    switching.Selection `json:"selection"`
	Waiting      switching.Waiting   `json:"waiting"`
	EagerCredits bool                `json:"eager_credits"`
	Requeue      bool                `json:"requeue"` // route the packets queued for a dead link anew instead of losing them
	Batch        int                 `json:"batch"`   // most packets in a frame; 0 means switchd.DefaultBatch
}

// NICOptions are the options of every NIC; see [nic.Config].
type NICOptions struct {
	QueueBytes  int `json:"queue_bytes"`  // of the send queue; 0 means nic.DefaultQueueBytes
	PacketBytes int `json:"packet_bytes"` // 0 means nic.DefaultPacketBytes
	TraceEvery  int `json:"trace_every"`  // one generated packet in so many is traced; 0 is none

	// Notices is how long a source pauses a destination after a switch has notified it that it
	// discarded a packet; 0: switches do not notify. The firmware must be a [switching.Notifier].
	Notices   time.Duration `json:"notices"`
	Unordered bool          `json:"unordered"` // see [nic.Config]: nothing is known of flows then
}

// LinkOptions are the options of every link.
type LinkOptions struct {
	Rate     float64       `json:"rate"` // bytes per second, what a load of 1 means
	Pace     pace.Pace     `json:"pace"`
	Liveness link.Liveness `json:"liveness"`
	Inbox    int           `json:"inbox"` // frames that may be on their way to one port
}
