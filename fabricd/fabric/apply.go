package fabric

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// Outcome is the result of one order.
type Outcome = leader.Outcome

// errStopped refuses orders to a fabric that is being taken down.
var errStopped = errors.New("the fabric has been stopped")

// seeTimeout bounds how long both ends may take to see a repair. Only a broken fabric needs so
// long.
const seeTimeout = 10 * time.Second

// Apply carries out several specs at one instant: all of them, or none when one cannot be done.
// Cuts act on all links before any end is told. Apply returns when the ends have acted, when
// repaired links are back, and when another leader would know of it all; if that takes too long,
// the outcomes say so. Repairing what is sound, and setting a fault that is in force already,
// change nothing.
func (fs *faults) Apply(ctx context.Context, specs ...fault.Spec) ([]Outcome, error) {
	out, checkpointed, err := fs.apply(ctx, specs)
	if err == nil && !awaitCheckpoint(ctx, checkpointed) {
		for i := range out {
			out[i].Note = strings.TrimPrefix(out[i].Note+"; "+notCheckpointed, "; ")
		}
	}
	return out, err
}

const notCheckpointed = "the store does not answer: who led the fabric from now on would not know of it"

func (fs *faults) apply(ctx context.Context, specs []fault.Spec) (_ []Outcome, checkpointed <-chan struct{}, _ error) {
	fs.lookAtHosts() // what they have counted by now is not the work of these orders
	a, err := fs.begin(leader.Apply{Specs: specs})
	if err != nil {
		return nil, nil, err
	}
	defer a.drop()
	err = a.settle(ctx)
	return a.outcomes(), a.checkpointed, err
}

// begin begins an action. An error means that nothing was done.
func (d *decisions) begin(ev leader.Event) (a *action, err error) {
	d.inLoop(func(l loop) {
		if l.hasStopped() {
			err = errStopped
			return
		}
		l.countNow()
		a = l.decide(ev)
		err = a.refused
	})
	return a, err
}
