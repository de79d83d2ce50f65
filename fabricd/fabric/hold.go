package fabric

import (
	"context"
	"errors"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// ErrResumed means that NICs which were held to empty the fabric inject again.
var ErrResumed = errors.New("NICs inject again: the fabric will not be empty")

// HoldNICs stops all NICs from injecting until ResumeNICs. Their sources go on generating into the
// send queues, as an application would. With [Fabric.Drained] it replaces routes by others that
// could deadlock with those in force.
func (f *Fabric) HoldNICs() { f.hold(leader.Hold{For: weft.Never}) }

// HoldNICsFor is HoldNICs for a caller that may die meanwhile: d after the latest call the NICs
// inject again, and the event says why.
func (f *Fabric) HoldNICsFor(d time.Duration) { f.hold(leader.Hold{For: weft.FromDuration(d)}) }

// HoldLonger begins the time of HoldNICsFor anew, if NICs are held.
func (f *Fabric) HoldLonger(d time.Duration) {
	f.hold(leader.Hold{For: weft.FromDuration(d), Longer: true})
}

// ResumeNICs has all NICs inject again.
func (f *Fabric) ResumeNICs() { f.hold(leader.Hold{}) }

func (f *Fabric) hold(ev leader.Hold) {
	var a *action
	f.inLoop(func(l loop) { a = l.decide(ev) })
	_ = a.dispatched.wait() // a host that does not answer is told when it does
}

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
	l := f.ledgerAfterRefresh()
	return l.Balanced && empty(l)
}

// empty reports whether nothing is between the NICs.
func empty(l Ledger) bool { return l.Waiting.Switches+l.Waiting.Wires == 0 }
