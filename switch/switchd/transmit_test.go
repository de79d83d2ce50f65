package switchd

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestAPacedLinkKeepsItsRate(t *testing.T) {
	t.Parallel()
	const rate, packets = 256 * 1000, 400 // a thousand packets a second, for 400 ms
	r := newRig(t, link.Pace{Rate: rate}, Config{})
	r.give(packets)
	began := r.now()
	var last weft.Time
	r.take(packets, func(_ int, at weft.Time, _ weft.Header) { last = at })
	took := (last - began).Duration()
	ideal := time.Duration(packets) * 256 * time.Second / rate
	require.Greater(t, took, ideal/2) // how late it may be is the machine's; that it catches up, package pace tests
	r.look(func(c *fake) {
		for _, n := range c.batches {
			require.Equal(t, 1, n, "each packet keeps its own time")
		}
	})
}

func TestDelayHoldsEveryPacketAndKeepsTheirOrder(t *testing.T) {
	t.Parallel()
	const delay = 30 * time.Millisecond
	for _, rate := range []float64{0, 2_560_000} {
		r := newRig(t, link.Pace{Rate: rate, Delay: delay}, Config{Batch: 8})
		r.give(100)
		r.take(100, func(i int, at weft.Time, h weft.Header) {
			require.EqualValues(t, i, h.Seq)
			require.GreaterOrEqual(t, at, h.Injected+weft.FromDuration(delay), "packet %d", i)
		})
		r.stop()
	}
}

// Whoever waits for a time looks again how long that is when the clock goes otherwise.
func TestADriverWaitsByTheClockAsItGoesNow(t *testing.T) {
	var stands atomic.Bool
	stands.Store(true)
	r := newRig(t, link.Pace{Delay: 10 * time.Millisecond}, Config{Wall: func(span weft.Time) time.Duration {
		if stands.Load() {
			return time.Hour
		}
		return span.Duration()
	}})
	r.d.Do(func(now weft.Time, out *weft.Actions) { out.WakeAt = now + 10*weft.Millisecond })
	r.give(1)
	rig.Until(t, func() bool { return r.now() > 20*weft.Millisecond }, "both are due")
	require.Empty(t, r.far)
	stands.Store(false)
	r.d.Recheck()
	m := <-r.far
	m.Release()
	rig.Until(t, func() (ticked bool) {
		r.d.View(func() { ticked = len(r.core.ticks) > 0 })
		return ticked
	}, "the core is ticked")
}

// A driver that the machine wakes a millisecond late each time keeps the rate of a link with packets that
// wait, all the same.
func TestALinkWhoseDriverIsLateKeepsItsRate(t *testing.T) {
	late := func(span weft.Time) time.Duration { return span.Duration() + time.Millisecond }
	const packets = 100
	rig.Until(t, func() bool { // once is enough: the machine may be later
		r := newRig(t, link.Pace{Rate: 256_000}, Config{Wall: late}) // a packet a millisecond
		defer r.stop()
		r.give(packets)
		began, last := r.now(), weft.Time(0)
		r.take(packets, func(_ int, at weft.Time, _ weft.Header) { last = at })
		return last-began < packets*3/2*weft.Millisecond
	}, "it keeps its rate")
}

// A frame says when it arrives by the rate of its link, from when it could leave: with packets that is
// when they came, for a hello when it was due.
func TestAFrameSaysWhenItArrivesByTheRateOfItsLink(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{Rate: 256_000, Delay: time.Millisecond}, Config{})
	arrives := func() weft.Time {
		m := rig.Next(t, r.far, "a frame")
		defer m.Release()
		var f weft.Frame
		require.NoError(t, wire.DecodeFrame(&f, rigged.Sum(), m.Data))
		require.LessOrEqual(t, f.At, r.now())
		return f.At
	}
	r.give(1)
	free := arrives()
	rig.Until(t, func() bool { return r.now() > free }, "the link is free")
	given := r.now()
	r.give(2)
	after := r.now()
	first := arrives()
	require.GreaterOrEqual(t, first, given+2*weft.Millisecond)
	require.LessOrEqual(t, first, after+2*weft.Millisecond, "however late the machine is")
	require.Equal(t, first+weft.Millisecond, arrives(), "the next follows at once")
	rig.Until(t, func() bool { return r.now() > first+2*catchUp }, "the link is idle for long")
	due := r.now()
	r.owe()
	require.GreaterOrEqual(t, arrives(), due+weft.Millisecond)
}
