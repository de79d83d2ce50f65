package fabric

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/settings"
)

// EventTimeFactor is the kind of the event that the clocks of the fabric go otherwise.
const EventTimeFactor = leader.EventTimeFactor

// Errors of SetTimeFactor.
var (
	ErrVirtualTime = errors.New("virtual time has no factor: it goes as fast as it can")
	ErrUnpaced     = errors.New("links that are not paced have no rate, so no time factor applies: start the fabric without --unpaced")
)

// TimeFactor is how fast the clocks of the fabric go, compared with those of its machines; zero: none
// applies, in virtual time or where links are not paced.
func (ts *traffic) TimeFactor() (t leader.TimeFactor) {
	if ts.live == nil || !ts.opts.Link.Paced {
		return t
	}
	ts.read(func(s *leader.State) { t = s.TimeFactor })
	return t
}

// SetTimeFactor has all clocks of the fabric go with a factor. It returns when all hosts that answer do. Errors: a factor out of bounds; ErrVirtualTime; ErrUnpaced.
func (ts *traffic) SetTimeFactor(t leader.TimeFactor) error {
	switch {
	case ts.live == nil:
		return ErrVirtualTime
	case !ts.opts.Link.Paced:
		return ErrUnpaced
	case !(t.Factor >= settings.MinTimeFactor && t.Factor <= settings.MaxTimeFactor):
		return fmt.Errorf("time factor %v: give %v to %d, 1 is the time of the machine", t.Factor, settings.MinTimeFactor, settings.MaxTimeFactor)
	}
	var a *action
	ts.inLoop(func(l loop) { a = l.decide(leader.SetTimeFactor{To: t}) })
	return a.dispatched.wait()
}
