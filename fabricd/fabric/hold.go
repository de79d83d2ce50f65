package fabric

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
)

// Kinds of event of a static reconfiguration.
const (
	EventHeld    = "held"    // NICs inject nothing
	EventResumed = "resumed" // they do again
)

// ErrResumed means that NICs which were held to empty the fabric inject again.
var ErrResumed = errors.New("NICs inject again: the fabric will not be empty")

// HoldNICs stops all NICs from injecting until ResumeNICs. Their sources go on generating into the
// send queues, as an application would. With [Fabric.Drained] it replaces routes by others that
// could deadlock with those in force.
func (f *Fabric) HoldNICs() { f.hold(true, 0) }

// HoldNICsFor is HoldNICs for a caller that may die meanwhile: d after the latest call the NICs
// inject again, and the event says why.
func (f *Fabric) HoldNICsFor(d time.Duration) { f.hold(true, d) }

// ResumeNICs has all NICs inject again.
func (f *Fabric) ResumeNICs() { f.hold(false, 0) }

// holding is whether NICs are held.
type holding struct {
	until atomic.Int64 // when they inject again by themselves, on the fabric's clock; weft.Never: they do not; 0: they are not held

	// Only the loop touches these.
	changes uint64 // counts the changes
	ends    func() // stops the clock of HoldNICsFor; nil: it does not run
}

func (f *Fabric) hold(held bool, most time.Duration) {
	var orders dispatched
	f.inLoop(func(l loop) {
		until := l.limitHold(most)
		if !held {
			until = 0
		}
		orders = l.setHeld(until, "")
	})
	_ = orders.wait() // a host that does not answer is told when it does
}

// HoldLonger begins the time of HoldNICsFor anew, if NICs are held.
func (f *Fabric) HoldLonger(d time.Duration) {
	f.inLoop(func(l loop) {
		if l.Held() {
			l.holding.until.Store(int64(l.limitHold(d)))
			l.checkpointSoon()
		}
	})
}

// limitHold makes NICs inject again after most, never for 0, and returns when that is.
func (l loop) limitHold(most time.Duration) weft.Time {
	if most == 0 {
		l.endHold(weft.Never, "")
		return weft.Never
	}
	until := l.Now() + weft.FromDuration(most)
	l.endHold(until, "whoever held them has asked for nothing in "+most.String()+": tables are as they were left")
	return until
}

// endHold makes NICs inject again when the time of their hold is over.
func (l loop) endHold(at weft.Time, why string) {
	h := &l.holding
	if h.ends != nil {
		h.ends()
		h.ends = nil
	}
	h.changes++
	turn := h.changes
	if at == weft.Never {
		return
	}
	h.ends = l.At(at, func() {
		l.inLoop(func(l loop) {
			if h.changes == turn {
				h.ends = nil
				l.setHeld(0, why)
			}
		})
	})
}

// setHeld stops all NICs from injecting until a time; 0 makes them inject again.
func (l loop) setHeld(until weft.Time, why string) (orders dispatched) {
	f := l.Fabric
	was, held := f.Held(), until != 0
	f.holding.until.Store(int64(until))
	if held == was {
		f.checkpointSoon()
		return nil
	}
	l.checkpointNow()
	orders = l.dispatchAll(host.Order{Hold: new(held)})
	kind := EventResumed
	if held {
		kind = EventHeld
	}
	f.events.Publish(f.Now(), Event{Kind: kind, Detail: why})
	return orders
}

// resumeHold keeps NICs held that were held under the leader before. A subnet manager may be
// replacing tables, and the old and the new ones could deadlock together. The next manager finishes
// that or resumes the NICs; if none comes, the hold ends when it would have ended.
func (l loop) resumeHold() {
	f := l.Fabric
	if until := weft.Time(f.holding.until.Load()); until != 0 && f.holding.changes == 0 {
		l.endHold(until, "whoever held them under the leader before has asked for nothing since: tables are as they were left")
		f.events.Publish(f.Now(), Event{Kind: EventHeld, Detail: "as they were under the leader before"})
	}
}

// Held reports whether NICs are held.
func (f *Fabric) Held() bool { return f.holding.until.Load() != 0 }

// Drained waits until no packet is in a switch or on a wire, and returns the ledger. The caller has
// held the NICs: what they generate waits in their send queues. Packets that are left are reported
// as by [Fabric.Quiesce]. If the NICs inject again Drained ends with [ErrResumed], for a fabric
// under load never empties.
func (f *Fabric) Drained(ctx context.Context) (Ledger, error) {
	wait, end := context.WithCancelCause(ctx)
	defer end(nil)
	return f.settle(wait, func() bool {
		empty := f.drained()
		if !empty && !f.Held() {
			end(ErrResumed)
		}
		return empty
	}, func() progress {
		p := f.progress()
		p.injected = 0 // into the send queues
		return p
	}, empty)
}

// drained reports whether every packet that has left its NIC has ended.
func (f *Fabric) drained() bool {
	if f.holdsPackets() {
		return false
	}
	l := f.asked()
	return l.Balanced && empty(l)
}

// empty reports whether nothing is between the NICs.
func empty(l Ledger) bool { return l.Waiting.Switches+l.Waiting.Wires == 0 }
