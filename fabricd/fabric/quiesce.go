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

// quiet waits until nothing moves, and checks what holds then: credits, accounts, reports. It owns
// nothing: it looks again and again. Any goroutine outside the loop may call it.
type quiet struct {
	*site
	reader *reader
	faults *faults
}

// progress is a fingerprint of everything that moves: it changes as long as packets travel.
type progress struct {
	injected, delivered, forwarded, received, ended uint64
}

func (q *quiet) progress() progress {
	q.refreshCounters()
	c := q.ledger.total()
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
		return fmt.Sprintf("deadlock: %d packets in switches wait for each other: %v", e.Ledger.Waiting.Switches,
			Cycle(e.Cycle))
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
func (q *quiet) Quiesce(ctx context.Context) (Ledger, error) {
	l, err := q.settle(ctx, q.idle, q.progress, func(l Ledger) bool { return l.InFlight == 0 })
	if e, ok := errors.AsType[*NotDrainedError](err); ok {
		l.Balanced, l.NotChecked = false, e.after()+", so the ledger was not checked"
		e.Ledger = l
	}
	return l, err
}

// settle waits until all is done, or until nothing moves although not all is done, or until ctx
// ends.
func (q *quiet) settle(ctx context.Context, done func() bool, moves func() progress, over func(Ledger) bool) (Ledger,
	error,
) {
	patience := q.patience()
	began := q.Now()
	last, since, looks := moves(), began, 0
	var timers time.Duration // that were seen since anything has moved: one may have ended just now
	pending := pendingWork{live: q.live}
	for {
		if done() {
			return q.reader.ledgerAfterRefresh(), nil
		}
		if err := q.Pause(ctx, q.glance(q.Now()-began), nil); err != nil {
			l := q.reader.ledgerAfterRefresh()
			if errors.Is(err, ErrResumed) {
				return l, ErrResumed
			}
			return l, &NotDrainedError{
				Ledger: l, After: (q.Now() - began).Duration(), Remaining: q.reader.remaining(),
				Err: err,
			}
		}
		if p := moves(); p != last {
			last, since, looks, timers, pending = p, q.Now(), 0, 0, pendingWork{live: q.live}
			continue
		}
		timers = max(timers, q.runningTimers())
		if pending.held(ctx) {
			since, looks = q.Now(), 0
		} else if looks++; looks > stuckLooks && (q.Now()-since).Duration() > patience+timers {
			l := q.reader.ledgerAfterRefresh()
			if over(l) {
				return l, nil
			}
			return l, &StuckError{Ledger: l, Cycle: q.reader.Deadlock(), Remaining: q.reader.remaining()}
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
func (q *quiet) glance(waited weft.Time) time.Duration {
	switch {
	case len(q.remote) > 0:
		return hostGlance
	case !q.Virtual():
		return time.Millisecond
	}
	return max(time.Millisecond, waited.Duration()/100)
}

// hostGlance is that pause where hosts must add up thousands of nodes for a look. Chosen by us.
const hostGlance = 10 * time.Millisecond

// runningTimers is how long running registers may keep packets blocked, or ends wait for a switch
// that moves; 0: none does. A packet that is blocked for good may write its register anew whenever
// it is routed, so registers get two rounds and no more.
func (q *quiet) runningTimers() (most time.Duration) {
	q.count(func(s *host.Counters) { most = max(most, 2*s.Timers.Duration()) })
	return most
}

// idle reports whether every packet injected has ended.
func (q *quiet) idle() bool {
	if q.holdsPackets() {
		return false
	}
	// A balanced ledger with nothing in flight is not fooled by packets that moved while it was
	// read: they would be missing.
	l := q.reader.ledgerAfterRefresh()
	return l.InFlight == 0 && l.Balanced
}

// patience is how long nothing must move before the fabric counts as stuck: far longer than a
// packet takes over a link. pendingWork covers a slow machine or broker.
func (q *quiet) patience() time.Duration {
	d := time.Second
	if q.opts.Link.Paced {
		d += 20 * time.Duration(float64(q.opts.NIC.PacketBytes)/q.opts.Link.Rate*float64(time.Second))
	}
	if q.lossy() { // packets wait for credits that are lost until a hello comes through
		d += lossyHellos * q.opts.Liveness.Detector().Interval.Duration()
	}
	return d + 4*q.opts.Link.Delay.Time()
}

// lossyHellos is how many hellos in a row a link that loses half of them loses once in 10^9 times.
const lossyHellos = 30

// lossy reports whether a link loses frames now.
func (q *quiet) lossy() bool {
	loses := func(v *leader.View) bool { return v.Suffers[0].Loss > 0 || v.Suffers[1].Loss > 0 }
	return len(q.reader.linksThat(loses)) > 0
}

// ErrResumed means that NICs which were held to empty the fabric inject again.
var ErrResumed = errors.New("NICs inject again: the fabric will not be empty")

// Drained waits until no packet is in a switch or on a wire, and returns the ledger. The caller has
// held the NICs: what they generate waits in their send queues. Packets that are left are reported
// as by [Fabric.Quiesce]. If the NICs inject again Drained ends with [ErrResumed], for a fabric
// under load never empties.
func (q *quiet) Drained(ctx context.Context) (Ledger, error) {
	wait, end := context.WithCancelCause(ctx)
	defer end(nil)
	return q.settle(wait, func() bool {
		empty := q.drained()
		if !empty && !q.Held() {
			end(ErrResumed)
		}
		return empty
	}, func() progress {
		p := q.progress()
		p.injected = 0 // into the send queues
		return p
	}, empty)
}

// drained reports whether every packet that has left its NIC has ended.
func (q *quiet) drained() bool {
	if q.holdsPackets() {
		return false
	}
	l := q.reader.ledgerAfterRefresh()
	return l.Balanced && empty(l)
}

// empty reports whether nothing is between the NICs.
func empty(l Ledger) bool { return l.Waiting.Switches+l.Waiting.Wires == 0 }

// Empty reports whether no packet is between the NICs.
func (q *quiet) Empty() bool { return q.drained() }
