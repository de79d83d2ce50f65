package fabric

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
)

// Runtime is what a fabric runs in: it drives the nodes, carries what they send, and has the clock.
// Live it is goroutines, a transport and the clock on the wall; in virtual time it is an event
// queue. The fabric is the same in both.
//
// In virtual time everything happens on one goroutine, the one that calls the fabric: time goes on
// only while it waits.
type Runtime interface {
	Clock
	host.Runtime
	// Start has the drivers run. If that fails nothing is left running.
	Start(ctx context.Context) error
	// Stop returns when no driver, timer or task runs any more, and none will.
	Stop()
}

// Clock is the time of a runtime, and how to wait for it.
type Clock interface {
	// Now is the time since the runtime was made.
	Now() weft.Time
	// At calls do at a time, unless stop is called before. Only between Start and Stop. Live, do
	// may still run when stop returns.
	At(t weft.Time, do func()) (stop func())
	// Task returns a function that has do called soon; calls before do has begun count as one.
	// Unless every is 0 do is called that often besides. Two calls of do never overlap, and none is
	// made within wake. Only between Start and Stop.
	Task(every time.Duration, do func()) (wake func())
	// Pause waits for a time, or until news is closed, whichever comes first. If ctx ends before,
	// Pause returns its error.
	Pause(ctx context.Context, until weft.Time, news <-chan struct{}) error
	// WithTimeout is context.WithTimeout by this clock.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

// What a runtime builds, and of which drivers.
type (
	Driver    = host.Driver
	BuildSpec = host.BuildSpec
)

// Hashed is a [Runtime] that can tell whether two runs were the same.
type Hashed interface {
	// Hash is a fingerprint of all that has happened.
	Hash() uint64
}

// Scattered is a [Runtime] that draws when each link of a switch that returns comes up. Live that
// is chance.
type Scattered interface {
	// Scatter draws how long it is until the next neighbour of a switch that returns has signal.
	Scatter() weft.Time
}

// waker wakes a task that starts later than its callers. Calls before that have no effect.
type waker struct{ task atomic.Pointer[func()] }

func (p *waker) set(wake func()) { p.task.Store(&wake) }

func (p *waker) wake() {
	if wake := p.task.Load(); wake != nil {
		(*wake)()
	}
}
