package fabric

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/leader"
)

// Bounds of a time factor. Chosen by us: a thousandth is a picture in slow motion.
const (
	MinTimeFactor = 0.001
	MaxTimeFactor = 100
)

// EventTimeFactor is the kind of the event that the clocks of the fabric go otherwise.
const EventTimeFactor = leader.EventTimeFactor

// ErrNoTimeFactor means that the time of a fabric has no factor.
var ErrNoTimeFactor = errors.New("virtual time has no factor: it goes as fast as it can")

// TimeFactor is how fast the clocks of the fabric go, compared with those of its machines; zero: it
// runs in virtual time.
func (ts *traffic) TimeFactor() (t leader.TimeFactor) {
	if ts.live == nil {
		return t
	}
	ts.read(func(s *leader.State) { t = s.TimeFactor })
	return t
}

// SetTimeFactor has all clocks of the fabric go with a factor, and says why in an event. It returns
// when all hosts that answer do. Errors: a factor out of bounds; virtual time.
func (ts *traffic) SetTimeFactor(t leader.TimeFactor, why string) error {
	switch {
	case ts.live == nil:
		return ErrNoTimeFactor
	case !(t.Factor >= MinTimeFactor && t.Factor <= MaxTimeFactor):
		return fmt.Errorf("time factor %v: give %v to %v, 1 is the time of the machine", t.Factor, MinTimeFactor, float64(MaxTimeFactor))
	}
	var a *action
	ts.inLoop(func(l loop) { a = l.decide(leader.SetTimeFactor{To: t, Why: why}) })
	return a.dispatched.wait()
}
