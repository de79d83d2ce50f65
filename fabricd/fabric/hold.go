package fabric

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/part"
)

// Kinds of event of a static reconfiguration.
const (
	EventHeld    = "held"    // NICs inject nothing
	EventResumed = "resumed" // they do again
)

// ErrResumed means that NICs inject again which were held for the fabric to get empty.
var ErrResumed = errors.New("NICs inject again: the fabric will not be empty")

// HoldNICs has all NICs inject nothing until ResumeNICs. Their sources go on generating into the send queues, as an application does
// that knows nothing of it. With [Fabric.Drained] it is how routes are replaced with which those in force could deadlock.
func (f *Fabric) HoldNICs() { f.hold(true, 0) }

// HoldNICsFor is HoldNICs for someone who may die meanwhile: so long after the latest call the NICs inject again, and the event says why.
func (f *Fabric) HoldNICsFor(d time.Duration) { f.hold(true, d) }

// ResumeNICs has all NICs inject again.
func (f *Fabric) ResumeNICs() { f.hold(false, 0) }

// heldNICs is whether NICs are held.
type heldNICs struct {
	mu   sync.Mutex
	held bool   // guarded by mu
	turn uint64 // guarded by mu: counts the changes
	ends func() // guarded by mu: stops the clock of HoldNICsFor; nil: it does not run
}

func (f *Fabric) hold(held bool, most time.Duration) {
	f.holding.mu.Lock()
	defer f.holding.mu.Unlock()
	f.limitHold(most) // 0 stops the clock
	f.setHeld(held, "")
}

// HoldLonger begins the time of HoldNICsFor anew, if NICs are held.
func (f *Fabric) HoldLonger(d time.Duration) {
	f.holding.mu.Lock()
	defer f.holding.mu.Unlock()
	if f.holding.held {
		f.limitHold(d)
	}
}

// limitHold is called with the lock of holding.
func (f *Fabric) limitHold(most time.Duration) {
	h := &f.holding
	if h.ends != nil {
		h.ends()
		h.ends = nil
	}
	h.turn++
	if turn := h.turn; most > 0 {
		h.ends = f.At(f.Now()+weft.FromDuration(most), func() { f.heldLongEnough(turn, most) })
	}
}

// heldLongEnough has NICs inject again that somebody has held and forgotten.
func (f *Fabric) heldLongEnough(turn uint64, most time.Duration) {
	f.holding.mu.Lock()
	defer f.holding.mu.Unlock()
	if f.holding.turn == turn {
		f.holding.ends = nil
		f.setHeld(false, "whoever held them has asked for nothing in "+most.String()+": tables are as they were left")
	}
}

// setHeld is called with the lock of holding.
func (f *Fabric) setHeld(held bool, why string) {
	if f.holding.held == held {
		return
	}
	f.holding.held = held
	for _, n := range f.here.nics {
		n.Hold(held)
	}
	f.give(func(o *orders) {
		o.all(func(order *part.Order) { order.Hold = new(held) })
	})
	kind := EventResumed
	if held {
		kind = EventHeld
	}
	f.events.Publish(f.Now(), Event{Kind: kind, Detail: why})
}

// Held reports whether NICs are held.
func (f *Fabric) Held() bool {
	f.holding.mu.Lock()
	defer f.holding.mu.Unlock()
	return f.holding.held
}

// Drained waits until no packet is in a switch or on a wire and returns the ledger. The caller has held the NICs: what they generate
// meanwhile waits in their send queues. Packets that are left and do not move are reported as a *StuckError beside the ledger. It ends with
// [ErrResumed] when the NICs inject again: whoever held them may have thought better of it, or died, and a fabric under load is never empty.
func (f *Fabric) Drained(ctx context.Context) (Ledger, error) {
	wait, end := context.WithCancelCause(ctx)
	defer end(nil)
	l, err := f.settle(wait, func() bool {
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
	if err != nil && errors.Is(context.Cause(wait), ErrResumed) {
		err = ErrResumed
	}
	return l, err
}

// drained reports whether every packet that has left its NIC has ended.
func (f *Fabric) drained() bool {
	if f.holdsPackets() {
		return false
	}
	l := f.Ledger()
	return l.Balanced && empty(l)
}

// empty reports whether nothing is between the NICs.
func empty(l Ledger) bool { return l.Waiting.Switches+l.Waiting.Wires == 0 }
