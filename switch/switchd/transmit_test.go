package switchd

import (
	"cmp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
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

// A receiver transmits by itself, also while the transmitter of the port goes to sleep.
func TestNoPacketIsLeftBehindByATransmitterThatGoesToSleep(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{}, Config{})
	r.look(func(c *fake) { c.returns = true })
	f := weft.Frame{VCs: 1, Packets: []weft.Header{{Size: 256, Fields: weft.NewFields()}}}
	sent := wire.AppendFrame(nil, rigged.Reverse().Sum(), &f)
	for i := range testenv.N(200_000, 20_000) {
		require.NoError(t, r.back.Send(sent))
		for began, wait := r.now(), weft.Time(i%1000)*10*weft.Nanosecond; r.now()-began < wait; {
		}
		r.d.wake(0) // the transmitter may find nothing and go to sleep again
		m := rig.Next(t, r.far, "the packet")
		m.Release()
	}
}

// A driver that the machine wakes a millisecond late each time keeps the rate of a link with
// packets that wait, all the same.
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

// A frame says when it arrives by the rate of its link, from when it could leave: with packets that
// is when they came, for a hello when it was due.
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

// A packet that waits for its link leaves a little after the link is free, so that it takes along
// what comes late; at the other end it is due as if it had left at once.
func TestALinkThatIsFreeWaitsForWhatComesLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{Rate: 25_600}, Config{}) // a packet takes 10 ms, more than timers are late
	r.d.lateness.Store(int64(weft.Millisecond))
	r.give(2)
	var at []weft.Time
	for range 2 {
		m := rig.Next(t, r.far, "a frame")
		var f weft.Frame
		require.NoError(t, wire.DecodeFrame(&f, rigged.Sum(), m.Data))
		m.Release()
		at = append(at, f.At)
	}
	require.Equal(t, at[0]+10*weft.Millisecond, at[1])
	r.look(func(c *fake) {
		require.GreaterOrEqual(t, c.filled[1], at[0]+3*weft.Millisecond, "the link is free when the first has arrived")
	})
	require.EqualValues(t, 1, r.d.Stats().Waited)
}

// A frame counts from when it was due. How late it comes is measured, but not where its sender has
// another clock; there one that is far too late counts from now.
func TestAFrameThatComesLateCountsFromWhenItWasDue(t *testing.T) {
	t.Parallel()
	const now = weft.Second
	for name, c := range map[string]struct {
		due     weft.Time
		far     bool
		at      weft.Time // that the core is told; 0: none
		overdue time.Duration
	}{
		"in time":                       {now, false, now, 0},
		"by a clock that is ahead":      {now + weft.Second, false, now, 0},
		"late":                          {now - 50*weft.Millisecond, false, now - 50*weft.Millisecond, 50 * time.Millisecond},
		"very late":                     {now - weft.Second/2, false, now - catchUp, 500 * time.Millisecond},
		"late, from another clock":      {now - 5*weft.Millisecond, true, now - 5*weft.Millisecond, 0},
		"very late, from another clock": {now - weft.Second/2, true, 0, 0},
		"of a link without pace":        {0, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := New(Config{Core: &fake{}, Clock: func() weft.Time { return now }})
			f := weft.Frame{At: c.due, Packets: []weft.Header{{Size: 256}}}
			at := d.arrived(now, &f, &Wire{Pace: link.Pace{Rate: 256_000}, Far: c.far})
			require.Equal(t, c.at, f.At)
			require.Equal(t, cmp.Or(c.at, now), at)
			s, lasted := d.Stats(), time.Millisecond
			if c.far || c.due == 0 {
				lasted = 0
			}
			require.Equal(t, lasted, s.Lasted)
			require.Equal(t, c.overdue, s.Overdue)
		})
	}
}
