package leader

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft"
)

// steady adds a second of bins with so many packets each.
func steady(s *samples, from, per int) {
	for i := range 100 {
		s.add(weft.FromDuration(time.Duration(from+i+1)*s.width), s.last+uint64(per))
	}
}

func TestADegradationIsMeasuredAgainstTheTrafficThatFlows(t *testing.T) {
	t.Parallel()
	at := func(bin int, s *samples) weft.Time { return weft.FromDuration(time.Duration(bin) * s.width) }
	s := &samples{width: 10 * time.Millisecond}
	steady(s, 0, 100)
	steady(s, 100, 50)
	d := s.degradation(at(100, s), at(200, s))
	assert.True(t, d.Found)
	assert.InDelta(t, 50, d.Depth, 1e-9)

	// The same, but that half of the traffic was stopped with bin 100, and the fault came later.
	s = &samples{width: 10 * time.Millisecond}
	steady(s, 0, 100)
	s.advance(at(99, s))
	steady(s, 100, 50)
	d = s.degradation(at(150, s), at(200, s))
	assert.False(t, d.Found, "%v", d)
	assert.InDelta(t, 5000, d.Baseline, 1e-9)
	d = s.degradation(at(50, s), at(200, s))
	assert.Zero(t, d, "what came before is gone")
}
