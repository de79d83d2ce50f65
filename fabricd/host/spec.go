package host

import (
	"encoding/json"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/settings"
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

	Topology  []byte    `json:"topology"`       // of the whole fabric: a YAML file, compressed by [wire.Compress]
	Routing   string    `json:"routing"`        // by name, pinned
	File      []byte    `json:"file,omitempty"` // of the routing, see [subnet.Pin]
	Placement Placement `json:"placement"`      // what this host is
	// Placements says on which host every node is, and so in which shard.
	Placements []Placement `json:"placements"`

	// As those of the fabric, all of them given: a host has no defaults.
	Switch   settings.Switch   `json:"switch"`
	NIC      settings.NIC      `json:"nic"`
	Link     settings.Link     `json:"link"`
	Liveness settings.Liveness `json:"liveness"`
	Inbox    int               `json:"inbox"` // frames that may be on their way to one port
	Seed     uint64            `json:"seed"`
	Epoch    weft.Epoch        `json:"epoch"` // before the first of every link

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
