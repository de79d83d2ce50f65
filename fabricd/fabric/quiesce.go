package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/switch/switchd"
)

// progress is a fingerprint of everything that moves: it changes as long as packets travel.
type progress struct {
	injected, delivered, forwarded, received, ended uint64
}

func (f *Fabric) progress() progress {
	f.refreshCounters()
	c := f.ledger.total()
	return progress{c.NICs.Injected, c.NICs.Delivered, c.Switches.Forwarded, c.Switches.Received, c.Ended()}
}

// StuckError says that packets are left in the fabric and none of them moves.
type StuckError struct {
	Ledger    Ledger
	Cycle     []Channel // the channels that wait for each other, if they do: a deadlock
	Remaining Remaining
}

// Error implements error.
func (e *StuckError) Error() string {
	if len(e.Cycle) > 0 {
		return fmt.Sprintf("deadlock: %d packets in switches wait for each other: %v", e.Ledger.Waiting.Switches, Cycle(e.Cycle))
	}
	return "nothing moves but " + e.Remaining.describe(e.Ledger)
}

// stuckLooks is how many looks in a row, a tick apart and with nothing on its way, must find no
// movement before the fabric counts as stuck. Time alone says nothing on a machine that did not run
// us for a while.
const stuckLooks = 50

// Quiesce waits until nothing moves any more and returns the ledger. The caller has stopped the
// traffic. If packets are left it also returns a *StuckError; if ctx ends first, a
// *NotDrainedError.
func (f *Fabric) Quiesce(ctx context.Context) (Ledger, error) {
	l, err := f.settle(ctx, f.idle, f.progress, func(l Ledger) bool { return l.InFlight == 0 })
	if e, ok := errors.AsType[*NotDrainedError](err); ok {
		l.Balanced, l.NotChecked = false, e.after()+", so the ledger was not checked"
		e.Ledger = l
	}
	return l, err
}

// settle waits until all is done, or until nothing moves although not all is done, or until ctx
// ends.
func (f *Fabric) settle(ctx context.Context, done func() bool, moves func() progress, over func(Ledger) bool) (Ledger, error) {
	patience := f.patience()
	began := f.Now()
	last, since, looks := moves(), began, 0
	var timers time.Duration // that were seen since anything has moved: one may have ended just now
	pending := pendingWork{live: f.live}
	for {
		if done() {
			return f.ledgerAfterRefresh(), nil
		}
		if err := f.Pause(ctx, f.glance(f.Now()-began), nil); err != nil {
			l := f.ledgerAfterRefresh()
			if errors.Is(err, ErrResumed) {
				return l, ErrResumed
			}
			return l, &NotDrainedError{
				Ledger: l, After: (f.Now() - began).Duration(), Remaining: f.remaining(),
				Err: err,
			}
		}
		if p := moves(); p != last {
			last, since, looks, timers, pending = p, f.Now(), 0, 0, pendingWork{live: f.live}
			continue
		}
		timers = max(timers, f.runningTimers())
		if pending.held(ctx) {
			since, looks = f.Now(), 0
		} else if looks++; looks > stuckLooks && (f.Now()-since).Duration() > patience+timers {
			l := f.ledgerAfterRefresh()
			if over(l) {
				return l, nil
			}
			return l, &StuckError{Ledger: l, Cycle: f.Deadlock(), Remaining: f.remaining()}
		}
	}
}

// pendingWork says whether packets that stand still may move yet: goroutines of this process have
// work and have not run, or the transport holds frames up. A broker on a busy machine may do so for
// seconds.
type pendingWork struct {
	live    *live             // nil: time is virtual, and nothing runs beside whoever looks
	queried bool              // since something has moved
	behind  []*switchd.Driver // those that have not been seen with nothing to do since
}

// held reports whether that may be so. If not, all that had been sent when held was called has come
// through.
func (w *pendingWork) held(ctx context.Context) bool {
	if w.live == nil {
		return false
	}
	if !w.queried {
		w.queried, w.behind = true, w.live.NodeRuntime.Drivers()
	}
	w.behind = slices.DeleteFunc(w.behind, func(d *switchd.Driver) bool { return !d.Behind() })
	if len(w.behind) > 0 {
		return true
	}
	return errors.Is(w.live.Transport.Ready(ctx), context.DeadlineExceeded) // what a lost connection held is lost
}

// glance is the pause between two looks at the fabric for a caller that has waited so long. In
// virtual time hours pass between looks, so it is a hundredth of the time waited.
func (f *Fabric) glance(waited weft.Time) time.Duration {
	switch {
	case len(f.remote) > 0:
		return hostGlance
	case !f.Virtual():
		return time.Millisecond
	}
	return max(time.Millisecond, waited.Duration()/100)
}

// hostGlance is that pause where hosts must add up thousands of nodes for a look. Chosen by us.
const hostGlance = 10 * time.Millisecond

// runningTimers is how long running registers may keep packets blocked, or ends wait for a switch that
// moves; 0: none does. A packet that is blocked for good may write its register anew whenever it is
// routed, so registers get two rounds and no more.
func (f *Fabric) runningTimers() (most time.Duration) {
	f.count(func(s *host.Counters) { most = max(most, 2*s.Timers.Duration()) })
	return most
}

// idle reports whether every packet injected has ended.
func (f *Fabric) idle() bool {
	if f.holdsPackets() {
		return false
	}
	// A balanced ledger with nothing in flight is not fooled by packets that moved while it was
	// read: they would be missing.
	l := f.ledgerAfterRefresh()
	return l.InFlight == 0 && l.Balanced
}

// patience is how long nothing must move before the fabric counts as stuck: far longer than a
// packet takes over a link. pendingWork covers a slow machine or broker.
func (f *Fabric) patience() time.Duration {
	d := time.Second
	if f.opts.Link.Paced {
		d += 20 * time.Duration(float64(f.opts.NIC.PacketBytes)/f.opts.Link.Rate*float64(time.Second))
	}
	if f.lossy() { // packets wait for credits that are lost until a hello comes through
		d += lossyHellos * f.opts.Link.Liveness.Interval.Duration()
	}
	return d + 4*f.opts.Link.Delay
}

// lossyHellos is how many hellos in a row a link that loses half of them loses once in 10^9 times.
const lossyHellos = 30

// lossy reports whether a link loses frames now.
func (f *Fabric) lossy() bool {
	return len(f.linksThat(func(s *leader.State, id weft.LinkID) bool {
		return s.Links[id].Suffers[0].Loss > 0 || s.Links[id].Suffers[1].Loss > 0
	})) > 0
}
