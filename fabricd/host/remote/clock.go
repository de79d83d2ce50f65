package remote

import (
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
)

// clock is the time of a host: that of its spec, and what has passed since by the clock of this
// machine alone, for machines do not agree on the time of day. Clocks of hosts drift apart, so the
// leader puts it right from time to time. It never goes back.
type clock struct {
	elapsed func() time.Duration // by the clock of this machine, since some moment
	now     atomic.Pointer[course]
}

// course is how a clock goes on. Constant.
type course struct {
	at     time.Duration // of the machine's clock
	time   weft.Time     // what the clock shows then
	owed   weft.Time     // by which it falls behind from then on, until it has
	before *course       // until then; nil: it is over
}

// slower says by which share of the time that passes a clock falls behind that is ahead. Chosen by
// us: hellos that come later by it are not missed.
const slower = 4

// newClock is a clock that shows a time. Elapsed is what has passed by the clock of the machine;
// nil: that of the process.
func newClock(began weft.Time, elapsed func() time.Duration) *clock {
	if elapsed == nil {
		start := time.Now()
		elapsed = func() time.Duration { return time.Since(start) }
	}
	c := &clock{elapsed: elapsed}
	c.now.Store(&course{at: elapsed(), time: began})
	return c
}

// Now is the time.
func (c *clock) Now() weft.Time { return c.now.Load().when(c.elapsed()) }

func (s *course) when(elapsed time.Duration) weft.Time {
	if elapsed < s.at && s.before != nil {
		return s.before.when(elapsed)
	}
	since := weft.FromDuration(elapsed - s.at)
	return s.time + since - min(s.owed, max(0, since/slower))
}

// steer puts the clock forward at once, or has it go slower until it has fallen behind by as much,
// whatever it was to do before. Only one at a time may call it.
func (c *clock) steer(by weft.Time) {
	now, was := c.elapsed(), *c.now.Load()
	if now >= was.at {
		was.before = nil
	}
	at := max(now, was.at) + time.Millisecond // who reads the clock meanwhile is not that far
	c.now.Store(&course{at: at, time: was.when(at) + max(0, by), owed: max(0, -by), before: &was})
}
