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

// channel is the credit state of one VC.
type channel struct {
	sent     uint64 // packets sent in this epoch
	received uint64 // packets received or known lost in this epoch
	granted  uint64 // how many we last told the neighbour that it may have sent in all
	credits  uint32 // how many more the neighbour lets us send
	held     uint32 // packets in our buffer, of any epoch; invariant: held <= buffer
}

// limit is how many packets the neighbour lets us send in all.
func (c *channel) limit() uint64 { return c.sent + uint64(c.credits) }

// Counters of one link end since the start, over all epochs. They feed the ledger.
type Counters struct {
	Sent       uint64 // packets handed to the link
	Received   uint64 // packets accepted from the link
	Gaps       uint64 // packets the neighbour had sent that never came, noticed while the link was up
	Duplicates uint64 // packets received again and dropped
	Stale      uint64 // frames of an epoch that is over
	Violations uint64 // packets or frames refused: see Err*
}

// Counters since the start.
func (e *End) Counters() Counters {
	c := e.seldomRead().counters
	sent, taken := e.epoch()
	c.Sent, c.Received = c.Sent+sent, c.Received+taken-e.seldomRead().skipped
	return c
}

// epoch sums up what its VCs have sent in this epoch, and what they have received or know lost.
func (e *End) epoch() (sent, taken uint64) {
	for vc := range weft.VC(e.vcs) {
		c := e.channel(vc)
		sent, taken = sent+c.sent, taken+c.received
	}
	return sent, taken
}

// Take counts one packet of an accepted frame into the buffer of vc. at is the packet's position
// among those sent in vc in this epoch. It reports whether the packet is new; a repeated one is to
// be dropped.
func (e *End) Take(vc weft.VC, at uint64) (fresh bool, err error) {
	if uint8(vc) >= e.vcs {
		e.seldom().counters.Violations++
		return false, fmt.Errorf("%w: %v, the link has %d", ErrBadVC, vc, e.vcs)
	}
	c := e.channel(vc)
	if at < c.received {
		e.seldom().counters.Duplicates++
		return false, nil
	}
	if c.held == uint32(e.buffer) {
		e.seldom().counters.Violations++
		return false, fmt.Errorf("%w: %v, all %d places are taken", ErrOverflow, vc, e.buffer)
	}
	if at > c.received { // after one that was refused
		e.seldom().skipped += at - c.received
	}
	c.received = at + 1
	c.held++
	return true, nil
}

// Free gives back the place of one packet in vc's buffer. It reports whether a frame is now owed
// for the credits alone.
func (e *End) Free(vc weft.VC) (owed bool) {
	c := e.channel(vc)
	if c.held == 0 {
		panic("link: BUG: place freed that was not taken")
	}
	c.held--
	return e.owesCredit(c)
}

// owesCredit reports whether so much is held back that the neighbour should hear of it.
func (e *End) owesCredit(c *channel) bool {
	if e.state != Up {
		return false
	}
	return e.allowed(c) > c.granted && c.granted-min(c.granted, c.received) <= e.lowWater()
}

// lowWater is how many credits the neighbour has left when a frame is owed for more, see
// Config.Eager.
func (e *End) lowWater() uint64 {
	if e.eager {
		return uint64(e.buffer)
	}
	return uint64(e.buffer-1) / 2
}

// allowed is how many packets the neighbour may have sent in all.
func (e *End) allowed(c *channel) uint64 { return c.received + uint64(uint32(e.buffer)-c.held) }

// Owes reports whether a frame is owed even if there are no packets to send: for the handshake, as
// a hello, or for credits.
func (e *End) Owes() bool {
	if e.hello || e.asked {
		return true
	}
	if e.asking {
		return false
	}
	for vc := range weft.VC(e.vcs) {
		if e.owesCredit(e.channel(vc)) {
			return true
		}
	}
	return false
}

// Credits is how many packets may be sent in vc now.
func (e *End) Credits(vc weft.VC) int {
	if e.state != Up || e.asking || e.awaiting {
		return 0
	}
	return int(e.channel(vc).credits)
}

// Spend uses one credit of vc. The caller has seen that there is one.
func (e *End) Spend(vc weft.VC) {
	c := e.channel(vc)
	if c.credits == 0 {
		panic("link: BUG: packet sent without a credit")
	}
	c.sent++
	c.credits--
}

// stampCredits fills the epochs and counters of a frame that may have packets.
func (e *End) stampCredits(f *weft.Frame) {
	f.From, f.To, f.VCs = e.mine, e.peer, int(e.vcs)
	for vc := range weft.VC(e.vcs) {
		c := e.channel(vc)
		f.Sent[vc] = c.sent
		c.granted = e.allowed(c)
		f.Limit[vc] = c.granted
	}
	e.hello = false
}

// takeCredits takes the counters of a frame of this epoch.
func (e *End) takeCredits(f *weft.Frame) error {
	for vc := range weft.VC(e.vcs) {
		if c := e.channel(vc); f.Sent[vc] > c.granted || f.Limit[vc] > c.sent+weft.MaxBuffer {
			e.seldom().counters.Violations++
			return fmt.Errorf("%w: %v: %d sent of %d granted, %d granted to us", ErrCounters, vc,
				f.Sent[vc], c.granted, f.Limit[vc])
		}
	}
	for vc := range weft.VC(e.vcs) {
		c := e.channel(vc)
		c.credits = uint32(max(c.limit(), f.Limit[vc]) - c.sent)
		if f.Sent[vc] > c.received {
			r, gap := e.seldom(), f.Sent[vc]-c.received
			r.counters.Gaps, r.skipped = r.counters.Gaps+gap, r.skipped+gap
			c.received = f.Sent[vc]
		}
	}
	return nil
}

// Held is how many packets the buffer of vc holds.
func (e *End) Held(vc weft.VC) int { return int(e.channel(vc).held) }

// Epoch counters of one VC, to compare the two ends of a link at a quiescent point.
type Epoch struct {
	Sent, Limit, Received uint64
	Held                  int
}

// Epoch returns the counters of vc in the current epoch.
func (e *End) Epoch(vc weft.VC) Epoch {
	c := e.channel(vc)
	return Epoch{Sent: c.sent, Limit: c.limit(), Received: c.received, Held: int(c.held)}
}
