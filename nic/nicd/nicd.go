// Package nicd is a NIC with its driver, live (switch/switchd) or in virtual time: the calls that
// only a NIC has, each a step of its core.
package nicd

import (
	"sync/atomic"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// Driver drives one node, whatever kind it is: *switchd.Driver does live.
type Driver interface {
	// Do steps the core by f, which must only call it and return.
	Do(f func(now weft.Time, out *weft.Actions))
	// View calls f, which may read the core and must not step it.
	View(f func())
	// Signal tells the core that port p has signal or has lost it.
	Signal(p weft.PortID, up bool)
	// Impair replaces what port p's outgoing direction suffers.
	Impair(p weft.PortID, i link.Impairment)
	// Stats returns the counters.
	Stats() switchd.Stats
	// Attach has packets with payloads go to c; nil: to nobody.
	Attach(c switchd.Carrier)
	// Payloads are the buffers with what packets of the node carry.
	Payloads() *wire.Payloads
}

// NIC is a NIC with its driver. Safe for as many goroutines as its driver is.
type NIC struct {
	Driver
	core     *nic.NIC // stepped only by the driver
	now      func() weft.Time
	recorder atomic.Pointer[Recorder]
}

// New returns core with the driver d, which steps it by the clock now.
func New(core *nic.NIC, d Driver, now func() weft.Time) *NIC {
	return &NIC{Driver: d, core: core, now: now}
}

// SetSource replaces what the NIC generates from now on.
func (n *NIC) SetSource(s nic.Source) (err error) {
	n.Do(func(now weft.Time, out *weft.Actions) { err = n.core.SetSource(now, s, out) })
	return err
}

// SetGeneration marks the packets generated from now on.
func (n *NIC) SetGeneration(generation uint16) {
	n.Do(func(weft.Time, *weft.Actions) { n.core.SetGeneration(generation) })
}

// Hold keeps all packets in the send queue from now on, or lets them go again.
func (n *NIC) Hold(held bool) {
	n.Do(func(_ weft.Time, out *weft.Actions) { n.core.Hold(held, out) })
}

// Readdress has packets in the send queue go by the addresses of now; see [nic.NIC.Readdress].
func (n *NIC) Readdress() (moved int) {
	n.Do(func(_ weft.Time, out *weft.Actions) { moved = n.core.Readdress(out) })
	return moved
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

// Attach has what packets carry for this NIC go to c, in place of who had it before; nil: to
// nobody.
func (n *NIC) Attach(c switchd.Carrier) {
	n.Driver.Attach(c)
	n.Do(func(_ weft.Time, out *weft.Actions) {
		if c == nil {
			n.core.Detach(out)
		} else {
			n.core.Attach()
		}
	})
}

// Carry puts one packet into the send queue that carries a copy of data. The NIC must be attached;
// see [nic.NIC.Carry].
func (n *NIC) Carry(dst weft.NICID, data []byte) (err error) {
	payload := n.Payloads().Put(data)
	n.Do(func(now weft.Time, out *weft.Actions) { _, err = n.core.Carry(now, dst, payload, len(data), out) })
	if err != nil {
		n.Payloads().Free(payload)
	}
	return err
}

// Taken tells that packets of so many bytes have been taken, of those that the carrier was given.
func (n *NIC) Taken(bytes int) {
	n.Do(func(_ weft.Time, out *weft.Actions) { n.core.Taken(bytes, out) })
}

// Mark has the next packets for dst traced. It reports whether the NIC has packets of its own to
// send, or of programs; see [nic.NIC.Mark].
func (n *NIC) Mark(dst weft.NICID, count int) (busy bool, err error) {
	n.Do(func(weft.Time, *weft.Actions) {
		busy, err = n.core.Generates() || n.core.Waits() || n.core.Attached(), n.core.Mark(dst, count)
	})
	return busy, err
}

// Unmark takes back marks that no packet has taken, and returns how many.
func (n *NIC) Unmark(dst weft.NICID, most int) (left int) {
	n.Do(func(weft.Time, *weft.Actions) { left = n.core.Unmark(dst, most) })
	return left
}

// Snapshot copies the state of the NIC.
func (n *NIC) Snapshot() (s nic.Snapshot) {
	n.View(func() { s = n.core.Snapshot() })
	return s
}

// Stats returns the counters of the NIC.
func (n *NIC) Stats() (s nic.Stats) {
	n.View(func() { s = n.core.Stats() })
	return s
}

// MergeLatency adds this NIC's latencies, in nanoseconds, to h.
func (n *NIC) MergeLatency(h *hdrhistogram.Histogram) {
	n.View(func() { n.core.MergeLatency(h) })
}

// ReadSessions is Read, and calls do with the sessions with these incarnations of the neighbour.
func (n *NIC) ReadSessions(r *nic.Reading, peers []link.Incarnation, do func(link.Session)) {
	n.View(func() {
		*r = n.core.Read()
		n.core.Sessions(peers, do)
	})
}

// Read reads into r what is read again and again.
func (n *NIC) Read(r *nic.Reading) { n.View(func() { *r = n.core.Read() }) }

// Refuse has the NIC hear no epoch of its switch up to one, see [nic.NIC.Refuse].
func (n *NIC) Refuse(epoch weft.Epoch) {
	n.Do(func(weft.Time, *weft.Actions) { n.core.Refuse(epoch) })
}

// Await has the NIC send nothing until its switch, which moves, has begun anew, at most for a time;
// see [nic.NIC.Await].
func (n *NIC) Await(most weft.Time) {
	n.Do(func(now weft.Time, out *weft.Actions) { n.core.Await(now, now+most, out) })
}
