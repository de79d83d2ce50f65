package fabric

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// Cut cuts a link, signalled: both ends lose signal at once. It returns when both have acted. If
// the link is cut already nothing is done and changed is false.
func (f *Fabric) Cut(id weft.LinkID) (report fault.Report, changed bool, err error) {
	l, err := f.link(id)
	if err != nil {
		return report, false, err
	}
	return f.one(context.Background(), fault.Spec{Do: fault.VerbCut, A: l.Name})
}

// Restore repairs a cut link and returns when both ends have it. A link that is not cut stays as it
// is.
func (f *Fabric) Restore(ctx context.Context, id weft.LinkID) (changed bool, err error) {
	l, err := f.link(id)
	if err != nil {
		return false, err
	}
	_, changed, err = f.one(ctx, fault.Spec{Do: fault.VerbRestore, A: l.Name})
	return changed, err
}

// Crash crashes a switch: it loses all that it holds and its neighbours lose signal. Crash returns
// when they have acted.
func (f *Fabric) Crash(id weft.SwitchID) (report fault.Report, changed bool, err error) {
	if int(id) >= len(f.switches) {
		return report, false, fmt.Errorf("switch %d: %w: there are %d", id, ErrUnknown, len(f.switches))
	}
	return f.one(context.Background(), fault.Spec{Do: fault.VerbCrash, A: f.switches[id].name})
}

// Restart starts a crashed switch again, empty. Its links that are not cut come back.
func (f *Fabric) Restart(ctx context.Context, id weft.SwitchID) (changed bool, err error) {
	if int(id) >= len(f.switches) {
		return false, fmt.Errorf("switch %d: %w: there are %d", id, ErrUnknown, len(f.switches))
	}
	_, changed, err = f.one(ctx, fault.Spec{Do: fault.VerbRestart, A: f.switches[id].name})
	return changed, err
}

// Heal repairs all cut and impaired links and all crashed switches. It returns their names.
func (f *Fabric) Heal(ctx context.Context) (healed []string, err error) {
	out, err := f.Apply(ctx, fault.Spec{Do: fault.VerbHeal})
	if len(out) > 0 {
		healed = out[0].Healed
	}
	return healed, err
}

func (f *Fabric) one(ctx context.Context, s fault.Spec) (report fault.Report, changed bool, err error) {
	out, err := f.Apply(ctx, s)
	if len(out) == 0 {
		return report, false, err
	}
	if out[0].Fault != nil {
		report = *out[0].Fault
	}
	return report, out[0].Changed, err
}
