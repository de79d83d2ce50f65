package host

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestAClockGoesForwardAtOnceAndBackByGoingSlower(t *testing.T) {
	t.Parallel()
	host := time.Hour // since it was started: of no meaning to others
	c := NewClock(5*weft.Second, func() time.Duration { return host })
	require.Equal(t, 5*weft.Second, c.Now())
	host += time.Second
	require.Equal(t, 6*weft.Second, c.Now())
	c.Steer(2 * weft.Second)
	host += time.Second
	require.Equal(t, 9*weft.Second, c.Now())
	c.Steer(-weft.Second)
	host += 2*time.Second + time.Millisecond
	require.Equal(t, 9*weft.Second+1500*weft.Millisecond+weft.Millisecond, c.Now())
	host += 4 * time.Second
	require.Equal(t, 14*weft.Second+weft.Millisecond, c.Now())
}

// Whatever it is told, it never goes back.
func TestAClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	host, last := time.Duration(0), weft.Time(0)
	c := NewClock(0, func() time.Duration { return host })
	for range 10_000 {
		host += time.Duration(r.Int64N(int64(5 * time.Millisecond)))
		switch r.IntN(10) {
		case 0:
			c.Steer(weft.Time(r.Int64N(int64(weft.Second))))
		case 1:
			c.Steer(-weft.Time(r.Int64N(int64(weft.Second))))
		case 2:
			c.SetFactor(1 / float64(1+r.IntN(20)))
		}
		now := c.Now()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
}

// With a factor it goes slower, or faster again, and what it owes is lost by its own time.
func TestAClockGoesWithAFactor(t *testing.T) {
	t.Parallel()
	host := time.Hour
	c := NewClock(weft.Second, func() time.Duration { return host })
	pass := func(d time.Duration) { host += d + time.Millisecond } // it turns a millisecond later
	changed := c.Changed()
	c.SetFactor(1)
	require.Empty(t, changed)
	c.SetFactor(0.25)
	require.Equal(t, struct{}{}, <-changed)
	pass(4 * time.Second)
	require.Equal(t, 2*weft.Second+weft.Millisecond, c.Now())
	require.Equal(t, 0.25, c.Factor())
	require.Equal(t, 4*time.Second, c.Wall(weft.Second))
	require.Equal(t, time.Hour, c.Wall(weft.Never))
	c.Steer(-weft.Second)
	pass(8 * time.Second) // 2 s, of which it loses half a second
	require.Equal(t, 3500*weft.Millisecond+weft.Millisecond+weft.Millisecond/4, c.Now())
	c.SetFactor(1)
	pass(2 * time.Second) // it loses what is left
	require.InDelta(t, int64(5*weft.Second), int64(c.Now()), float64(3*weft.Millisecond))
	pass(2 * time.Second)
	require.InDelta(t, int64(7*weft.Second), int64(c.Now()), float64(4*weft.Millisecond))
}
