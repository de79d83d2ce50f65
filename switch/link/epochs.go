package link

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// sending is the epoch in which an end last sent packets.
type sending struct {
	from, to weft.Epoch // its own, the neighbour's
	packets  uint64
}

// Epochs of this end and of its neighbour; 0 is none.
func (e *End) Epochs() (mine, peer weft.Epoch) { return e.mine, e.peer }

// oweHello makes a frame owed, unless there is no signal.
func (e *End) oweHello() { e.hello = e.state != Down }

// restart begins a new epoch.
func (e *End) restart(peer weft.Epoch) {
	e.keepLast()
	if sent, taken := e.epoch(); sent+taken > 0 {
		r := e.seldom()
		r.counters.Sent, r.counters.Received = r.counters.Sent+sent, r.counters.Received+taken-r.skipped
		r.skipped = 0
	}
	e.mine++
	e.state, e.peer, e.hello, e.answer, e.asking, e.asked = Init, peer, true, silent, false, false
	e.endAwait()
	for vc := range weft.VC(e.vcs) {
		c := e.channel(vc)
		c.sent, c.credits, c.received, c.granted = 0, 0, 0, 0
	}
}

// lastSending is the epoch in which the end last sent packets.
func (e *End) lastSending() sending {
	if sent, _ := e.epoch(); e.state == Up && sent > 0 {
		return sending{e.mine, e.peer, sent}
	}
	return e.seldomRead().last
}

// keepLast keeps that of an end that is about to leave its epoch.
func (e *End) keepLast() {
	if last := e.lastSending(); last.packets > 0 {
		e.seldom().last = last
	}
}

// comeUp ends the handshake with the neighbour's epoch.
func (e *End) comeUp(peer weft.Epoch) {
	e.state, e.peer, e.hello = Up, peer, true
	e.begin()
}

// receive takes a frame that is not of an epoch in which this end is up: its epochs and, where it
// brings the end up, its counters.
func (e *End) receive(f *weft.Frame) (v Verdict, err error) {
	if f.VCs != int(e.vcs) {
		e.seldom().counters.Violations++
		return v, fmt.Errorf("%w: %d, this end has %d", ErrVCs, f.VCs, e.vcs)
	}
	switch {
	case e.state == Down, f.From <= e.floor: // 0 is no epoch
		e.seldom().counters.Stale++
		return v, nil
	case e.state == Init && e.held != 0:
		e.hear(f)
		return v, nil
	case e.isQuestion(f):
		return e.takeQuestion(f), nil
	case f.To == e.mine && e.state == Init:
		// The neighbour knows our epoch; our first frame to its epoch tells it that we know.
		e.comeUp(f.From)
		v.CameUp = true
		err = e.takeCredits(f)
		v.Accept = err == nil
		return v, err
	case f.To == 0, f.From > e.peer:
		// A hello, or a neighbour that has started anew and names an epoch of ours that it heard of
		// by an old frame.
		if f.To != 0 {
			e.seldom().counters.Stale++
		}
		if e.state == Init {
			e.peer, e.hello = f.From, true
		} else if f.From != e.peer {
			e.restart(f.From)
			v.Lost = true
		}
		return v, nil
	}
	e.seldom().counters.Stale++
	return v, nil
}

// Flow is what tells packets on the wire from lost ones, see [OnWire]. Its JSON travels between the
// processes of a fabric.
type Flow struct {
	State          State
	Mine, Peer     weft.Epoch
	Sent, Received uint64 // packets, since the start
	Taken          uint64 // packets received or known lost in this epoch

	// The epochs in which this end last sent, its own and the neighbour's, and how many packets.
	LastFrom, LastTo weft.Epoch
	LastSent         uint64
}

// Flow copies what OnWire needs of this end.
func (e *End) Flow() Flow {
	all, last := e.Counters(), e.lastSending()
	_, taken := e.epoch()
	return Flow{
		State: e.state, Mine: e.mine, Peer: e.peer, Sent: all.Sent, Received: all.Received, Taken: taken,
		LastFrom: last.from, LastTo: last.to, LastSent: last.packets,
	}
}

// OnWire tells, of the packets that one end has sent and the other has not received, how many may
// still arrive and how many are lost. A packet may arrive as long as the receiver is in the epoch
// that it was sent to. While packets flow the two ends are read at different moments: then wire is
// off by what moved in between, and lost may lag, but never leads.
func OnWire(from, to Flow) (wire, lost uint64) {
	missing, flying := int64(from.Sent-to.Received), int64(0)
	switch {
	case to.State == Down || from.LastSent == 0 || to.Mine != from.LastTo:
	case to.Peer > from.LastFrom: // it has heard of a later epoch: what was sent before has come or never will
	case to.State == Init: // the first of them will bring it up
		flying = int64(from.LastSent)
	case to.Peer == from.LastFrom:
		flying = int64(from.LastSent - to.Taken)
	}
	return uint64(max(0, flying)), uint64(max(0, missing-flying))
}
