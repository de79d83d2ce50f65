package api

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// Kinds of frame.
const (
	KindSnapshot = "snapshot" // all there is
	KindDelta    = "delta"    // what has changed since the frame before
)

// Frame is one step of the state stream. Of links, switches, events, faults, hops and history it
// holds those that are new or have changed, in a snapshot all; each entry takes the place of the
// one before. The rest is complete in every frame.
type Frame struct {
	Seq  uint64  `json:"seq" jsonschema_description:"Counts the frames of a run from 1, without gaps."`
	Kind string  `json:"kind" jsonschema:"enum=snapshot,enum=delta"`
	Run  string  `json:"run" jsonschema_description:"Names this run of fabricd. Another run: start anew."`
	At   float64 `json:"at" jsonschema_description:"Seconds since the fabric started."`

	// Of a frame that is too large for one NATS message: its number among how many, from 0.
	Page  int `json:"page,omitempty"`
	Pages int `json:"pages,omitempty"`

	Links    []LinkView     `json:"links,omitempty"`
	Switches []SwitchView   `json:"switches,omitempty"`
	Events   []fabric.Event `json:"events,omitempty" jsonschema_description:"New events, in order; in a snapshot the newest 200."`
	Faults   []fault.Report `json:"faults,omitempty" jsonschema_description:"Reports that are new or have changed; in a snapshot the newest 100."`
	Hops     []HopView      `json:"hops,omitempty" jsonschema_description:"New hops of traced packets."`
	History  []Point        `json:"history,omitempty" jsonschema_description:"New points, one a second; in a snapshot those of the last ten minutes."`

	// For those who look at a large fabric by pods; links and switches are then those of the pods
	// that they have opened.
	Pods    []PodView    `json:"pods,omitempty"`
	Bundles []BundleView `json:"bundles,omitempty"`

	Sample   Sample        `json:"sample"`
	Ledger   fabric.Ledger `json:"ledger" jsonschema_description:"Without lost_on: what a link has lost its view says."`
	Totals   fabric.Totals `json:"totals" jsonschema_description:"The latency is that of all packets, and up to a second old."`
	Deadlock []ChannelView `json:"deadlock,omitempty" jsonschema_description:"The cycle of channels that wait for each other for ever, if there is one."`
	Traffic  string        `json:"traffic,omitempty"`
	Routings []string      `json:"routings,omitempty" jsonschema_description:"The firmwares that switches run other than the fabric's."`
}

// LinkView is one link. Ends and directions are a and b of the topology's listing, as in
// [fabric.LinkState]. Members that are zero are left out.
type LinkView struct {
	I         int    `json:"i" jsonschema_description:"Index in the topology's links."`
	State     string `json:"state" jsonschema:"enum=up,enum=cut,enum=down,enum=init"`
	CutAB     string `json:"cut_ab,omitempty" jsonschema:"enum=signalled,enum=silent"`
	CutBA     string `json:"cut_ba,omitempty" jsonschema:"enum=signalled,enum=silent"`
	Flapping  bool   `json:"flapping,omitempty"`
	SuffersAB string `json:"suffers_ab,omitempty" jsonschema_description:"As loss 10%, delay 5ms."`
	SuffersBA string `json:"suffers_ba,omitempty"`
	AUp       bool   `json:"a_up,omitempty" jsonschema_description:"End a takes the link for up."`
	BUp       bool   `json:"b_up,omitempty"`
	HeldA     bool   `json:"held_a,omitempty" jsonschema_description:"Damping keeps end a from using it."`
	HeldB     bool   `json:"held_b,omitempty"`

	RateAB   float64 `json:"rate_ab,omitempty" jsonschema_description:"Packets per second over the last second."`
	RateBA   float64 `json:"rate_ba,omitempty"`
	LoadAB   float64 `json:"load_ab,omitempty" jsonschema_description:"Share of the configured link rate; above 1 when links are unpaced."`
	LoadBA   float64 `json:"load_ba,omitempty"`
	QueuedAB int     `json:"queued_ab,omitempty" jsonschema_description:"Packets in the output queues, or the send queue, of the sending end."`
	QueuedBA int     `json:"queued_ba,omitempty"`
	Lost     uint64  `json:"lost,omitempty" jsonschema_description:"Packets lost on the link since the start, those queued for it included."`
}

// SwitchView is one switch. Members that are zero are left out.
type SwitchView struct {
	I        int     `json:"i" jsonschema_description:"Index in the topology's switches."`
	State    string  `json:"state" jsonschema:"enum=up,enum=down,enum=suspect"`
	Held     int     `json:"held,omitempty" jsonschema_description:"Packets inside."`
	Blocked  int     `json:"blocked,omitempty" jsonschema_description:"Of them, those that wait for room."`
	Rerouted float64 `json:"rerouted,omitempty" jsonschema_description:"Packets per second since the frame before."`
	UTurns   float64 `json:"u_turns,omitempty" jsonschema_description:"Packets per second since the frame before."`
	Vector   string  `json:"vector,omitempty" jsonschema_description:"Registers that are not zero, as p0.1: 0b10."`
	Routing  int     `json:"routing,omitempty" jsonschema_description:"The firmware that it runs, if it is another than the fabric's: its number in routings, from 1."`
}

// ChannelView is one VC of one direction of a link.
type ChannelView struct {
	Link int    `json:"link" jsonschema_description:"Index in the topology's links."`
	Dir  string `json:"dir" jsonschema:"enum=ab,enum=ba"`
	VC   int    `json:"vc"`
}

// HopView is one thing that was told of a traced packet.
type HopView = fabric.HopView

// What a snapshot holds of the past.
const (
	snapshotEvents = 200
	snapshotFaults = 100
)

// State is what frames make of a fabric, those of a viewer who is told of everything. The zero
// value waits for a snapshot.
type State struct {
	Frame // a snapshot of all, but for hops, which are those of the latest frame
}

// Apply takes the next frame, whole. It fails, and changes nothing, unless f is a snapshot or
// follows the frame before.
func (s *State) Apply(f Frame) error {
	if f.Kind == KindSnapshot {
		s.Frame = f
		s.Links, s.Switches = slices.Clone(f.Links), slices.Clone(f.Switches)
		s.Events, s.Faults, s.History = slices.Clone(f.Events), slices.Clone(f.Faults), slices.Clone(f.History)
		s.Pods, s.Bundles = slices.Clone(f.Pods), slices.Clone(f.Bundles)
		return nil
	}
	if f.Run != s.Run || f.Seq != s.Seq+1 {
		return fmt.Errorf("frame %d of run %s does not follow frame %d of run %s: wait for a snapshot", f.Seq, f.Run, s.Seq,
			s.Run)
	}
	for _, l := range f.Links {
		if l.I < 0 || l.I >= len(s.Links) {
			return fmt.Errorf("frame %d has link %d: there are %d", f.Seq, l.I, len(s.Links))
		}
	}
	for _, w := range f.Switches {
		if w.I < 0 || w.I >= len(s.Switches) {
			return fmt.Errorf("frame %d has switch %d: there are %d", f.Seq, w.I, len(s.Switches))
		}
	}
	for _, p := range f.Pods {
		if p.I < 0 || p.I >= len(s.Pods) {
			return fmt.Errorf("frame %d has pod %d: there are %d", f.Seq, p.I, len(s.Pods))
		}
	}
	for _, b := range f.Bundles {
		if b.I < 0 || b.I >= len(s.Bundles) {
			return fmt.Errorf("frame %d has bundle %d: there are %d", f.Seq, b.I, len(s.Bundles))
		}
	}
	next := f
	next.Kind, next.Links, next.Switches = KindSnapshot, s.Links, s.Switches
	for _, l := range f.Links {
		next.Links[l.I] = l
	}
	for _, w := range f.Switches {
		next.Switches[w.I] = w
	}
	next.Pods, next.Bundles = s.Pods, s.Bundles
	for _, p := range f.Pods {
		next.Pods[p.I] = p
	}
	for _, b := range f.Bundles {
		next.Bundles[b.I] = b
	}
	next.Events = newest(append(s.Events, f.Events...), snapshotEvents)
	next.History = newest(append(s.History, f.History...), maxPoints)
	next.Faults = s.Faults
	for _, r := range f.Faults {
		next.Faults = withReport(next.Faults, r)
	}
	s.Frame = next
	return nil
}

// withReport puts r into its place among reports, which are in the order of their numbers, and
// keeps the newest.
func withReport(reports []fault.Report, r fault.Report) []fault.Report {
	i, found := slices.BinarySearchFunc(reports, r.ID, func(o fault.Report, id int) int { return o.ID - id })
	if found {
		reports[i] = r
		return reports
	}
	return newest(slices.Insert(reports, i, r), snapshotFaults)
}

// newest keeps the last n of list, and moves them so that the storage does not grow for ever.
func newest[T any](list []T, n int) []T {
	if drop := len(list) - n; drop > 0 {
		return slices.Delete(list, 0, drop)
	}
	return list
}
