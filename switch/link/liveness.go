package link

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
)

// Hard bounds of a [Liveness]: beyond them lies a mistake of units. They also keep all sums of
// times within weft.Time.
const (
	minInterval   = weft.Microsecond // BFD's own unit of intervals (RFC 5880, 4.1)
	MaxInterval   = 60 * weft.Second
	MaxMultiplier = 255 // BFD has 8 bits for it
	minHalfLife   = weft.Microsecond
	MaxHalfLife   = 24 * 3600 * weft.Second
	MaxSuppressed = 24 * 3600 * weft.Second // of Damping.Max
	MaxSuppress   = 1000                    // losses
	MinReuse      = 0.001
)

// Liveness says when a neighbour is taken for gone. The zero value never does, and damps nothing.
type Liveness struct {
	// Interval between hellos; 0 turns hellos and detection off: a silent fault is then never
	// noticed.
	Interval   weft.Time
	Multiplier int     // so many hellos in a row must be missing, 1 to MaxMultiplier; see Detection
	Damping    Damping // of flapping links; the zero value is none

	// Together has hellos leave when those of other links do, each a little before it is due: they can
	// share a message then.
	Together bool
}

// A hello leaves earlier for company by less than this part of the period, and of this time. Chosen
// by us: what a large fabric says at one instant takes a processor a few milliseconds.
const (
	togetherParts = 64
	mostTogether  = 10 * weft.Millisecond
)

// Detection is the silence after which a neighbour is gone: Interval x Multiplier (RFC 5880,
// 6.8.4).
func (c Liveness) Detection() weft.Time { return c.Interval * weft.Time(c.Multiplier) }

// period is the time between hellos. With a multiplier of 1 it is shorter than the interval, or
// each hello would race against the deadline that it is to move: 90%, the most that RFC 5880,
// 6.8.7, allows then.
func (c Liveness) period() weft.Time {
	if c.Multiplier == 1 {
		return c.Interval * 9 / 10
	}
	return c.Interval
}

// Validate reports everything that is wrong with c, joined, or nil.
func (c Liveness) Validate() error {
	var errs []error
	if c.Interval != 0 && (c.Interval < minInterval || c.Interval > MaxInterval) {
		errs = append(errs, fmt.Errorf("interval between hellos is %v: set %v to %v, or 0 to turn detection off",
			c.Interval, minInterval, MaxInterval))
	}
	switch {
	case c.Multiplier < 0 || c.Multiplier > MaxMultiplier:
		errs = append(errs, fmt.Errorf("multiplier of the hello interval is %d: set 1 to %d", c.Multiplier, MaxMultiplier))
	case c.Multiplier == 0 && c.Interval != 0:
		errs = append(errs, fmt.Errorf(
			"multiplier is 0 with an interval of %v: set 1 to %d, or the interval to 0 to turn detection off",
			c.Interval, MaxMultiplier))
	}
	return errors.Join(append(errs, c.Damping.validate()...)...)
}
