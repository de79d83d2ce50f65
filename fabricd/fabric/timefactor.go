package fabric

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/settings"
)

// Errors of SetTimeFactor.
var (
	ErrVirtualTime = errors.New("virtual time has no factor: it goes as fast as it can")
	ErrUnpaced     = errors.New("links that are not paced have no rate, so no time factor applies: " +
		"start the fabric without --unpaced")
)

// TimeFactor is how fast the clocks of the fabric go, compared with those of its machines; 0: no factor
// applies, in virtual time or where links are not paced.
func (f *Fabric) TimeFactor() (factor float64) {
	if f.live != nil && f.opts.Link.Paced {
		f.decisions.read(func(s *leader.State) { factor = s.TimeFactor })
	}
	return factor
}

// SetTimeFactor has all clocks of the fabric go with a factor, and returns when all hosts that answer
// do. Errors: a factor out of bounds; ErrVirtualTime; ErrUnpaced.
func (f *Fabric) SetTimeFactor(factor float64) error {
	switch {
	case f.live == nil:
		return ErrVirtualTime
	case !f.opts.Link.Paced:
		return ErrUnpaced
	case !(factor >= settings.MinTimeFactor && factor <= settings.MaxTimeFactor):
		return fmt.Errorf("time factor %v: give %v to %d, 1 is the time of the machine",
			factor, settings.MinTimeFactor, settings.MaxTimeFactor)
	}
	var a *action
	f.inLoop(func(l loop) { a = l.decide(leader.SetTimeFactor{Factor: factor}) })
	return a.dispatched.wait()
}
