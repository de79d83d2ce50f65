// Package format is what a scenario file holds, as it is written: its types, their text, its JSON
// Schema, and [Write]. Package scenario reads, checks and runs files.
package format

import (
	_ "embed"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/settings"
)

// File is a scenario as it is written. Package scenario turns it into what it runs.
type File struct {
	Name  string `yaml:"name" json:"name" jsonschema_description:"Name of the scenario, shown in reports."`
	About string `yaml:"about,omitempty" json:"about,omitempty" jsonschema_description:"What the scenario claims, and how it shows it."`

	settings.Settings `yaml:",inline"`

	Routings map[string]string `yaml:"routings,omitempty" json:"routings,omitempty" jsonschema_description:"The routing of single switches, by name, where it is not that of the others; as in the middle of a roll-out."`
	Duration Duration          `yaml:"duration" json:"duration" jsonschema_description:"How long traffic runs, as 8s; then it stops and the fabric drains."`
	Choices  []Choice          `yaml:"choices,omitempty" json:"choices,omitempty" jsonschema_description:"Which way packets take where the firmware leaves several. The first that is about a packet, and names one of its ways, counts."`
	Timeline []Step            `yaml:"timeline,omitempty" json:"timeline,omitempty" jsonschema_description:"What happens when, in order."`
	Failures *Failures         `yaml:"failures,omitempty" json:"failures,omitempty" jsonschema_description:"Cuts of links between switches that the seed draws, beside the timeline."`
	Programs []Program         `yaml:"programs,omitempty" json:"programs,omitempty" jsonschema_description:"Unmodified programs that talk through the fabric, each by a NIC. Live, on Linux, and where fabricd run --programs allows them."`
	Expect   Expect            `yaml:"expect" json:"expect" jsonschema_description:"What must hold at the end. That the ledger balances is always expected."`
}

// FabricFile is what fabricd up reads: a scenario, or one that lacks what is for fabricd run alone.
type FabricFile struct {
	Name  string `yaml:"name,omitempty"`
	About string `yaml:"about,omitempty"`

	settings.Settings `yaml:",inline"`

	Routings map[string]string `yaml:"routings,omitempty"`
	Duration Duration          `yaml:"duration,omitempty"`
	Choices  []Choice          `yaml:"choices,omitempty"`
	Timeline []Step            `yaml:"timeline,omitempty"`
	Failures *Failures         `yaml:"failures,omitempty"`
	Programs []Program         `yaml:"programs,omitempty"`
	Expect   Expect            `yaml:"expect,omitempty"`
}

// Choice settles one choice that the firmware leaves open: of the ways of packets that come into a
// switch by a port, the one to another port is taken.
type Choice struct {
	Switch string `yaml:"switch" json:"switch" jsonschema:"minLength=1" jsonschema_description:"The switch, as s1.00."`
	In     Port   `yaml:"in" json:"in" jsonschema_description:"Where the packet comes from: the neighbour's name, as n000, or the number of the port."`
	To     Port   `yaml:"to" json:"to" jsonschema_description:"Where it goes if the firmware lets it: the neighbour's name, or the number of the port."`
	VC     *int   `yaml:"vc,omitempty" json:"vc,omitempty" jsonschema:"minimum=0,maximum=15" jsonschema_description:"In this virtual channel; in any unless given."`
	Hop    int    `yaml:"hop,omitempty" json:"hop,omitempty" jsonschema:"minimum=1,maximum=32768" jsonschema_description:"Only when the packet has come to so many switches, this one included; always unless given."`
	Every  int    `yaml:"every,omitempty" json:"every,omitempty" jsonschema:"minimum=1,maximum=32768" jsonschema_description:"With hop: and each time that it has crossed so many more."`
}

// Send is packets that one NIC sends to another.
type Send struct {
	From  string `yaml:"from" json:"from" jsonschema:"minLength=1" jsonschema_description:"The NIC that sends, as n000."`
	To    string `yaml:"to" json:"to" jsonschema:"minLength=1" jsonschema_description:"The NIC that it sends to."`
	Count int    `yaml:"count,omitempty" json:"count,omitempty" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"How many packets, one after another; 1 unless given."`
}

// Step is one entry of the timeline: a time, exactly one thing that happens, and its parameters.
// Steps that follow each other with the same time happen at one instant, all of them or none.
type Step struct {
	At      Duration `yaml:"at" json:"at" jsonschema_description:"Time since traffic started, as 2s or 1500ms."`
	Cut     Names    `yaml:"cut,omitempty" json:"cut,omitempty" jsonschema_description:"Link to cut, as s0.00-s1.00, or a list of links. With direction, silent, for."`
	Flap    Names    `yaml:"flap,omitempty" json:"flap,omitempty" jsonschema_description:"Link to cut and restore again and again, or a list of links. With period, duty, jitter, count, direction, silent, for."`
	Impair  Names    `yaml:"impair,omitempty" json:"impair,omitempty" jsonschema_description:"Link to carry packets badly, or a list of links. With loss, delay, jitter, rate, clear, direction, for."`
	Crash   Names    `yaml:"crash,omitempty" json:"crash,omitempty" jsonschema_description:"Switch to crash, as s1.00, or a list of switches. With for."`
	Restore Names    `yaml:"restore,omitempty" json:"restore,omitempty" jsonschema_description:"Link or switch to bring back, or a list of them. With direction."`
	Restart Names    `yaml:"restart,omitempty" json:"restart,omitempty" jsonschema_description:"Crashed switch to start again, empty, or a list of switches."`
	Heal    bool     `yaml:"heal,omitempty" json:"heal,omitempty" jsonschema_description:"true: bring every link and switch back."`
	Traffic string   `yaml:"traffic,omitempty" json:"traffic,omitempty" jsonschema_description:"What every NIC injects from now on."`
	Send    *Send    `yaml:"send,omitempty" json:"send,omitempty" jsonschema_description:"Packets that one NIC sends beside the traffic."`

	Direction string   `yaml:"direction,omitempty" json:"direction,omitempty" jsonschema:"enum=to,enum=from,enum=both" jsonschema_description:"to: only from the first end named towards the second; from: the other way; both unless given."`
	Silent    bool     `yaml:"silent,omitempty" json:"silent,omitempty" jsonschema_description:"Nobody is told, the ends must find out."`
	For       Duration `yaml:"for,omitempty" json:"for,omitempty" jsonschema_description:"The fault ends by itself after this long, as 10s; it lasts unless given."`
	Period    Duration `yaml:"period,omitempty" json:"period,omitempty" jsonschema_description:"From one cut of a flap to the next, as 1s."`
	Duty      Percent  `yaml:"duty,omitempty" json:"duty,omitempty" jsonschema_description:"Share of a period that the link is down, as 30%; 50% unless given."`
	Count     int      `yaml:"count,omitempty" json:"count,omitempty" jsonschema:"minimum=1" jsonschema_description:"Periods of a flap, after which the link stays up; until repaired unless given."`
	Jitter    Duration `yaml:"jitter,omitempty" json:"jitter,omitempty" jsonschema_description:"Of a flap: every edge comes late by up to this. Of impair: the delay differs by up to this either way."`
	Loss      Percent  `yaml:"loss,omitempty" json:"loss,omitempty" jsonschema_description:"Share of frames lost, with the packets in them; drawn for each frame, as 10%."`
	Delay     Duration `yaml:"delay,omitempty" json:"delay,omitempty" jsonschema_description:"Time added to the link's own delay, as 5ms."`
	Rate      Rate     `yaml:"rate,omitempty" json:"rate,omitempty" jsonschema_description:"Most that the link carries, as 100kB/s, 8Mbit/s or unlimited."`
	Clear     bool     `yaml:"clear,omitempty" json:"clear,omitempty" jsonschema_description:"What the link suffered before ends; otherwise the figures given are merged with it."`
}

// Program is one that a scenario starts. It runs in the folder of the scenario's file. Programs of
// one NIC share its network. The scenario ends those that still run at its end.
type Program struct {
	Name    string   `yaml:"name,omitempty" json:"name,omitempty" jsonschema_description:"What reports call it; the first word of its command unless given."`
	On      string   `yaml:"on" json:"on" jsonschema:"minLength=1" jsonschema_description:"The NIC whose packets it sends and takes, as n000."`
	Command []string `yaml:"command" json:"command" jsonschema:"minItems=1" jsonschema_description:"The program and its arguments, as [iperf3, --client, n000]."`
	At      Duration `yaml:"at,omitempty" json:"at,omitempty" jsonschema_description:"When it starts, since traffic started; at once unless given."`
	Expect  Ending   `yaml:"expect,omitempty" json:"expect,omitempty" jsonschema_description:"What must hold of it. What is left out is not judged, but that it can be started."`
}

// Ending is what a scenario expects of a program.
type Ending struct {
	Exit   *int     `yaml:"exit,omitempty" json:"exit,omitempty" jsonschema:"minimum=0,maximum=255" jsonschema_description:"It ends by itself before the scenario does, with this exit code; 128 and the number of the signal that ended it."`
	Output string   `yaml:"output,omitempty" json:"output,omitempty" jsonschema_description:"A line of its output or its errors has this text, or matches it as a regular expression of RE2."`
	Within Duration `yaml:"within,omitempty" json:"within,omitempty" jsonschema_description:"It ends by itself within this time after its start, by the clock of the fabric, as 10s."`
}

// Failures are so many cuts, one after the other.
type Failures struct {
	Count int      `yaml:"count" json:"count" jsonschema:"minimum=1,maximum=100000" jsonschema_description:"How many links are cut, one after the other; a link that is back may be drawn again."`
	From  Duration `yaml:"from" json:"from" jsonschema_description:"When the first is cut, since traffic started."`
	Every Duration `yaml:"every" json:"every" jsonschema_description:"From one cut to the next."`
	For   Duration `yaml:"for" json:"for" jsonschema_description:"How long each lasts."`
}

// Expect is what must hold once the traffic has stopped and the fabric has drained. What is left
// out is not judged.
type Expect struct {
	LostAtMost        *uint64  `yaml:"lost_at_most,omitempty" json:"lost_at_most,omitempty" jsonschema_description:"Most packets lost in all."`
	LostAtLeast       uint64   `yaml:"lost_at_least,omitempty" json:"lost_at_least,omitempty" jsonschema_description:"Fewest packets lost in all."`
	LostOnlyAtFaults  bool     `yaml:"lost_only_at_faults,omitempty" json:"lost_only_at_faults,omitempty" jsonschema_description:"Packets are lost only on the wires and in the queues of the links that a fault took down, at that moment, and no more than these hold; every packet generated after both ends had seen the last fault is delivered."`
	Discarded         *uint64  `yaml:"discarded,omitempty" json:"discarded,omitempty" jsonschema_description:"Most packets discarded by switches."`
	AllPairsConnected bool     `yaml:"all_pairs_connected,omitempty" json:"all_pairs_connected,omitempty" jsonschema_description:"After the timeline, with its faults still in force, one packet from every NIC to every other is delivered."`
	InOrder           bool     `yaml:"in_order,omitempty" json:"in_order,omitempty" jsonschema_description:"No packet arrives after a later one of its flow."`
	ReroutesAtLeast   uint64   `yaml:"reroutes_at_least,omitempty" json:"reroutes_at_least,omitempty" jsonschema_description:"Fewest decisions to go another way because of a fault."`
	RequeuedAtLeast   uint64   `yaml:"requeued_at_least,omitempty" json:"requeued_at_least,omitempty" jsonschema_description:"Fewest packets taken back from the output queues of dead links."`
	Duplicated        *uint64  `yaml:"duplicated,omitempty" json:"duplicated,omitempty" jsonschema_description:"Most packets that arrived twice."`
	DirectAfterHeal   bool     `yaml:"direct_after_heal,omitempty" json:"direct_after_heal,omitempty" jsonschema_description:"No packet generated after the last repair is re-routed or makes a U-turn."`
	DeliveredAtLeast  uint64   `yaml:"delivered_at_least,omitempty" json:"delivered_at_least,omitempty" jsonschema_description:"Fewest packets delivered."`
	HopsAtMost        int      `yaml:"hops_at_most,omitempty" json:"hops_at_most,omitempty" jsonschema:"minimum=1" jsonschema_description:"Most switches that a delivered packet crossed."`
	DetectedWithin    Duration `yaml:"detected_within,omitempty" json:"detected_within,omitempty" jsonschema_description:"Both ends of every link that is cut silently for longer than this find out within it, as 200ms."`
	NoFalseDetection  bool     `yaml:"no_false_detection,omitempty" json:"no_false_detection,omitempty" jsonschema_description:"No end takes a neighbour for silent whose link suffers no fault."`
	LostWithin        Duration `yaml:"lost_within,omitempty" json:"lost_within,omitempty" jsonschema_description:"No packet is lost or discarded later than this after a fault began or ended, as 2s; looked at every 100 ms."`
	MadeGoodWithin    Duration `yaml:"made_good_within,omitempty" json:"made_good_within,omitempty" jsonschema_description:"Throughput that fell after a fault is made good within this time after it, as 2s."`
}

// Schema is the JSON Schema of scenario files, as docs/schema/scenario.schema.json publishes it.
func Schema() ([]byte, error) {
	return document.Schema(File{}, "scenario")
}
