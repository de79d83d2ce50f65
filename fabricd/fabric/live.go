package fabric

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/switch/wire"
)

// live is the [Runtime] of goroutines. Its timers and tasks are goroutines too.
type live struct {
	host.Live
	ctx     context.Context // of all that runs
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex // a leaf
	stopped bool       // guarded by mu: nothing begins any more
}

var _ Runtime = (*live)(nil)

func newLive(t wire.Transport) *live {
	return &live{Live: host.Live{Transport: t, Clock: host.NewClock(0, nil)}}
}

// Start implements [Runtime].
func (w *live) Start(ctx context.Context) error {
	if err := w.Transport.Ready(ctx); err != nil {
		return fmt.Errorf("fabric: links are not ready: %w", err)
	}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.running.Go(func() { w.NodeRuntime.Run(w.ctx) })
	return nil
}

// forward sets the clock to a time, unless it is later already. Call it before anything uses the
// clock.
func (w *live) forward(to weft.Time) {
	w.Clock.Begin(max(to, w.Now()))
}

// spawn runs do in a goroutine that Stop waits for. Once Stop has begun, it does nothing.
func (w *live) spawn(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.running.Go(do)
	}
}

// Stop implements [Runtime].
func (w *live) Stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
	w.running.Wait()
}

// At implements [Runtime].
func (w *live) At(t weft.Time, do func()) (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	w.spawn(func() {
		defer cancel()
		if w.Pause(ctx, t, nil) == nil {
			do()
		}
	})
	return cancel
}

// Task implements [Runtime].
func (w *live) Task(every time.Duration, do func()) (wake func()) {
	woken := make(chan struct{}, 1)
	w.spawn(func() {
		var tick <-chan time.Time
		if every > 0 {
			t := time.NewTicker(every)
			defer t.Stop()
			tick = t.C
		}
		for {
			select {
			case <-w.ctx.Done():
				return
			case <-woken:
			case <-tick:
			}
			do()
		}
	})
	return func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}

// Pause implements [Runtime].
func (w *live) Pause(ctx context.Context, until weft.Time, news <-chan struct{}) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		changed := w.Clock.Changed()
		timer.Reset(w.Clock.Wall(until-w.Now()) + 1)
		select {
		case <-timer.C:
		case <-changed:
		case <-news:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if w.Now() >= until {
			return nil
		}
	}
}

// WithTimeout implements [Runtime].
func (w *live) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(float64(d)/w.Clock.Factor()))
}
