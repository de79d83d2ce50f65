package host

import (
	"errors"

	"github.com/weft-fabric/weft"
)

// EventBatch is what the nodes of a host have observed, oldest first.
type EventBatch struct {
	Number uint64        `json:"number"` // of the spec
	Upto   uint64        `json:"upto"`   // how many observations the host has made, with these
	Events []Observation `json:"events"`
}

// Observation is what the core of one node reported at one moment, see [weft.Actions].
type Observation struct {
	NIC  bool      `json:"nic,omitempty"`
	Node uint32    `json:"node"` // its SwitchID or NICID
	At   weft.Time `json:"at"`

	Drops   []weft.Drop       `json:"drops,omitempty"`
	Hops    []weft.Hop        `json:"hops,omitempty"`
	Egress  []weft.Egress     `json:"egress,omitempty"`
	Arrived []weft.Header     `json:"arrived,omitempty"`
	Changes []weft.PortChange `json:"changes,omitempty"`
	Turned  int               `json:"turned,omitempty"`
	Effects bool              `json:"effects,omitempty"` // packets were dropped, and which does not matter
	Faults  []Fault           `json:"faults,omitempty"`
	Notices []weft.Notice     `json:"notices,omitempty"` // for sources that are no NICs of the host
	Failed  string            `json:"failed,omitempty"`  // what the firmware of the switch failed on, see [Panicked]
}

// Fault is a [weft.Fault] that travels.
type Fault struct {
	Port    weft.PortID `json:"port"`
	Text    string      `json:"text"`
	Count   uint64      `json:"count,omitempty"`
	Damaged bool        `json:"damaged,omitempty"`
}

// Of is the node that made o.
func (o *Observation) Of() weft.Node {
	if o.NIC {
		return weft.NICID(o.Node).Node()
	}
	return weft.SwitchID(o.Node).Node()
}

// Actions converts o to a core's actions.
func (o *Observation) Actions() *weft.Actions {
	a := &weft.Actions{
		Drops: o.Drops, Hops: o.Hops, Egress: o.Egress, Arrived: o.Arrived, Changes: o.Changes, Turned: o.Turned,
		Notices: o.Notices,
		WakeAt:  weft.Never,
	}
	for _, f := range o.Faults {
		a.Faults = append(a.Faults, weft.Fault{Port: f.Port, Err: errors.New(f.Text), Count: f.Count, Damaged: f.Damaged})
	}
	return a
}
