package part

import (
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
)

// clock is the time of a part: that of its charter, and what has passed since by the clock of this host alone, for hosts do not
// agree on the time of day.
type clock struct {
	start time.Time // constant
	began atomic.Int64
}

func newClock(began weft.Time) *clock {
	c := &clock{start: time.Now()}
	c.began.Store(int64(began))
	return c
}

// Now is the time.
func (c *clock) Now() weft.Time {
	return weft.Time(c.began.Load()) + weft.FromDuration(time.Since(c.start))
}

// forward puts it forward.
func (c *clock) forward(by weft.Time) { c.began.Add(int64(by)) }
