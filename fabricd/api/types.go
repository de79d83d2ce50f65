// Package api is how other processes look at a running fabric and act on it, with JSON in two ways:
// requests, events and the state stream over the fabric's broker, for linkmon and any NATS client
// ([Server], [Client]); and the same over HTTP, for the page, for scripts and for Prometheus
// ([Web]). Both wrap a [fabric.Fabric].
//
// Verbs that only look begin with "get." and are open to viewers; the others are for operators. The
// broker enforces that.
package api

import (
	"cmp"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// Verbs.
const (
	VerbStatus   = "get.status"
	VerbTopology = "get.topology"
	VerbLinks    = "get.links"
	VerbSwitch   = "get.switch"
	VerbFaults   = "get.faults"
	VerbLedger   = "get.ledger"
	VerbEvents   = "get.events"
	VerbApply    = "apply"
	VerbTraffic  = "traffic" // a TrafficRequest, answered by a TrafficAnswer

	VerbTimeFactor = "time-factor" // a TimeFactor, answered by one
)

// Kinds of what is published as it happens.
const (
	StreamEvent  = "event"  // a fabric.Event
	StreamSample = "sample" // a Sample, once a second
)

// Status is a fabric at a glance.
type Status struct {
	Name          string                 `json:"name"`
	Topology      string                 `json:"topology"`
	Routing       string                 `json:"routing"`
	Firmware      string                 `json:"firmware"` // the same, under its old name: until 0.2.0
	Traffic       string                 `json:"traffic"`
	TimeFactor    float64                `json:"time_factor,omitempty" jsonschema_description:"How fast the clock goes, compared with that of the machine; missing: links are not paced, so no factor applies."`
	Started       time.Time              `json:"started"`
	Switches      int                    `json:"switches"`
	NICs          int                    `json:"nics"`
	Links         int                    `json:"links"`
	LinksCut      []string               `json:"links_cut"`
	LinksImpaired []string               `json:"links_impaired"`
	SwitchesDown  []string               `json:"switches_down"`
	Processes     []fabric.SwitchProcess `json:"processes"` // of switches that are processes of their own
	Hosts         []fabric.HostStatus    `json:"hosts"`     // the fabric's, but for the leader's own process
	Parts         []fabric.HostStatus    `json:"parts"`     // the same, under their old name: until 0.2.0

	Sample Sample        `json:"sample"`
	Totals fabric.Totals `json:"totals"`
	Ledger fabric.Ledger `json:"ledger"`
}

// Sample is the state of a fabric at one moment, with rates over the time since the sample before.
type Sample struct {
	At            float64 `json:"at"` // seconds since the fabric started
	Wall          float64 `json:"wall,omitempty" jsonschema_description:"The same by the clock of the machine."`
	TimeFactor    float64 `json:"time_factor,omitempty" jsonschema_description:"How fast the clock goes, compared with that of the machine; missing: links are not paced, so no factor applies."`
	Time          string  `json:"time,omitempty" jsonschema_description:"The same in words."`
	Late          float64 `json:"late,omitempty" jsonschema_description:"How late packets come because of the machine, as a share of the time they take on a link, and more where they wait for their links; too late above 0.5."`
	InjectedRate  float64 `json:"injected_per_second"`
	OfferedRate   float64 `json:"offered_per_second"` // injected, and generated while a send queue was full
	DeliveredRate float64 `json:"delivered_per_second"`
	InFlight      uint64  `json:"in_flight"`
	Lost          uint64  `json:"lost"`
	Discarded     uint64  `json:"discarded"`
	Rerouted      uint64  `json:"rerouted"`
	LinksDown     int     `json:"links_down"` // links without signal, cut or at a crashed switch

	// Overload is a sentence while more is offered than carried.
	Overload string `json:"overload,omitempty" jsonschema_description:"A sentence, while more is offered than carried."`

	// Deadlock names the channels that wait for each other, while they do.
	Deadlock string `json:"deadlock,omitempty" jsonschema_description:"The channels that wait for each other for ever, while they do."`

	// Waiting is a sentence while a packet waits for a second or more in a switch, and no deadlock
	// says why.
	Waiting        string  `json:"waiting,omitempty" jsonschema_description:"Which packet has waited for a second or more in which switch, and for what."`
	WaitingSeconds float64 `json:"waiting_seconds,omitempty" jsonschema_description:"How long that packet has waited."`

	Management *Management `json:"management,omitempty" jsonschema_description:"Of InfiniBand; missing: no program of InfiniBand may come in."`

	Latency fabric.Latency `json:"latency,omitzero"` // of the packets delivered in about the last second
}

// Management is what subnet managers of InfiniBand have come to.
type Management struct {
	Managers []string       `json:"managers" jsonschema_description:"Who, with state and priority, the master first."`
	Ports    map[string]int `json:"ports" jsonschema_description:"How many ports with a link are down, init, armed and active."`
	Held     bool           `json:"held" jsonschema_description:"NICs inject nothing, for they know no paths."`
	Cycle    string         `json:"cycle,omitempty" jsonschema_description:"That the tables can deadlock, and a cycle of channels whose packets can wait for each other; missing: there is none."`
}

// Unwell is a sentence that says what is wrong with the fabric as a whole, but for a deadlock.
func (s *Sample) Unwell() string { return cmp.Or(s.Overload, s.Waiting) }

// String prints s on one line.
func (s Sample) String() string {
	over := ""
	if s.Deadlock != "" {
		over = "DEADLOCK;  "
	} else if text := s.Unwell(); text != "" {
		over = text + ";  "
	}
	if s.TimeFactor != 0 && s.TimeFactor != 1 {
		over = fmt.Sprintf("at %.3g%% of real time  ", 100*s.TimeFactor) + over
	}
	return fmt.Sprintf("%6.0fs  %sdelivered %.0f/s  in flight %d  lost %d  discarded %d  rerouted %d  links down %d",
		s.At, over, s.DeliveredRate, s.InFlight, s.Lost, s.Discarded, s.Rerouted, s.LinksDown)
}

// SwitchRequest asks for a [SwitchDetail].
type SwitchRequest struct {
	Switch     string `json:"switch"`
	Forwarding bool   `json:"forwarding,omitempty"` // with its forwarding table, which can be long
}

// EventsRequest asks for the events after a number that are kept, oldest first: at most 512, the
// next ones when asked again.
type EventsRequest struct {
	After uint64 `json:"after"`
}

// FaultsRequest asks for the reports with higher numbers, oldest first: at most 512, the next ones
// when asked again. An empty request is one for all.
type FaultsRequest struct {
	After int `json:"after"`
}

// MaxSpecs is how many orders a request may hold. Chosen by us: more than all links of a 16-port
// tree, and few enough that the answer, with a report for each, fits a message.
const MaxSpecs = 1024

// ApplyRequest orders faults and repairs, all at one instant; when one cannot be done none is. It
// is answered with a [fabric.Outcome] for each, in order.
type ApplyRequest struct {
	Specs []fault.Spec `json:"specs"`
}
