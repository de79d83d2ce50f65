// Package scenario reads scenario files, runs them on a live fabric and judges what they expect.
package scenario

import (
	_ "embed"

	"github.com/weft-fabric/weft/fabricd/document"
)

// File is a scenario as it is written. Parse turns it into a [Scenario].
type File struct {
	Name     string  `yaml:"name" json:"name" jsonschema_description:"Name of the scenario, shown in reports."`
	About    string  `yaml:"about,omitempty" json:"about,omitempty" jsonschema_description:"What the scenario claims, and how it shows it."`
	Topology string  `yaml:"topology" json:"topology" jsonschema_description:"As fabricd takes it: kary-ntree:4,3, mport-tree:8,3, mesh:4x4, torus:4x4x4, irregular:16,32,1, ring:8, or a topology file."`
	Firmware string  `yaml:"firmware" json:"firmware" jsonschema_description:"Routing function of every switch, as adaptive-link."`
	Switch   *Switch `yaml:"switch,omitempty" json:"switch,omitempty" jsonschema_description:"Virtual channels, buffers and policies of every switch."`
	NIC      *NIC    `yaml:"nic,omitempty" json:"nic,omitempty" jsonschema_description:"Send queue and packets of every NIC."`
	Link     *Link   `yaml:"link,omitempty" json:"link,omitempty" jsonschema_description:"Rate, pacing and delay of every link."`
	Traffic  string  `yaml:"traffic,omitempty" json:"traffic,omitempty" jsonschema_description:"What every NIC injects from the start: uniform:0.2 or pairwise:0.5 of the link rate, or none."`
	Seed     uint64  `yaml:"seed,omitempty" json:"seed,omitempty" jsonschema_description:"Seed of every random draw; 1 unless given."`
	Duration string  `yaml:"duration" json:"duration" jsonschema_description:"How long traffic runs, as 8s; then it stops and the fabric drains."`
	Timeline []Step  `yaml:"timeline,omitempty" json:"timeline,omitempty" jsonschema_description:"What happens when, in order."`
	Expect   Expect  `yaml:"expect" json:"expect" jsonschema_description:"What must hold at the end. That the ledger balances is always expected."`
}

// Switch configures every switch of a scenario.
type Switch struct {
	VCs          int    `yaml:"vcs,omitempty" json:"vcs,omitempty" jsonschema:"minimum=1,maximum=16" jsonschema_description:"Virtual channels per link direction; what the firmware needs unless given."`
	InputBuffer  int    `yaml:"input_buffer,omitempty" json:"input_buffer,omitempty" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"Packets per input VC queue; 2 unless given."`
	OutputBuffer int    `yaml:"output_buffer,omitempty" json:"output_buffer,omitempty" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"Packets per output VC queue; 2 unless given."`
	Queueing     string `yaml:"queueing,omitempty" json:"queueing,omitempty" jsonschema:"enum=virtual-output,enum=fifo" jsonschema_description:"Which packets of an input VC queue may go; virtual-output unless given."`
	Selection    string `yaml:"selection,omitempty" json:"selection,omitempty" jsonschema:"enum=most-credits,enum=random,enum=round-robin" jsonschema_description:"Which candidate with room is taken; most-credits unless given."`
	EagerCredits bool   `yaml:"eager_credits,omitempty" json:"eager_credits,omitempty" jsonschema_description:"Return each credit in a frame of its own at once."`
	Batch        int    `yaml:"batch,omitempty" json:"batch,omitempty" jsonschema:"minimum=1,maximum=1024" jsonschema_description:"Most packets in a frame; 64 unless given."`
}

// NIC configures every NIC of a scenario.
type NIC struct {
	QueueBytes  int `yaml:"queue_bytes,omitempty" json:"queue_bytes,omitempty" jsonschema:"minimum=1" jsonschema_description:"Bound of the send queue in bytes; 1300000 unless given."`
	PacketBytes int `yaml:"packet_bytes,omitempty" json:"packet_bytes,omitempty" jsonschema:"minimum=1,maximum=1048576" jsonschema_description:"Bytes per packet; 256 unless given."`
}

// Link configures every link of a scenario.
type Link struct {
	Rate  int    `yaml:"rate,omitempty" json:"rate,omitempty" jsonschema:"minimum=1" jsonschema_description:"Bytes per second that a load of 1 stands for; 256000 unless given."`
	Paced bool   `yaml:"paced,omitempty" json:"paced,omitempty" jsonschema_description:"Links send no faster than their rate."`
	Delay string `yaml:"delay,omitempty" json:"delay,omitempty" jsonschema_description:"Propagation delay, as 1ms."`
}

// Step is one entry of the timeline: a time and exactly one thing that happens.
type Step struct {
	At      string `yaml:"at" json:"at" jsonschema_description:"Time since traffic started, as 2s or 1500ms."`
	Cut     string `yaml:"cut,omitempty" json:"cut,omitempty" jsonschema_description:"Link to cut, signalled, as s0.00-s1.00."`
	Restore string `yaml:"restore,omitempty" json:"restore,omitempty" jsonschema_description:"Link or switch to bring back."`
	Crash   string `yaml:"crash,omitempty" json:"crash,omitempty" jsonschema_description:"Switch to crash, as s1.00."`
	Heal    bool   `yaml:"heal,omitempty" json:"heal,omitempty" jsonschema_description:"true: bring every link and switch back."`
	Traffic string `yaml:"traffic,omitempty" json:"traffic,omitempty" jsonschema_description:"What every NIC injects from now on."`
}

// Expect is what must hold once the traffic has stopped and the fabric has drained. What is left out is not judged.
type Expect struct {
	LostAtMost        *uint64 `yaml:"lost_at_most,omitempty" json:"lost_at_most,omitempty" jsonschema_description:"Most packets lost in all."`
	LostOnlyAtFaults  bool    `yaml:"lost_only_at_faults,omitempty" json:"lost_only_at_faults,omitempty" jsonschema_description:"Packets are lost only on the wires and in the queues of the links that a fault took down, at that moment, and no more than these hold; every packet generated after both ends had seen the last fault is delivered."`
	Discarded         *uint64 `yaml:"discarded,omitempty" json:"discarded,omitempty" jsonschema_description:"Most packets discarded by switches."`
	AllPairsConnected bool    `yaml:"all_pairs_connected,omitempty" json:"all_pairs_connected,omitempty" jsonschema_description:"After the timeline, with its faults still in force, one packet from every NIC to every other is delivered."`
	InOrder           bool    `yaml:"in_order,omitempty" json:"in_order,omitempty" jsonschema_description:"No packet arrives after a later one of its flow."`
	ReroutesAtLeast   uint64  `yaml:"reroutes_at_least,omitempty" json:"reroutes_at_least,omitempty" jsonschema_description:"Fewest decisions to go another way because of a fault."`
	DirectAfterHeal   bool    `yaml:"direct_after_heal,omitempty" json:"direct_after_heal,omitempty" jsonschema_description:"No packet generated after the last repair is re-routed or makes a U-turn."`
	DeliveredAtLeast  uint64  `yaml:"delivered_at_least,omitempty" json:"delivered_at_least,omitempty" jsonschema_description:"Fewest packets delivered."`
}

// Schema is the JSON Schema of scenario files, as docs/schema/scenario.schema.json publishes it.
func Schema() ([]byte, error) {
	return document.Schema(File{}, "https://weft-fabric.github.io/schema/scenario.schema.json", "Weft scenario")
}
