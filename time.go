package weft

import (
	"math"
	"time"
)

// Time is a point on a fabric's clock in picoseconds since the fabric started: wall time in live
// runs, simulated time in virtual ones. Picoseconds because a 64-byte packet lasts 1.28 ns at 400
// Gb/s; an int64 of them lasts 106 days.
type Time int64

// Units of Time.
const (
	Nanosecond  Time = 1000
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond

	// Never is later than every event: a timer that is not set.
	Never Time = math.MaxInt64
)

// FromDuration converts d to Time. It saturates at Never.
func FromDuration(d time.Duration) Time {
	if d > time.Duration(Never/Nanosecond) {
		return Never
	}
	return Time(d) * Nanosecond
}

// Duration converts t to a time.Duration, rounding towards zero to nanoseconds.
func (t Time) Duration() time.Duration { return time.Duration(t / Nanosecond) }

// String prints t as a duration since the start of the fabric.
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return t.Duration().String()
}
