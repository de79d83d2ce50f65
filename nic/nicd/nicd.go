// Package nicd drives a NIC live: the same goroutines as a switch has (switch/switchd), and the calls that only a NIC has,
// each a step of its core.
package nicd

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/switchd"
)

// NIC is a live NIC. Safe for any goroutine; Run owns its goroutines.
type NIC struct {
	*switchd.Driver
	core *nic.NIC // stepped only by the driver
}

// New returns a live NIC on wire that Run starts. cfg.Core and cfg.Wires are set by New.
func New(core *nic.NIC, wire switchd.Wire, cfg switchd.Config) *NIC {
	cfg.Core, cfg.Wires = core, []switchd.Wire{wire}
	return &NIC{Driver: switchd.New(cfg), core: core}
}

// SetSource replaces what the NIC generates from now on.
func (n *NIC) SetSource(s nic.Source) (err error) {
	n.Do(func(now weft.Time, out *weft.Actions) { err = n.core.SetSource(now, s, out) })
	return err
}

// SetEra marks the packets generated from now on.
func (n *NIC) SetEra(era uint16) {
	n.Do(func(weft.Time, *weft.Actions) { n.core.SetEra(era) })
}

// Notice tells that dst cannot be reached now.
func (n *NIC) Notice(dst weft.NICID) (err error) {
	n.Do(func(now weft.Time, _ *weft.Actions) { err = n.core.Notice(now, dst) })
	return err
}

// Send puts one packet into the send queue and returns its number in its flow.
func (n *NIC) Send(dst weft.NICID, size int, traced bool) (seq uint64, err error) {
	n.Do(func(now weft.Time, out *weft.Actions) { seq, err = n.core.Send(now, dst, size, traced, out) })
	return seq, err
}

// Snapshot copies the state of the NIC.
func (n *NIC) Snapshot() (s nic.Snapshot) {
	n.Do(func(weft.Time, *weft.Actions) { s = n.core.Snapshot() })
	return s
}

// Stats returns the counters of the NIC.
func (n *NIC) Stats() (s nic.Stats) {
	n.Do(func(weft.Time, *weft.Actions) { s = n.core.Stats() })
	return s
}

// MergeLatency adds this NIC's latencies, in nanoseconds, to h.
func (n *NIC) MergeLatency(h *hdrhistogram.Histogram) {
	n.Do(func(weft.Time, *weft.Actions) { n.core.MergeLatency(h) })
}
