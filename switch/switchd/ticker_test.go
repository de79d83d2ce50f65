package switchd

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/link"
)

// Whatever is set and taken back, the drivers come when they are due, the first first, and once.
func TestATickerTakesDriversInTheOrderOfTheirTimes(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	var now weft.Time
	ticker := NewTicker(func() weft.Time { return now }, weft.Time.Duration)
	drivers := make([]Driver, 50)
	want := map[*Driver]weft.Time{}
	first := func() weft.Time {
		due := weft.Never
		for _, at := range want {
			due = min(due, at)
		}
		return due
	}
	for range testenv.N(20_000, 2000) {
		d := &drivers[rnd.IntN(len(drivers))]
		switch rnd.IntN(4) {
		case 0:
			now += weft.Time(rnd.IntN(10))
		case 1:
			delete(want, d)
			ticker.set(d, weft.Never)
		case 2:
			want[d] = now + weft.Time(rnd.IntN(100))
			ticker.set(d, want[d])
		case 3:
			due := first()
			got, next := ticker.take()
			require.Equal(t, due, next)
			require.Equal(t, due <= now, got != nil)
			if got != nil {
				require.Equal(t, due, want[got])
				delete(want, got)
			}
		}
		require.Len(t, ticker.queue, len(want))
	}
}

// Drivers that share a ticker are ticked when each is due; one that waits for nothing is left
// alone.
func TestDriversShareATicker(t *testing.T) {
	t.Parallel()
	began := time.Now()
	ticker := NewTicker(func() weft.Time { return weft.FromDuration(time.Since(began)) }, weft.Time.Duration)
	var rigs []*driven
	for _, every := range []weft.Time{0, weft.Millisecond, 5 * weft.Millisecond} {
		r := newRig(t, link.Pace{}, Config{Ticker: ticker})
		r.d.Do(func(now weft.Time, out *weft.Actions) {
			if r.core.every = every; every > 0 {
				out.WakeAt = now
			}
		})
		rigs = append(rigs, r)
	}
	rests := make(chan struct{}, 1)
	ticker.Rest = func() { notify(rests) }
	running := make(chan struct{})
	go func() { defer close(running); ticker.Run(t.Context()) }()
	t.Cleanup(func() { <-running })
	ticks := func(r *driven) (n int) {
		r.d.View(func() { n = len(r.core.ticks) })
		return n
	}
	rig.Until(t, func() bool { return ticks(rigs[1]) >= 20 && ticks(rigs[2]) >= 4 }, "both are ticked")
	require.Zero(t, ticks(rigs[0]))
	rig.Next(t, rests, "a rest")
	require.False(t, ticker.Late(time.Hour, 0))
}
