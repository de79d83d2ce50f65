package link

import "github.com/weft-fabric/weft"

// A node that was stopped does not know whether its neighbour has given the link up meanwhile: that
// tells it by a frame of a new epoch, which may still be on its way, behind others of the epoch
// that both knew. Packets sent before it comes would be lost.
//
// So an end can ask. Until it has an answer it sends no packets, and it goes on receiving. A
// neighbour that has not given the link up answers, and nothing has happened; one that has names
// its new epoch, as it does whatever it hears. Neither needs a credit, and an end that waits for an
// answer gives one, so two that ask each other do not wait for each other.
//
// A question or an answer is a frame to epoch 0 without packets: the first counter of Sent is the
// epoch that the sender has heard, as of an end that holds back, and the first of Limit, which is 0
// there, says what it is.
const (
	asks    = 1 << iota // an answer is wanted
	answers             // the receiver has asked
)

// Resume is to be called before the end sends. Packets wait for an answer of the neighbour if that
// may have given us up while we were stopped.
func (e *End) Resume(now weft.Time) {
	if e.hellos && e.live.mute(now) {
		e.ask()
		e.seldom().explained = now + e.live.detection
	}
}

// ask has an end that is up ask its neighbour whether the link is still up there. It sends no
// packets before it knows.
func (e *End) ask() {
	if e.state == Up && !e.asking {
		e.asking, e.hello = true, true
	}
}

// isQuestion reports whether f is a question or an answer from a neighbour that knows this epoch.
func (e *End) isQuestion(f *weft.Frame) bool {
	return f.To == 0 && f.Sent[0] == uint64(e.mine) && f.Limit[0] != 0 && (e.state == Init || f.From == e.peer)
}

// takeQuestion takes a question or an answer. The neighbour is up in this epoch, so this end comes
// up if it is not.
func (e *End) takeQuestion(f *weft.Frame) (v Verdict) {
	v.Heard = true
	if e.state == Init {
		e.comeUp(f.From)
		v.CameUp = true
	}
	if e.asking && f.Limit[0]&answers != 0 {
		e.asking, e.hello = false, true // which brings the credits
	}
	e.asked = e.asked || f.Limit[0]&asks != 0
	return v
}

// stampQuestion fills a question, an answer, or both in one.
func (e *End) stampQuestion(f *weft.Frame) {
	f.From, f.To, f.VCs = e.mine, 0, int(e.vcs)
	clear(f.Sent[:e.vcs])
	clear(f.Limit[:e.vcs])
	f.Sent[0] = uint64(e.peer)
	if e.asking {
		f.Limit[0], e.hello = asks, false
	}
	if e.asked {
		f.Limit[0] |= answers
		e.asked = false
	}
}
