package switchd

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a core of one port that sends what it is given and keeps what it receives.
type fake struct {
	queue    []weft.Header
	received []weft.Header
	batches  []int       // packets of each frame transmitted
	filled   []weft.Time // when each was filled
	ticks    []weft.Time
	signals  int
	every    weft.Time // 0: tick no more
	owes     int       // frames, with packets or without
	returns  bool      // it sends back what it receives
}

func (f *fake) Ports() int { return 1 }

func (f *fake) Signal(now weft.Time, p weft.PortID, up bool, out *weft.Actions) {
	f.signals++
	out.Changes = append(out.Changes, weft.PortChange{Port: p, Up: up})
}

func (f *fake) Receive(now weft.Time, _ weft.PortID, fr *weft.Frame, out *weft.Actions) {
	f.received = append(f.received, fr.Packets...)
	out.Arrived = append(out.Arrived, fr.Packets...)
	if f.returns {
		f.queue, out.Ready = append(f.queue, fr.Packets...), append(out.Ready, 0)
	}
}

func (f *fake) Exempt(weft.Time, weft.PortID) {}

func (f *fake) LinksDue() weft.Time { return 0 }

func (f *fake) Transmit(now weft.Time, _ weft.PortID, limit int, fr *weft.Frame, out *weft.Actions) bool {
	n := min(limit, len(f.queue))
	if n == 0 && f.owes == 0 {
		out.More = len(f.queue) > 0
		return false
	}
	fr.Reset()
	fr.VCs = 1
	if n == 0 {
		f.owes--
		out.More = len(f.queue)+f.owes > 0
		return true
	}
	f.owes = max(0, f.owes-1) // it goes along
	fr.Packets = append(fr.Packets, f.queue[:n]...)
	f.queue, out.Since = f.queue[n:], f.queue[n-1].Injected
	f.batches, f.filled = append(f.batches, n), append(f.filled, now)
	out.More = len(f.queue)+f.owes > 0
	return true
}

func (f *fake) Tick(now weft.Time, out *weft.Actions) {
	f.ticks = append(f.ticks, now)
	if f.every > 0 {
		out.WakeAt = now + f.every
	}
	if f.owes > 0 {
		out.Owed = append(out.Owed, 0)
	}
}

// driven is a driver of a fake core, whose link leads over a memory transport to the test.
type driven struct {
	t     *testing.T
	core  *fake
	d     *Driver
	inbox chan wire.Message // of the driver
	far   chan wire.Message // what it sends
	start time.Time
	back  wire.Sender // to the driver
	stop  func()
}

// rigged is the direction that the driver sends on.
var rigged = wire.Direction{From: "s0", To: "s1"}

// drawing gives each port a stream of its own.
func drawing(seed uint64) func(p weft.PortID) *rand.PCG {
	return func(p weft.PortID) *rand.PCG { return weft.Stream(seed, weft.StreamLink, uint64(p), 0) }
}

func newRig(t *testing.T, of link.Pace, cfg Config) *driven {
	t.Helper()
	r := &driven{
		t: t, core: &fake{}, inbox: make(chan wire.Message, 4096), far: make(chan wire.Message, 4096),
		start: time.Now(),
	}
	m := wire.NewMemory()
	require.NoError(t, m.Listen(rigged, r.far))
	require.NoError(t, m.Listen(rigged.Reverse(), r.inbox))
	send, err := m.Sender(rigged)
	require.NoError(t, err)
	r.back, err = m.Sender(rigged.Reverse())
	require.NoError(t, err)
	cfg.Core, cfg.Clock = r.core, r.now
	if cfg.Draws == nil {
		cfg.Draws = drawing(0)
	}
	cfg.Wires = []Wire{{Out: send, Inbox: r.inbox, Pace: of, OutSum: rigged.Sum(), InSum: rigged.Reverse().Sum()}}
	r.d = New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.d.Run(ctx) })
	r.stop = func() { cancel(); running.Wait() }
	t.Cleanup(r.stop)
	return r
}

func (r *driven) now() weft.Time { return weft.FromDuration(time.Since(r.start)) }

// give queues n packets in the core.
func (r *driven) give(n int) {
	r.d.Do(func(now weft.Time, out *weft.Actions) {
		for i := range n {
			r.core.queue = append(r.core.queue, weft.Header{Seq: uint64(i), Size: 256, Injected: now, Fields: weft.NewFields()})
		}
		out.Ready = append(out.Ready, 0)
	})
}

// owe makes a hello due.
func (r *driven) owe() {
	r.d.Do(func(now weft.Time, out *weft.Actions) {
		r.core.owes++
		out.WakeAt = now
	})
}

// take receives n packets and calls f for each with the time of its arrival.
func (r *driven) take(n int, f func(i int, at weft.Time, h weft.Header)) {
	r.t.Helper()
	for i := 0; i < n; {
		m := rig.Next(r.t, r.far, "%d packets arrive", n)
		at := r.now()
		var fr weft.Frame
		require.NoError(r.t, wire.DecodeFrame(&fr, rigged.Sum(), m.Data))
		m.Release()
		for _, h := range fr.Packets {
			if f != nil {
				f(i, at, h)
			}
			i++
		}
	}
}

// look reads the core's state under the driver's lock.
func (r *driven) look(f func(c *fake)) {
	r.d.Do(func(weft.Time, *weft.Actions) { f(r.core) })
}

func (r *driven) eventually(f func(c *fake) bool) {
	r.t.Helper()
	rig.Until(r.t, func() (ok bool) { r.look(func(c *fake) { ok = f(c) }); return ok })
}
