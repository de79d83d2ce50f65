package link

import "github.com/weft-fabric/weft"

// detector finds out whether the neighbour is there, and says when a hello is due. The end tells
// it, in this order:
//
//	start   signal is there        hellos are due from now on
//	up      the link came up       the neighbour is expected from now on
//	heard   a valid frame came     the deadline moves on
//	sent    a frame went out       the next hello is due an interval later
//	tick    at due or before       says what is due: hello, silent, released
//	lost    the link is not up     nothing is expected until up; damping counts
//	stop    signal is gone         nothing is sent or expected
type detector struct {
	hello    weft.Time // the next one is due; Never unless started
	deadline weft.Time // the neighbour must be heard before it; Never unless up
	release  weft.Time // suppression ends; Never unless suppressed
	heardAt  weft.Time // the neighbour, last, while up; or the link came up
	sentAt   weft.Time // the last frame; or the detector was started

	interval  weft.Time // between hellos, as configured
	period    weft.Time // between hellos, as sent
	detection weft.Time // Liveness.Detection
	together  bool      // Liveness.Together
	forgiven  bool      // the neighbour was given an interval after an absence, in this silence

	damper *damper // nil: losses do not count
}

// due is what tick found to be due.
type due struct {
	hello    bool // send a frame now
	silent   bool // the neighbour is gone
	released bool // suppression has ended, the link may come up
}

// newDetector returns a stopped detector.
func newDetector(c Liveness) detector {
	s := detector{
		interval: c.Interval, period: c.period(), detection: c.Detection(), together: c.Together,
		hello: weft.Never, deadline: weft.Never, release: weft.Never,
	}
	if c.Damping != (Damping{}) {
		s.damper = &damper{Damping: c.Damping}
	}
	return s
}

// off is the detector of all ends that neither say hello nor damp: it never expects anything.
var off = newDetector(Liveness{})

// detectorOf is a detector as configured.
func detectorOf(c Liveness) *detector {
	if c.Interval == 0 && c.Damping == (Damping{}) {
		return &off
	}
	s := newDetector(c)
	return &s
}

// start begins hellos, the first at once. A started detector stays as it is.
func (s *detector) start(now weft.Time) {
	if s.period > 0 && s.hello == weft.Never {
		s.hello, s.sentAt = now, now
	}
}

// stop ends hellos. It is not a loss; damping goes on.
func (s *detector) stop() {
	if s != &off { // others read it meanwhile
		s.hello, s.deadline = weft.Never, weft.Never
	}
}

// up has a started detector expect the neighbour from now on.
func (s *detector) up(now weft.Time) {
	if s.detection > 0 {
		s.expect(now)
	}
}

// heard moves the deadline on. A frame that comes after the deadline but before tick still counts.
func (s *detector) heard(now weft.Time) {
	if s.deadline != weft.Never {
		s.expect(now)
	}
}

func (s *detector) expect(now weft.Time) {
	s.deadline, s.heardAt, s.forgiven = now+s.detection, now, false
}

// maxExemption is for how many detection times exempt may hold off the end of a silence. Chosen by
// us: a machine that holds a neighbour up for longer serves nobody.
const maxExemption = 10

// forget expects nothing until up, as lost does, and counts no loss.
func (s *detector) forget() {
	if s != &off {
		s.deadline = weft.Never
	}
}

// exempt begins the neighbour's time anew, see [End.Exempt].
func (s *detector) exempt(now weft.Time) {
	if s.deadline != weft.Never && now-s.heardAt < maxExemption*s.detection {
		s.deadline = max(s.deadline, now+s.detection)
	}
}

// sent puts the next hello off. Every frame is a hello.
func (s *detector) sent(now weft.Time) {
	if s.hello == weft.Never {
		return
	}
	if now-s.hello > s.interval/2 {
		s.forgive(now) // before the mark of our absence is gone
	}
	s.hello, s.sentAt = s.next(now), now
}

// next is when a hello is due if nothing is sent after now.
func (s *detector) next(now weft.Time) weft.Time {
	at := now + s.period
	if s.together {
		at -= at % min(s.period/togetherParts, mostTogether)
	}
	return at
}

// mute reports whether this end has said nothing for so long that a neighbour with the same
// configuration may take it for gone, or will before it hears what is said now: half an interval
// less than the detection time, or half of what that has beyond a hello.
func (s *detector) mute(now weft.Time) bool {
	return s.hello != weft.Never && now-s.sentAt >= s.detection-min(s.interval, s.detection-s.period)/2
}

// tick says what is due at now. A hello repeats every interval while the detector is started,
// counted from the last hello or sent, or a little earlier for company. Silence is due when the
// neighbour was not heard for the detection time while the link was up, our own absence apart; it
// is reported once until the next up.
func (s *detector) tick(now weft.Time) (d due) {
	s.forgive(now)
	if now >= s.hello {
		d.hello, s.hello = true, s.next(now)
	}
	if now >= s.deadline {
		d.silent, s.deadline = true, weft.Never
	}
	if now >= s.release {
		d.released, s.release = true, weft.Never
	}
	return d
}

// forgive moves the deadline when it is this end that was absent. See the package's comment for the
// rule.
func (s *detector) forgive(now weft.Time) {
	late := now - max(s.due(), s.heardAt) // whoever heard something was there
	if s.deadline == weft.Never || late <= s.interval/2 {
		return
	}
	s.deadline += late
	if !s.forgiven {
		s.forgiven = true
		s.deadline = max(s.deadline, now+s.interval)
	}
}

// suspectAt is when the neighbour has missed a hello, unless it is heard before; weft.Never: none
// is expected.
func (s *detector) suspectAt() weft.Time {
	if s.deadline == weft.Never {
		return weft.Never
	}
	return min(s.deadline, s.heardAt+s.interval+s.interval/2)
}

// due is when tick is to be called at the latest: weft.Never when the detector is stopped and not
// suppressed.
func (s *detector) due() weft.Time { return min(s.hello, s.deadline, s.release) }
