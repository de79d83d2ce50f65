package link

import (
	"github.com/weft-fabric/weft"
)

// End is one end of a link. Its methods replace those of CreditEnd that need to know the time.
//
// # A node that was stopped
//
// A node that was stopped for the detection time, as a process is by SIGSTOP or with its machine, has neighbours that may have given
// its links up, each or none. It finds out link by link, and its links must not go down and up one after the other meanwhile: packets
// would find no way on. So an end that has said nothing for the detection time sends no packets until it has asked its neighbour
// whether the link is still up ([CreditEnd.Ask]). Where the neighbour has begun a new epoch, the link counts as up at this end while
// both agree on the epochs, for the detection time at the longest: the new epoch is no fault, it shows that the neighbour is there.
type End struct {
	CreditEnd
	live      Detector
	renewing  bool      // it was up, and is in init only because the neighbour gave us up while we were stopped
	explained weft.Time // until then our own absence explains that the neighbour begins a new epoch
}

// New returns an end without signal.
func New(c Config, l Liveness) End {
	return End{CreditEnd: NewCreditEnd(c), live: NewDetector(l)}
}

// Signal tells the end that signal is there or gone. It reports whether the link stopped being up.
func (e *End) Signal(now weft.Time, up bool) (lost bool) {
	if lost = e.CreditEnd.Signal(up); lost {
		e.lost(now)
	}
	if up {
		e.live.Start(now)
		return lost
	}
	e.live.Stop()
	lost, e.renewing = lost || e.renewing, false
	return lost
}

// Usable reports whether packets may be queued for the link: it is up, or will be as soon as the neighbour has answered.
func (e *End) Usable() bool { return e.State() == Up || e.renewing }

// Resume is to be called before the end sends. Packets wait for an answer of the neighbour if that may have given us up.
func (e *End) Resume(now weft.Time) {
	if e.live.Mute(now) {
		e.Ask()
		e.explained = now + e.live.Detection()
	}
}

// Receive takes the frame's epochs and counters, see [CreditEnd.Receive]. Of an end that is up again in a new epoch after we were
// stopped the verdict says neither that it was lost nor that it came up.
func (e *End) Receive(now weft.Time, f *weft.Frame) (Verdict, error) {
	v, err := e.CreditEnd.Receive(f)
	if v.Lost {
		absent := e.live.Mute(now) || now < e.explained
		e.lost(now)
		if absent && !e.Suppressed() {
			e.renewing, v.Lost = true, false
			e.live.Up(now)
		}
	}
	if v.CameUp {
		e.live.Up(now)
		v.CameUp, e.renewing = !e.renewing, false
	}
	if v.Accept || v.Heard {
		e.live.Heard(now)
	}
	return v, err
}

// Open lets the end come up that has waited for the others of its node, see [CreditEnd.Open]. It reports whether it is up now.
func (e *End) Open(now weft.Time) (cameUp bool) {
	if cameUp = e.CreditEnd.Open(); cameUp {
		e.live.Up(now)
	}
	return cameUp
}

// Excuse tells that the neighbour is not heard because something of ours holds it up, see [Detector.Excuse].
func (e *End) Excuse(now weft.Time) { e.live.Excuse(now) }

// Stamp fills the epochs and counters of a frame that this end is about to send, see [CreditEnd.Stamp].
func (e *End) Stamp(now weft.Time, f *weft.Frame) (packets bool) {
	packets = e.CreditEnd.Stamp(f)
	e.live.Sent(now)
	return packets
}

// Due is when Tick is to be called at the latest. Stamp only ever puts it off; look again after Signal, and after a Receive that
// changed the state of the link.
func (e *End) Due() weft.Time { return e.live.Due() }

// Tick does what was due at or before now: a hello, which Owes then tells, or giving up on a neighbour that is silent. It
// reports whether the link stopped being up.
func (e *End) Tick(now weft.Time) (lost bool) {
	d := e.live.Tick(now)
	if d.Released {
		e.Hold(HoldDamped, false)
	}
	if d.Silent {
		if lost = e.Expire(); lost {
			e.lost(now)
		}
		lost, e.renewing = lost || e.renewing, false
	}
	if d.Hello {
		e.Hello()
	}
	return lost
}

// Suppressed reports whether damping keeps the link from coming up.
func (e *End) Suppressed() bool { return e.live.Suppressed() }

func (e *End) lost(now weft.Time) {
	e.live.Lost(now)
	e.Hold(HoldDamped, e.live.Suppressed())
}
