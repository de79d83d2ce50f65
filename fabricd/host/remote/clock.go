package remote

import (
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
)

// clock is a host's time: that of its spec, and what has passed since then by this machine's clock.
// Machines do not agree on the time of day, and their clocks drift, so the leader corrects hosts
// from time to time. A clock never goes back.
type clock struct {
	elapsed func() time.Duration // by the clock of this machine, since some moment
	now     atomic.Pointer[course]
}

// course is how a clock runs. Constant.
type course struct {
	at     time.Duration // of the machine's clock
	time   weft.Time     // what the clock shows then
	owed   weft.Time     // by which it falls behind from then on, until it has
	before *course       // until then; nil: it is over
}

// slower is the share of passing time that a clock loses which is ahead. Chosen by us: hellos that
// come later by it are not missed.
const slower = 4

// newClock returns a clock that shows a time. Elapsed is what has passed by the machine's clock;
// nil: by the process's.
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

// steer puts the clock forward at once, or makes it run slower until it has lost as much. It
// replaces the correction before. Calls must not overlap.
func (c *clock) steer(by weft.Time) {
	now, was := c.elapsed(), *c.now.Load()
	if now >= was.at {
		was.before = nil
	}
	at := max(now, was.at) + time.Millisecond // who reads the clock meanwhile is not that far
	c.now.Store(&course{at: at, time: was.when(at) + max(0, by), owed: max(0, -by), before: &was})
}
