package fault

import (
	"encoding/json"
	"maps"
	"slices"
)

// How an end of a link finds out that something is wrong.
const (
	BySignal    = "signal"    // it lost signal at once
	BySilence   = "silence"   // hellos were missed
	ByNeighbour = "neighbour" // the other end said that it hears nothing
	ByProcess   = "process"   // the switch at the other end went away as a process
	ByBroker    = "broker"    // the connection to the broker is gone
)

// Kinds of report beside the verbs.
const (
	KindBroker   = "broker"   // a connection to the broker was lost
	KindSilence  = "silence"  // a neighbour was not heard, and nothing above explains it
	KindHandover = "handover" // a switch moved to another host
	KindProcess  = "process"  // the process of a switch ended, or did not answer
	KindHost     = "host"     // a host of the fabric ended, or did not answer, with all its switches and NICs
)

// Report is what one fault cost. Times are in seconds: At, RestoredAt, CountedFrom and CountedTo
// since the start of the fabric, the others since At. Scripts rely on the JSON.
type Report struct {
	ID        int       `json:"id"`                  // from 1, in order
	Kind      string    `json:"kind"`                // the [Verb], or what else went wrong, such as "broker"
	Target    string    `json:"target"`              // link or switch
	What      string    `json:"what"`                // the order in one line, see [Spec.String]
	Note      string    `json:"note,omitempty"`      // what else there is to know of it, or of how it was counted
	Direction Direction `json:"direction,omitempty"` // of a link that suffers in one direction
	Silent    bool      `json:"silent,omitempty"`

	At         float64 `json:"at"`                    // seconds
	RestoredAt float64 `json:"restored_at,omitempty"` // seconds; 0: it lasts

	// by each end that has, in the order they did
	Detected     []Detection `json:"detected"`
	SeenAfter    float64     `json:"seen_after_seconds"`                          // when the last of them had acted on it
	FirstReroute *float64    `json:"first_reroute_seconds" jsonschema:"nullable"` // nil: none

	LostWire    uint64            `json:"lost_wire"`    // packets on the wire
	LostQueued  uint64            `json:"lost_queued"`  // packets in the output queues of dead links
	LostCrash   uint64            `json:"lost_crash"`   // packets inside the crashed switch
	Rerouted    uint64            `json:"rerouted"`     // decisions to go another way
	Requeued    uint64            `json:"requeued"`     // packets taken back from the output queues of dead links
	Discarded   uint64            `json:"discarded"`    // packets that no switch could forward
	DiscardedBy map[string]uint64 `json:"discarded_by"` // the same, by rule of the firmware
	Reordered   uint64            `json:"reordered"`    // packets that arrived after a later one of their flow
	Duplicated  uint64            `json:"duplicated"`   // packets that arrived twice
	Extra       ExtraHops         `json:"extra_hops"`
	Degradation Degradation       `json:"throughput"`
	// of programs; nil: none sent anything
	Connections *Connections `json:"connections,omitempty"`
	// when the latest of all this was counted; nil: nothing was
	LastEffect *float64 `json:"last_effect_seconds" jsonschema:"nullable"`

	// reports of faults counted at the same time: until 1 s after repair
	SharedWith []int    `json:"shared_with,omitempty"`
	Shared     []string `json:"shared,omitempty"` // JSON names of the figures that may be due to any of them
	Open       bool     `json:"open"`             // it lasts, or its effects are still being counted
	// seconds: figures of all the fabric count from here; later than At when it was noticed late
	CountedFrom float64 `json:"counted_from"`
	CountedTo   float64 `json:"counted_to"` // seconds: effects later than this are not in it
	Generation  uint16  `json:"era"`        // packets of later generations were generated after it was acted on

	Reconfiguration *Reconfiguration `json:"reconfiguration,omitempty"` // by the subnet manager; nil: none, or not yet
}

// Detection is one end finding out.
type Detection struct {
	End          string  `json:"end"` // node
	Port         int     `json:"port"`
	AfterSeconds float64 `json:"after_seconds"`
	How          string  `json:"how"` // one of the By constants
}

// ExtraHops is by how many switches the paths of re-routed packets were longer than the shortest.
type ExtraHops struct {
	Packets uint64  `json:"packets"` // re-routed packets delivered while the fault was counted
	Mean    float64 `json:"mean"`    // switches beyond the shortest path
	Most    int     `json:"most"`    // the same, of the packet with the longest path
}

// FabricWide lists the JSON names of the figures that are counted over the whole fabric. When
// several faults are in force, these figures may be due to any of them, and [Report].Shared names
// them, and connections where there are some. The other figures belong to one link or switch.
func FabricWide() []string {
	return []string{
		"first_reroute_seconds", "rerouted", "requeued", "discarded", "discarded_by", "reordered", "duplicated", "extra_hops",
		"throughput",
		"last_effect_seconds",
	}
}

// Lost is how many packets the fault cost, without those that switches discarded.
func (r Report) Lost() uint64 { return r.LostWire + r.LostQueued + r.LostCrash }

// Clone is a copy that shares nothing with r.
func (r Report) Clone() Report {
	r.Detected, r.DiscardedBy = slices.Clone(r.Detected), maps.Clone(r.DiscardedBy)
	r.SharedWith, r.Shared = slices.Clone(r.SharedWith), slices.Clone(r.Shared)
	for _, s := range []**float64{
		&r.FirstReroute, &r.LastEffect, &r.Degradation.LowestAfter,
		&r.Degradation.MadeGoodAfter,
	} {
		if *s != nil {
			*s = new(**s)
		}
	}
	if r.Connections != nil {
		r.Connections = new(*r.Connections)
		r.Connections.Worst = slices.Clone(r.Connections.Worst)
	}
	if r.Reconfiguration != nil {
		r.Reconfiguration = new(*r.Reconfiguration)
		r.Reconfiguration.Without = slices.Clone(r.Reconfiguration.Without)
		r.Reconfiguration.Lost = slices.Clone(r.Reconfiguration.Lost)
	}
	return r
}

// MarshalJSON writes empty lists and maps as such, never as null, so that scripts can iterate over
// them.
func (r Report) MarshalJSON() ([]byte, error) {
	type fields Report // without this method
	if r.Detected == nil {
		r.Detected = []Detection{}
	}
	if r.DiscardedBy == nil {
		r.DiscardedBy = map[string]uint64{}
	}
	return json.Marshal(fields(r))
}
