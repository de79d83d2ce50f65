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

// cycleWatch looks for a deadlock while packets move elsewhere. The switches are then read at
// different moments, so one look proves nothing. A cycle counts when the next look finds it again
// and none of its channels has sent a packet in between.
type cycleWatch struct {
	next  time.Time
	first []LinkChannel // found at the look before
	sent  []uint64      // on each of them by then
	sure  []LinkChannel
}

// Deadlock returns the cycle of channels that wait for each other, as of the latest look, or nil.
// It looks when it is time. Call it after Read.
func (s *Sampler) Deadlock() []LinkChannel {
	w := &s.cycle
	if !slices.ContainsFunc(s.nodes, func(n switching.Reading) bool { return n.Blocked > 0 }) {
		w.first, w.sure = nil, nil
		return nil
	}
	began := time.Now()
	if began.Before(w.next) {
		return w.sure
	}
	snaps := s.reader.blockedSwitches()
	var found []LinkChannel
	var sent []uint64
	for _, c := range s.reader.deadlockIn(snaps) {
		id, _ := s.reader.graph.SwitchByName(c.Switch) // a name that the graph has just given
		e := weft.End{Node: id.Node(), Port: weft.PortID(c.Port)}
		_, link, _ := s.reader.graph.Peer(e)
		lc := LinkChannel{Link: link, VC: weft.VC(c.VC)}
		if s.reader.links[link].B == e {
			lc.Dir = 1
		}
		found, sent = append(found, lc), append(sent, snaps[id].Ports[c.Port].VCs[c.VC].Epoch.Sent)
	}
	w.look(found, sent)
	w.next = began.Add(max(lookEvery, lookShare*time.Since(began)))
	return w.sure
}

// look takes the result of one look.
func (w *cycleWatch) look(found []LinkChannel, sent []uint64) {
	w.sure = nil
	if slices.Equal(found, w.first) && slices.Equal(sent, w.sent) {
		w.sure = found
	}
	w.first, w.sent = found, sent
}
