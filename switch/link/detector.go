package link

import (
	"math"

	"github.com/weft-fabric/weft"
)

// Detector finds out whether the neighbour of a link end is there. A value: it can be copied, and has one owner at a time. The zero value is not usable, see
// [NewDetector]. The times it is told never go backwards.
type Detector struct {
	hello    weft.Time // the next one is due; Never unless started
	deadline weft.Time // the neighbour must be heard before it; Never unless up
	release  weft.Time // suppression ends; Never unless suppressed
	heard    weft.Time // the neighbour, last, while up; or the link came up
	said     weft.Time // the last frame; or the session was started
	excused  bool      // the neighbour was given an interval after an absence, in this silence

	penalty   float64   // at penaltyAt
	penaltyAt weft.Time // the last loss
	limit     weft.Time // release never goes beyond it: the loss that began the suppression, plus Damping.Max

	cfg       Liveness
	detection weft.Time // cfg.Detection()
	period    weft.Time // between hellos
}

// Due is what [Detector.Tick] found to be due.
type Due struct {
	Hello    bool // send a frame now
	Silent   bool // the neighbour is gone
	Released bool // suppression has ended, the link may come up
}

// NewDetector returns a stopped detector. c must be valid, see [Liveness.Validate].
func NewDetector(c Liveness) Detector {
	return Detector{
		cfg: c, detection: c.Detection(), period: c.period(),
		hello: weft.Never, deadline: weft.Never, release: weft.Never,
	}
}

// Start tells that the end has signal: hellos go out from now on, the first at once. A started session stays as it is.
func (s *Detector) Start(now weft.Time) {
	if s.period > 0 && s.hello == weft.Never {
		s.hello, s.said = now, now
	}
}

// Stop tells that there is no signal: nothing is sent or expected. It is not a loss; damping goes on.
func (s *Detector) Stop() { s.hello, s.deadline = weft.Never, weft.Never }

// Up tells a started session that the link came up: the neighbour is expected to be heard from now on.
func (s *Detector) Up(now weft.Time) {
	if s.detection > 0 {
		s.hear(now)
	}
}

// Heard tells that a valid frame of the neighbour came. One that comes after the deadline but before Tick still counts.
func (s *Detector) Heard(now weft.Time) {
	if s.deadline != weft.Never {
		s.hear(now)
	}
}

// maxExcuse is for how many detection times Excuse may hold off the end of a silence. Chosen by us: a machine that holds a
// neighbour up for longer serves nobody.
const maxExcuse = 10

// Excuse tells that the neighbour is not heard because something of ours holds it up. Its time begins anew, but a silence
// that lasts ten times as long as it may is one whatever the reason.
func (s *Detector) Excuse(now weft.Time) {
	if s.deadline != weft.Never && now-s.heard < maxExcuse*s.detection {
		s.deadline = max(s.deadline, now+s.detection)
	}
}

func (s *Detector) hear(now weft.Time) {
	s.deadline, s.heard, s.excused = now+s.detection, now, false
}

// Sent tells that a frame went out. Every frame is a hello.
func (s *Detector) Sent(now weft.Time) {
	if s.hello == weft.Never {
		return
	}
	if now-s.hello > s.cfg.Interval/2 {
		s.excuse(now) // before the mark of our absence is gone
	}
	s.hello, s.said = now+s.period, now
}

// Detection is the silence after which the neighbour is gone, see [Config.Detection].
func (s *Detector) Detection() weft.Time { return s.detection }

// Mute reports whether this end has said nothing for so long that a neighbour with the same configuration may take it for gone, or
// will before it hears what is said now: half an interval less than the detection time, or half of what that has beyond a hello.
func (s *Detector) Mute(now weft.Time) bool {
	slack := min(s.cfg.Interval, s.detection-s.period) / 2
	return s.detection > 0 && s.hello != weft.Never && now-s.said >= s.detection-slack
}

// Tick says what is due at now. Hello repeats every interval while the session is started, counted from the last Hello or
// Sent. Silent is due when the neighbour was not heard for Interval x Multiplier or longer while the link was up, our own
// absence apart; it is reported once until the next Up.
func (s *Detector) Tick(now weft.Time) (due Due) {
	s.excuse(now)
	if now >= s.hello {
		due.Hello, s.hello = true, now+s.period
	}
	if now >= s.deadline {
		due.Silent, s.deadline = true, weft.Never
	}
	if now >= s.release {
		due.Released, s.release = true, weft.Never
	}
	return due
}

// excuse moves the deadline when it is this end that was absent. See the package's comment for the rule.
func (s *Detector) excuse(now weft.Time) {
	late := now - max(s.Due(), s.heard) // whoever heard something was there
	if s.deadline == weft.Never || late <= s.cfg.Interval/2 {
		return
	}
	s.deadline += late
	if !s.excused {
		s.excused = true
		s.deadline = max(s.deadline, now+s.cfg.Interval)
	}
}

// Due is when Tick is to be called at the latest: weft.Never when the session is stopped and not suppressed.
func (s *Detector) Due() weft.Time { return min(s.hello, s.deadline, s.release) }

// Lost tells that the link left the up state, for whatever reason: signal went, the neighbour is silent or has started
// anew. It counts for damping; nothing is expected until Up.
func (s *Detector) Lost(now weft.Time) {
	s.deadline = weft.Never
	d := &s.cfg.Damping
	if d.HalfLife == 0 {
		return
	}
	s.penalty, s.penaltyAt = s.Penalty(now)+1, now
	if !s.Suppressed() {
		if s.penalty <= d.Suppress {
			return
		}
		s.limit = now + d.Max
	}
	halfLife := float64(d.HalfLife)
	s.penalty = min(s.penalty, d.Reuse*math.Exp2(float64(max(0, s.limit-now))/halfLife))
	// To the nanosecond: the last bits of a logarithm differ between processors, and events must not.
	falls := math.Round(halfLife * math.Log2(s.penalty/d.Reuse) / float64(weft.Nanosecond))
	s.release = min(s.limit, now+weft.Time(falls)*weft.Nanosecond)
}

// Suppressed reports whether damping holds the link down: the owner must not let it come up. It lasts until Tick says
// Released.
func (s *Detector) Suppressed() bool { return s.release != weft.Never }

// Penalty of the link at now, in losses: what damping compares with Suppress and Reuse. 0 without damping.
func (s *Detector) Penalty(now weft.Time) float64 {
	if s.penalty == 0 {
		return 0
	}
	return s.penalty * math.Exp2(-float64(now-s.penaltyAt)/float64(s.cfg.Damping.HalfLife))
}
