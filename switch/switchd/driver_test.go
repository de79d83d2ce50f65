package switchd

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestFramesBatchWhatHasGathered(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{}, Config{})
	r.give(40)
	r.take(40, func(i int, _ weft.Time, h weft.Header) { require.EqualValues(t, i, h.Seq) })
	r.look(func(c *fake) { require.Equal(t, []int{40}, c.batches) })
	s := r.d.Stats()
	require.EqualValues(t, 1, s.FramesOut)
	require.Zero(t, s.CreditFrames)
	require.Equal(t, s.BytesOut+s.BytesOut, s.Add(s).BytesOut)
}

func TestNoFrameExceedsTheBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want int }{{0, DefaultBatch}, {7, 7}, {10 * weft.MaxBatch, weft.MaxBatch}} {
		r := newRig(t, link.Pace{}, Config{Batch: c.given})
		r.give(3000)
		r.take(3000, nil)
		r.look(func(f *fake) {
			for _, n := range f.batches {
				require.LessOrEqual(t, n, c.want)
			}
			require.Equal(t, c.want, f.batches[0])
		})
		r.stop()
	}
}

// askingFake has a firmware that may take long, and nothing to ask it.
type askingFake struct{ fake }

func (f *askingFake) LetAsk()                                          {}
func (f *askingFake) Asks(weft.Time, *switching.Asks) bool             { return false }
func (f *askingFake) Answer(weft.Time, *switching.Asks, *weft.Actions) {}

// A driver whose goroutines do not run is behind with what has arrived, and with what there is to
// ask.
func TestADriverIsBehindUntilItsReceiverHasRun(t *testing.T) {
	t.Parallel()
	m := wire.NewMemory()
	d := wire.Direction{From: "s0", To: "s1"}
	out, err := m.Sender(d)
	require.NoError(t, err)
	back, err := m.Sender(d.Reverse())
	require.NoError(t, err)
	inbox := make(chan wire.Message, 4)
	require.NoError(t, m.Listen(d.Reverse(), inbox))
	driver := New(Config{Core: &fake{}, Wires: []Wire{{Out: out, Inbox: inbox}}, Clock: func() weft.Time { return 0 }})
	require.False(t, driver.Behind())
	require.NoError(t, back.Send(wire.AppendFrame(nil, d.Reverse().Sum(),
		&weft.Frame{VCs: 1, Packets: make([]weft.Header, 1)})))
	require.True(t, driver.Behind())
	asking := New(Config{Core: &askingFake{}, Wires: []Wire{{}}, Clock: func() weft.Time { return 0 }})
	require.False(t, asking.Behind())
	asking.Do(func(_ weft.Time, out *weft.Actions) { out.Asking = true })
	require.True(t, asking.Behind())
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { asking.Run(ctx) })
	rig.Until(t, func() bool { return !asking.Behind() })
	wg.Go(func() { driver.Run(ctx) })
	rig.Until(t, func() bool { return !driver.Behind() })
	stop()
	wg.Wait()
}

// observer keeps what it hears.
type observer struct {
	at      []weft.Time
	faults  []weft.Fault
	arrived []uint64
	changes int
}

func (o *observer) Observe(now weft.Time, a *weft.Actions) {
	o.at = append(o.at, now)
	o.faults = append(o.faults, a.Faults...)
	for _, h := range a.Arrived {
		o.arrived = append(o.arrived, h.Seq)
	}
	o.changes += len(a.Changes)
}

// count is how many faults it has heard of.
func (o *observer) count() (n uint64) {
	for _, f := range o.faults {
		n += f.Count
	}
	return n
}

func TestBadFramesAreFaultsAndNothingElseIsLost(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	var o observer // guarded by the driver's lock
	r := newRig(t, link.Pace{}, Config{Watch: &o})
	for seq := range 50 {
		good := weft.Frame{VCs: 1, Packets: []weft.Header{{Seq: uint64(seq), Size: 1, Fields: weft.NewFields()}}}
		require.NoError(t, r.back.Send(wire.AppendFrame(nil, rigged.Reverse().Sum(), &good)))
		require.NoError(t, r.back.Send([]byte{0xc1, byte(seq)}))
		require.NoError(t, r.back.Send(nil))
	}
	r.eventually(func(c *fake) bool { return len(c.received) == 50 && o.count() == 100 })
	r.look(func(*fake) {
		for i, seq := range o.arrived {
			require.EqualValues(t, i, seq, "in order")
		}
		for i, f := range o.faults {
			require.ErrorIs(t, f.Err, wire.ErrFrame, i)
		}
		require.IsNonDecreasing(t, o.at)
	})
	s := r.d.Stats()
	require.EqualValues(t, 150, s.FramesIn)
	require.EqualValues(t, 100, s.BadFrames)
	require.EqualValues(t, 100, s.Damaged)
}

func TestDoAndSignalFromManyGoroutines(t *testing.T) {
	t.Parallel()
	var o observer
	r := newRig(t, link.Pace{}, Config{Watch: &o})
	steps := 0
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range 200 {
				r.d.Do(func(weft.Time, *weft.Actions) { steps++ })
				r.d.Signal(0, i%2 == 0)
				_ = r.d.Stats()
			}
		})
	}
	wg.Wait()
	r.look(func(c *fake) {
		require.Equal(t, 16*200, steps)
		require.Equal(t, 16*200, c.signals)
		require.Equal(t, 16*200, o.changes)
		require.IsNonDecreasing(t, o.at)
	})
}

func TestWaitingForTheCoreIsCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{}, Config{})
	// Nothing tells that the second goroutine has come to the lock, so it is tried until it has.
	for deadline := time.Now().Add(30 * time.Second); r.d.Stats().Contended == 0; {
		require.False(t, time.Now().After(deadline), "no wait was counted")
		inside, leave, second, done := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		go r.d.Do(func(weft.Time, *weft.Actions) { close(inside); <-leave })
		<-inside
		go func() { close(second); r.d.Signal(0, true); close(done) }()
		<-second
		for range 100 {
			runtime.Gosched()
		}
		close(leave)
		<-done
	}
	require.Positive(t, r.d.Stats().LockWait)
}

func TestTheClockIsLookedAtNoMoreOftenThanMinTick(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{}, Config{})
	r.d.Do(func(now weft.Time, out *weft.Actions) {
		r.core.every = weft.Microsecond
		out.WakeAt = now
	})
	r.eventually(func(c *fake) bool { return len(c.ticks) > 50 })
	r.look(func(c *fake) {
		for i := range c.ticks[1:] {
			require.GreaterOrEqual(t, c.ticks[i+1]-c.ticks[i], weft.FromDuration(minTick))
		}
	})
}

func TestATickComesWhenItIsDueAndNotBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{}, Config{})
	var due weft.Time
	r.d.Do(func(now weft.Time, out *weft.Actions) {
		due = now + 20*weft.Millisecond
		out.WakeAt = due
	})
	r.eventually(func(c *fake) bool { return len(c.ticks) > 0 })
	r.look(func(c *fake) { require.GreaterOrEqual(t, c.ticks[0], due) })
}

func TestNothingIsLeftAfterStopHoweverFullEverythingIs(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{Delay: time.Hour}, Config{Batch: 1})
	r.give(100)
	r.eventually(func(c *fake) bool { return len(c.queue) == 0 })
	hold, inside := make(chan struct{}), make(chan struct{})
	go r.d.Do(func(weft.Time, *weft.Actions) { close(inside); <-hold })
	<-inside
	for range cap(r.inbox) - len(r.inbox) {
		select {
		case r.inbox <- wire.Message{Data: []byte{1}}:
		default: // full
		}
	}
	time.AfterFunc(10*time.Millisecond, func() { close(hold) })
	r.stop() // and TestMain looks for goroutines
	require.Empty(t, r.far, "what is on its way for an hour has not arrived")
}

func TestErrorsOfTheTransportAreCounted(t *testing.T) {
	t.Parallel()
	d := New(Config{Core: &fake{}})
	d.sent(2, wire.ErrClosed)
	require.Equal(t, Stats{FramesOut: 1, BytesOut: 2, SendErrors: 1}, d.Stats())
}
