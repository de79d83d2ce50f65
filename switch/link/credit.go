package link

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
)

// Errors of a neighbour that breaks the protocol. The packets concerned are not accepted.
var (
	ErrVCs      = errors.New("frame has another number of virtual channels")
	ErrOverflow = errors.New("packet sent without a credit")
	ErrBadVC    = errors.New("packet in a virtual channel that the link does not have")
	ErrCounters = errors.New("frame's counters are beyond what the credits allow")
)

// State of a link end.
type State uint8

// The states of a link end.
const (
	Down State = iota // no signal
	Init              // signal, but the neighbour has not yet answered in this epoch
	Up                // both ends agree on the epoch; packets may flow
)

// String prints the state in one word.
func (s State) String() string {
	return [...]string{"down", "init", "up"}[s]
}

// channel is the credit state of one VC.
type channel struct {
	// Sending side.
	sent  uint64 // packets sent in this epoch
	limit uint64 // packets the neighbour lets us send in all; invariant: sent <= limit

	// Receiving side.
	received uint64 // packets received or known lost in this epoch
	held     uint32 // packets in our buffer, of any epoch; invariant: held <= buffer
	granted  uint64 // the limit we last told the neighbour
}

// sending is the epoch in which an end last sent packets.
type sending struct {
	from, to weft.Epoch // its own, the neighbour's
	packets  uint64
}

// Counters of one link end since the start, over all epochs. They feed the ledger.
type Counters struct {
	Sent       uint64 // packets handed to the link
	Received   uint64 // packets accepted from the link
	Gaps       uint64 // packets the neighbour had sent that never came, noticed while the link was up
	Duplicates uint64 // packets received again and dropped
	Stale      uint64 // frames of an epoch that is over
	Violations uint64 // packets or frames refused: see Err*
}

// CreditEnd keeps the credits of one end. The zero value is not usable; see NewCreditEnd.
type CreditEnd struct {
	state      State
	hello      bool // a frame is owed for the handshake, or because it is time
	held       Hold // for which reasons it does not come up
	answer     answer
	asking     bool // it sends no packets until the neighbour has answered, see Ask
	asked      bool // an answer is owed
	buffer     uint32
	mine, peer weft.Epoch
	lowWater   uint64 // see Config.Eager
	ch         []channel
	last       sending
	counters   Counters
	upWith     weft.Epoch // the neighbour's, when the end came up last; 0: never
	before     *periods   // nil: it has come up once at most
}

// Config of a link end.
type Config struct {
	VCs    int // virtual channels, 1 to weft.MaxVCs
	Buffer int // packets that the receiving buffer of each VC holds, 1 to weft.MaxBuffer

	// Eager returns each credit in a frame of its own at once, unless packets are there to carry it. Otherwise a frame for
	// credits alone is owed only once the neighbour has less than half of its credits left: it saves half the messages of
	// an idle link and more of a busy one, and the neighbour, which has a credit, never waits for what is held back.
	Eager bool

	// First is the epoch before the first. An end that takes the place of another, as a process that is started again, must
	// begin above all epochs of the one before: neighbours take lower ones for old frames.
	First weft.Epoch
}

// NewCreditEnd returns an end without signal.
func NewCreditEnd(c Config) CreditEnd {
	lowWater := (c.Buffer - 1) / 2
	if c.Eager {
		lowWater = c.Buffer
	}
	return CreditEnd{buffer: uint32(c.Buffer), lowWater: uint64(lowWater), ch: make([]channel, c.VCs), mine: c.First}
}

// State of the link as this end sees it.
func (e *CreditEnd) State() State { return e.state }

// Counters since the start.
func (e *CreditEnd) Counters() Counters { return e.counters }

// Epochs of this end and of its neighbour; 0 is none.
func (e *CreditEnd) Epochs() (mine, peer weft.Epoch) { return e.mine, e.peer }

// Signal tells the end that signal is there or gone. It reports whether the link stopped being up. An end that is told of
// signal once more says hello.
func (e *CreditEnd) Signal(up bool) (lost bool) {
	lost = e.state == Up
	if !up {
		e.state, e.peer, e.hello, e.answer, e.asking, e.asked = Down, 0, false, silent, false, false
		return lost
	}
	if e.state != Down {
		e.hello = true
		return false
	}
	e.restart(0)
	return false
}

// Expire gives up on a neighbour that is not heard any more: an end that is up starts anew. It reports whether it was up.
func (e *CreditEnd) Expire() (lost bool) {
	if e.state != Up {
		return false
	}
	e.restart(0)
	return true
}

// Hello makes a frame owed, unless there is no signal.
func (e *CreditEnd) Hello() { e.hello = e.state != Down }

// restart begins a new epoch.
func (e *CreditEnd) restart(peer weft.Epoch) {
	e.mine++
	e.state, e.peer, e.hello, e.answer, e.asking, e.asked = Init, peer, true, silent, false, false
	for i := range e.ch {
		c := &e.ch[i]
		c.sent, c.limit, c.received, c.granted = 0, 0, 0, 0
	}
}

// Verdict says what a received frame did to the link.
type Verdict struct {
	Accept bool // its packets belong to this epoch: pass each to Take
	Heard  bool // it has no packets to take, and comes from the neighbour as it is now; see Ask
	CameUp bool // the link is up now and was not before
	Lost   bool // the neighbour started anew: what this end had sent is lost, the link is no longer up
}

// Receive takes the frame's epochs and counters. When the verdict accepts it, the caller passes its packets to Take in order.
func (e *CreditEnd) Receive(f *weft.Frame) (Verdict, error) {
	if f.VCs != len(e.ch) {
		e.counters.Violations++
		return Verdict{}, fmt.Errorf("%w: %d, this end has %d", ErrVCs, f.VCs, len(e.ch))
	}
	var v Verdict
	switch {
	case e.state == Down, f.From == 0:
		e.counters.Stale++
		return v, nil
	case e.state == Init && e.held != 0:
		e.hear(f)
		return v, nil
	case e.isQuestion(f):
		return e.takeQuestion(f), nil
	case f.To == e.mine && (e.state == Init || f.From == e.peer):
		if e.state == Init {
			// The neighbour knows our epoch; our first frame to its epoch tells it that we know.
			e.state, e.peer, e.hello, v.CameUp = Up, f.From, true, true
			e.begin()
		}
	case f.To == 0, f.From > e.peer:
		// A hello, or a neighbour that has started anew and names an epoch of ours that it heard of by an old frame.
		if f.To != 0 {
			e.counters.Stale++
		}
		if e.state == Init {
			e.peer, e.hello = f.From, true
		} else if f.From != e.peer {
			e.restart(f.From)
			v.Lost = true
		}
		return v, nil
	default:
		e.counters.Stale++
		return v, nil
	}
	for i := range e.ch {
		if c := &e.ch[i]; f.Sent[i] > c.granted || f.Limit[i] > c.sent+weft.MaxBuffer {
			e.counters.Violations++
			return v, fmt.Errorf("%w: %v: %d sent of %d granted, %d granted to us", ErrCounters, weft.VC(i), f.Sent[i], c.granted, f.Limit[i])
		}
	}
	v.Accept = true
	for i := range e.ch {
		c := &e.ch[i]
		c.limit = max(c.limit, f.Limit[i])
		if f.Sent[i] > c.received {
			e.counters.Gaps += f.Sent[i] - c.received
			c.received = f.Sent[i]
		}
	}
	return v, nil
}

// Take counts one packet of an accepted frame into the buffer of vc. at is the packet's position among those sent in vc in
// this epoch. It reports whether the packet is new; a repeated one is to be dropped.
func (e *CreditEnd) Take(vc weft.VC, at uint64) (fresh bool, err error) {
	if int(vc) >= len(e.ch) {
		e.counters.Violations++
		return false, fmt.Errorf("%w: %v, the link has %d", ErrBadVC, vc, len(e.ch))
	}
	c := &e.ch[vc]
	if at < c.received {
		e.counters.Duplicates++
		return false, nil
	}
	if c.held == e.buffer {
		e.counters.Violations++
		return false, fmt.Errorf("%w: %v, all %d places are taken", ErrOverflow, vc, e.buffer)
	}
	c.received = at + 1
	c.held++
	e.counters.Received++
	return true, nil
}

// Free gives back the place of one packet in vc's buffer. It reports whether a frame is now owed for the credits alone.
func (e *CreditEnd) Free(vc weft.VC) (owed bool) {
	c := &e.ch[vc]
	if c.held == 0 {
		panic("credit: BUG: place freed that was not taken")
	}
	c.held--
	return e.owesCredit(c)
}

// owesCredit reports whether so much is held back that the neighbour should hear of it.
func (e *CreditEnd) owesCredit(c *channel) bool {
	if e.state != Up {
		return false
	}
	return c.received+uint64(e.buffer-c.held) > c.granted && c.granted-min(c.granted, c.received) <= e.lowWater
}

// Owes reports whether a frame is owed even if there are no packets to send: for the handshake, or for credits.
func (e *CreditEnd) Owes() bool {
	if e.hello || e.asked {
		return true
	}
	if e.asking {
		return false
	}
	for i := range e.ch {
		if e.owesCredit(&e.ch[i]) {
			return true
		}
	}
	return false
}

// Credits is how many packets may be sent in vc now.
func (e *CreditEnd) Credits(vc weft.VC) int {
	if e.state != Up || e.asking {
		return 0
	}
	c := &e.ch[vc]
	return int(c.limit - c.sent)
}

// Spend uses one credit of vc. The caller has seen that there is one.
func (e *CreditEnd) Spend(vc weft.VC) {
	c := &e.ch[vc]
	if c.sent >= c.limit {
		panic("credit: BUG: packet sent without a credit")
	}
	c.sent++
	e.counters.Sent++
	if e.last.from != e.mine {
		e.last = sending{from: e.mine, to: e.peer}
	}
	e.last.packets++
}

// Stamp fills the epochs and counters of a frame that this end is about to send. Call it before Spend for the frame's packets; it
// reports whether the frame may have any.
func (e *CreditEnd) Stamp(f *weft.Frame) (packets bool) {
	if e.asking || e.asked {
		e.stampQuestion(f)
		return false
	}
	f.From, f.To, f.VCs = e.mine, e.peer, len(e.ch)
	for i := range e.ch {
		c := &e.ch[i]
		f.Sent[i] = c.sent
		c.granted = c.received + uint64(e.buffer-c.held)
		f.Limit[i] = c.granted
	}
	if e.held != 0 && e.state != Up {
		f.To, f.Sent[0], f.Limit[0] = 0, uint64(e.peer), 0
	}
	e.hello = false
	return true
}

// Held is how many packets the buffer of vc holds.
func (e *CreditEnd) Held(vc weft.VC) int { return int(e.ch[vc].held) }

// Flow is what tells packets on the wire from lost ones, see [OnWire]. Its JSON travels between the processes of a fabric.
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
func (e *CreditEnd) Flow() Flow {
	f := Flow{
		State: e.state, Mine: e.mine, Peer: e.peer, Sent: e.counters.Sent, Received: e.counters.Received,
		LastFrom: e.last.from, LastTo: e.last.to, LastSent: e.last.packets,
	}
	for i := range e.ch {
		f.Taken += e.ch[i].received
	}
	return f
}

// OnWire tells, of the packets that one end has sent and the other has not received, how many may still arrive and how
// many are lost. A packet may arrive as long as the receiver is in the epoch that it was sent to. While packets flow the
// two ends are read at different moments: then wire is off by what moved in between, and lost may lag, but never leads.
func OnWire(from, to Flow) (wire, lost uint64) {
	missing, flying := int64(from.Sent-to.Received), int64(0)
	switch {
	case to.State == Down || from.LastSent == 0 || to.Mine != from.LastTo:
	case to.Peer > from.LastFrom: // it has heard of a later epoch, so what was sent before has come or never will
	case to.State == Init: // the first of them will bring it up
		flying = int64(from.LastSent)
	case to.Peer == from.LastFrom:
		flying = int64(from.LastSent - to.Taken)
	}
	return uint64(max(0, flying)), uint64(max(0, missing-flying))
}

// Epoch counters of one VC, to compare the two ends of a link at a quiescent point.
type Epoch struct {
	Sent, Limit, Received uint64
	Held                  int
}

// Epoch returns the counters of vc in the current epoch.
func (e *CreditEnd) Epoch(vc weft.VC) Epoch {
	c := &e.ch[vc]
	return Epoch{Sent: c.sent, Limit: c.limit, Received: c.received, Held: int(c.held)}
}
