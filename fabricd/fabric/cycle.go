package fabric

import (
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// How often a fabric with traffic is searched for a deadlock, chosen by us. A search takes a
// snapshot of all switches, so in a large fabric searches are rarer: they take no more than a
// hundredth of the time.
const (
	lookEvery = 500 * time.Millisecond
	lookShare = 100
)

// LinkChannel is one VC of one direction of a link.
type LinkChannel struct {
	Link weft.LinkID
	Dir  int // 0: A to B, 1: B to A
	VC   weft.VC
}

// DeadlockWatch looks for a deadlock while packets move elsewhere. The switches are then read at
// different moments, so one look proves nothing. A cycle counts when the next look finds it again
// and none of its channels has sent a packet in between. The same looks tell which packet waits
// longest in a switch. It is for one goroutine.
type DeadlockWatch struct {
	reader *reader
	next   time.Time
	first  Cycle    // found at the look before
	sent   []uint64 // on each of its channels by then
	sure   Cycle
	waits  waits
}

// WatchDeadlock returns a watch that has not looked yet.
func (f *Fabric) WatchDeadlock() *DeadlockWatch { return &DeadlockWatch{reader: f.reader} }

// Cycle returns the cycle of channels that wait for each other, as of the latest look, or nil. It
// looks when it is time, and has other hosts tell of their switches before.
func (w *DeadlockWatch) Cycle() Cycle {
	if len(w.reader.answering()) > 0 {
		return w.latest(w.reader.lookAtNodes)
	}
	return w.latest(func() {})
}

// latest is Cycle; read has other hosts tell of their switches.
func (w *DeadlockWatch) latest(read func()) Cycle {
	began := time.Now()
	if began.Before(w.next) {
		return w.sure
	}
	w.waits.before, w.waits.at = w.waits.at, w.reader.Now()
	read()
	snaps, longest := w.reader.blockedSwitches()
	w.waits.longest = longest
	found := Cycle(w.reader.deadlockIn(snaps))
	var sent []uint64
	for _, c := range found {
		id, _ := w.reader.graph.SwitchByName(c.Switch) // a name that the graph has just given
		sent = append(sent, snaps[id].Ports[c.Port].VCs[c.VC].Epoch.Sent)
	}
	w.look(found, sent)
	w.next = began.Add(max(lookEvery, lookShare*time.Since(began)))
	return w.sure
}

// look takes the result of one look.
func (w *DeadlockWatch) look(found Cycle, sent []uint64) {
	w.sure = nil
	if slices.Equal(found, w.first) && slices.Equal(sent, w.sent) {
		w.sure = found
	}
	w.first, w.sent = found, sent
}

// Deadlock is the cycle of a [DeadlockWatch], for a viewer: call it after Read, which has other
// hosts tell of their switches.
func (s *Sampler) Deadlock() (list []LinkChannel) {
	if !slices.ContainsFunc(s.nodes, func(n switching.Reading) bool { return n.Blocked > 0 }) {
		s.cycle.first, s.cycle.sure = nil, nil
		return nil
	}
	for _, c := range s.cycle.latest(func() {}) {
		id, _ := s.reader.graph.SwitchByName(c.Switch)
		e := weft.End{Node: id.Node(), Port: weft.PortID(c.Port)}
		_, link, _ := s.reader.graph.Peer(e)
		lc := LinkChannel{Link: link, VC: weft.VC(c.VC)}
		if s.reader.links[link].B == e {
			lc.Dir = 1
		}
		list = append(list, lc)
	}
	return list
}
