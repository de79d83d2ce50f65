package host

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
)

// Clock is the time of a fabric that runs live: what passes by the machine's clock, times a factor.
// A factor below 1 gives a machine more time for all that happens: a fabric then goes slower, and
// does the same.
//
// Machines do not agree on the time of day, and their clocks drift, so the leader corrects hosts
// from time to time. A clock never goes back.
type Clock struct {
	elapsed func() time.Duration // by the clock of this machine, since some moment
	now     atomic.Pointer[course]

	mu      sync.Mutex    // of who changes it
	changed chan struct{} // guarded by mu: closed when the factor changes
}

// course is how a clock runs. Constant.
type course struct {
	at     time.Duration // of the machine's clock
	time   weft.Time     // what the clock shows then
	factor float64       // how fast it goes from then on
	owed   weft.Time     // by which it falls behind from then on, until it has
	before *course       // until then; nil: it is over
}

// slower is the share of passing time that a clock loses which is ahead. Chosen by us: hellos that
// come later by it are not missed.
const slower = 4

// NewClock returns a clock that shows a time and goes with factor 1. Elapsed is what has passed by
// the machine's clock; nil: by the process's.
func NewClock(began weft.Time, elapsed func() time.Duration) *Clock {
	if elapsed == nil {
		start := time.Now()
		elapsed = func() time.Duration { return time.Since(start) }
	}
	c := &Clock{elapsed: elapsed, changed: make(chan struct{})}
	c.Begin(began)
	return c
}

// Begin has the clock show a time, and go with factor 1. Nobody may use it yet.
func (c *Clock) Begin(at weft.Time) { c.now.Store(&course{at: c.elapsed(), time: at, factor: 1}) }

// Now is the time.
func (c *Clock) Now() weft.Time { return c.now.Load().when(c.elapsed()) }

func (s *course) when(elapsed time.Duration) weft.Time {
	if elapsed < s.at && s.before != nil {
		return s.before.when(elapsed)
	}
	since := s.since(elapsed)
	return s.time + since - s.lost(since)
}

// since is how far it has come, but for what it owes.
func (s *course) since(elapsed time.Duration) weft.Time {
	since := weft.FromDuration(elapsed - s.at)
	if s.factor != 1 {
		since = weft.Time(float64(since) * s.factor)
	}
	return since
}

// lost is how much of what is owed it has fallen behind when it has come so far.
func (s *course) lost(since weft.Time) weft.Time { return min(s.owed, max(0, since/slower)) }

// Steer puts the clock forward at once, or makes it run slower until it has lost as much. It
// replaces the correction before.
func (c *Clock) Steer(by weft.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.turn()
	next.time += max(0, by)
	next.owed = max(0, -by)
	c.now.Store(next)
}

// SetFactor has the clock go with another factor, from about now on.
func (c *Clock) SetFactor(factor float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.turn()
	if next.factor == factor {
		return
	}
	next.factor = factor
	c.now.Store(next)
	close(c.changed)
	c.changed = make(chan struct{})
}

// turn is the course to take instead of the one that there is, from now on: so far the same. The
// caller holds mu.
func (c *Clock) turn() *course {
	now, was := c.elapsed(), *c.now.Load()
	if now >= was.at {
		was.before = nil
	}
	at := max(now, was.at) + time.Millisecond // who reads the clock meanwhile is not that far
	owed := was.owed - was.lost(was.since(at))
	return &course{at: at, time: was.when(at), factor: was.factor, owed: owed, before: &was}
}

// Factor is how fast the clock goes.
func (c *Clock) Factor() float64 { return c.now.Load().factor }

// Changed is closed when the factor is another than when it was called: who waits for a time looks
// again how long that is.
func (c *Clock) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Wall is how long a span of the clock's time takes by the machine's, as the clock goes now, and an
// hour at most.
func (c *Clock) Wall(span weft.Time) time.Duration {
	return time.Duration(min(float64(span.Duration())/c.Factor(), float64(time.Hour)))
}
