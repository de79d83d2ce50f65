package link

import "github.com/weft-fabric/weft"

// hold is why an end does not come up, or several reasons. An end that holds back goes on saying
// hello, but does not name the neighbour's epoch, so that the neighbour does not come up either. It
// tells it all the same that it was heard: in a frame to epoch 0 the first counter of Sent, which
// has no other meaning there, is the epoch that the sender has heard.
type hold uint8

// The reasons to hold back.
const (
	holdDamped    hold = 1 << iota // the link has flapped
	holdReturning                  // the node waits for its other links; see [End.Open]
)

// answer is what an end that holds back has last heard of whether its neighbour knows it.
type answer uint8

const (
	silent answer = iota // nothing
	ready                // it knows this epoch, and would come up
	holds                // it knows this epoch, and holds back as well
)

// Hold keeps the link from coming up until [End.Open]. A link that is up stays so.
func (e *End) Hold() { e.hold(holdReturning, true) }

// hold keeps the link from coming up for a reason, or lets it again.
func (e *End) hold(why hold, held bool) {
	was := e.held
	if held {
		e.held |= why
	} else {
		e.held &^= why
	}
	if was == 0 || e.held != 0 {
		return
	}
	e.oweHello()
	if e.state == Init {
		e.grant(nil)
	}
}

// grant notes what the neighbour lets us send in an epoch that has not begun; nil: nothing.
func (e *End) grant(f *weft.Frame) {
	for vc := range weft.VC(e.vcs) {
		c := e.channel(vc)
		if c.credits = 0; f != nil {
			c.credits = uint32(min(f.Limit[vc], weft.MaxBuffer))
		}
	}
}

// hear takes the epochs of a frame while the end holds back.
func (e *End) hear(f *weft.Frame) {
	if f.From < e.peer {
		e.seldom().counters.Stale++
		return
	}
	if f.From > e.peer {
		e.peer, e.answer = f.From, silent
		e.grant(nil)
		e.hello = e.hello || e.held&holdReturning != 0 // it may have missed that of before
	}
	switch {
	case f.To == e.mine:
		e.answer = ready
		e.grant(f)
	case f.To == 0 && f.Sent[0] == uint64(e.mine):
		e.answer = holds
	}
}

// Answered reports whether an end that holds back need not wait to hear more of its neighbour: that
// one has heard it.
func (e *End) Answered() bool { return e.answer != silent }

// Open ends [End.Hold]. Where the neighbour is ready the link is up at once, and the next frame
// tells it so; Open reports that. A node that opens all its ends in one step can thus pass packets
// on by each of them before any neighbour sends one.
func (e *End) Open(now weft.Time) (cameUp bool) {
	if e.state != Init || e.held != holdReturning || e.answer != ready {
		e.hold(holdReturning, false)
		return false
	}
	e.held = 0
	e.comeUp(e.peer)
	e.live.up(now)
	return true
}
