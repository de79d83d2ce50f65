package fabric

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
)

// lifetime is the time in which a fabric runs: it owns the clock, and the goroutines that Stop
// waits for. Any goroutine may call it.
type lifetime struct {
	runtime Runtime
	live    *live // the runtime, unless that is virtual

	started atomic.Bool // the links are up, and the traffic is about to begin

	life    sync.Mutex      // a leaf
	stopped bool            // guarded by life; the loop sets it
	ctx     context.Context // of all that runs; set by Start
	stop    context.CancelFunc
	running sync.WaitGroup // what is live besides the runtime
}

// Now is the time on the fabric's clock.
func (lt *lifetime) Now() weft.Time { return lt.runtime.Now() }

// Virtual reports whether the fabric runs in virtual time.
func (lt *lifetime) Virtual() bool { return lt.live == nil }

// Hash is a fingerprint of all events so far; ok only in virtual time.
func (lt *lifetime) Hash() (hash uint64, ok bool) {
	h, ok := lt.runtime.(Hashed)
	if ok {
		hash = h.Hash()
	}
	return hash, ok
}

// At calls do at a time of the fabric's clock, unless stop is called before.
func (lt *lifetime) At(t weft.Time, do func()) (stop func()) { return lt.runtime.At(t, do) }

// Pause waits until so much time has passed on the fabric's clock, or news is closed. If ctx ends
// before, it returns its error.
func (lt *lifetime) Pause(ctx context.Context, d time.Duration, news <-chan struct{}) error {
	return lt.runtime.Pause(ctx, lt.Now()+weft.FromDuration(d), news)
}

// WithTimeout is context.WithTimeout by the fabric's clock. Ask context.Cause for its error.
func (lt *lifetime) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return lt.runtime.WithTimeout(ctx, d)
}

// hasStopped reports whether the fabric is being taken down, or has been.
func (lt *lifetime) hasStopped() bool {
	lt.life.Lock()
	defer lt.life.Unlock()
	return lt.stopped
}

// spawn runs do in a goroutine that Stop waits for. It returns false when the fabric is being taken
// down.
func (lt *lifetime) spawn(do func()) bool {
	lt.life.Lock()
	defer lt.life.Unlock()
	if !lt.stopped {
		lt.running.Go(do)
	}
	return !lt.stopped
}

// enqueue adds a function to q. Only in virtual time does it wait for it.
func (lt *lifetime) enqueue(q *queue, do func()) {
	if q.add(do) && (lt.Virtual() || !lt.spawn(q.drive)) {
		q.drive()
	}
}

// enqueueCall has the transport, or whoever makes credentials, do something when it has done all
// before, and waits for it in virtual time only.
func (lt *lifetime) enqueueCall(whom *queue, what string, do func() error) *sent {
	s := &sent{done: make(chan struct{})}
	lt.enqueue(whom, func() {
		if err := do(); err != nil {
			s.err = fmt.Errorf("%s: %w", what, err)
		}
		close(s.done)
	})
	return s
}
