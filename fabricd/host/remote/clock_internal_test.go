package remote

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
	c := newClock(5*weft.Second, func() time.Duration { return host })
	require.Equal(t, 5*weft.Second, c.Now())
	host += time.Second
	require.Equal(t, 6*weft.Second, c.Now())
	c.steer(2 * weft.Second)
	host += time.Second
	require.Equal(t, 9*weft.Second, c.Now())
	c.steer(-weft.Second)
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
	c := newClock(0, func() time.Duration { return host })
	for range 10_000 {
		host += time.Duration(r.Int64N(int64(5 * time.Millisecond)))
		switch r.IntN(10) {
		case 0:
			c.steer(weft.Time(r.Int64N(int64(weft.Second))))
		case 1:
			c.steer(-weft.Time(r.Int64N(int64(weft.Second))))
		}
		now := c.Now()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
}
