package fabric

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// faults cuts, impairs, crashes and repairs, and has the reports of what that cost. Any goroutine
// outside the loop may call it.
type faults struct{ *decisions }

// Cut cuts a link, signalled: both ends lose signal at once. It returns when both have acted. If
// the link is cut already nothing is done and changed is false.
func (fs *faults) Cut(id weft.LinkID) (report fault.Report, changed bool, err error) {
	l, err := fs.link(id)
	if err != nil {
		return report, false, err
	}
	return fs.one(context.Background(), fault.Spec{Do: fault.VerbCut, A: l.Name})
}

// Restore repairs a cut link and returns when both ends have it. A link that is not cut stays as it
// is.
func (fs *faults) Restore(ctx context.Context, id weft.LinkID) (changed bool, err error) {
	l, err := fs.link(id)
	if err != nil {
		return false, err
	}
	_, changed, err = fs.one(ctx, fault.Spec{Do: fault.VerbRestore, A: l.Name})
	return changed, err
}

// Crash crashes a switch: it loses all that it holds and its neighbours lose signal. Crash returns
// when they have acted.
func (fs *faults) Crash(id weft.SwitchID) (report fault.Report, changed bool, err error) {
	if int(id) >= len(fs.switches) {
		return report, false, fmt.Errorf("switch %d: %w: there are %d", id, ErrUnknown, len(fs.switches))
	}
	return fs.one(context.Background(), fault.Spec{Do: fault.VerbCrash, A: fs.switches[id].name})
}

// Restart starts a crashed switch again, empty. Its links that are not cut come back.
func (fs *faults) Restart(ctx context.Context, id weft.SwitchID) (changed bool, err error) {
	if int(id) >= len(fs.switches) {
		return false, fmt.Errorf("switch %d: %w: there are %d", id, ErrUnknown, len(fs.switches))
	}
	_, changed, err = fs.one(ctx, fault.Spec{Do: fault.VerbRestart, A: fs.switches[id].name})
	return changed, err
}

// Heal repairs all cut and impaired links and all crashed switches. It returns their names.
func (fs *faults) Heal(ctx context.Context) (healed []string, err error) {
	out, err := fs.Apply(ctx, fault.Spec{Do: fault.VerbHeal})
	if len(out) > 0 {
		healed = out[0].Healed
	}
	return healed, err
}

func (fs *faults) one(ctx context.Context, s fault.Spec) (report fault.Report, changed bool, err error) {
	out, err := fs.Apply(ctx, s)
	if len(out) == 0 {
		return report, false, err
	}
	if out[0].Fault != nil {
		report = *out[0].Fault
	}
	return report, out[0].Changed, err
}

// Faults returns the reports of the latest faults in order, at most 4096. Reports of faults that
// last are brought up to date.
func (fs *faults) Faults() []fault.Report {
	fs.look(host.CountersRequest{Generations: true}, false)
	fs.lookAtConnections()
	return fs.reportsAfter(0)
}

// reportsAfter copies the reports with higher numbers; those that are open are brought up to date.
func (fs *faults) reportsAfter(id int) (list []fault.Report) {
	fs.noteCounted()
	found := false
	report := func(*ledger.Ledger) {
		fs.read(func(s *leader.State) {
			if found = s.HasFound(); !found {
				list = s.Reports(fs.Now(), id)
			}
		})
	}
	for fs.ledger.read(report); found; fs.ledger.read(report) {
		fs.inLoop(func(l loop) { l.decide(leader.Found{}) })
	}
	return list
}

// CloseReports stops counting effects for all repaired faults, as at the end of a run.
func (fs *faults) CloseReports() {
	fs.refreshHosts(host.CountersRequest{Generations: true})
	fs.lookAtConnections()
	fs.inLoop(func(l loop) {
		l.countNow()
		l.decide(leader.Close{})
	})
}

// FaultCount is the number and the cost of all faults of one kind since the start.
type FaultCount struct {
	Begun uint64
	Open  int    // last, or are still counted
	Lost  uint64 // packets, as far as hosts have told
}

// FaultCounts counts the faults by kind, including those whose reports are no longer kept. It asks
// no host.
func (fs *faults) FaultCounts() map[string]FaultCount {
	counts := map[string]FaultCount{}
	fs.ledger.read(func(l *ledger.Ledger) {
		for _, k := range l.State().Forgotten {
			counts[k.Kind] = FaultCount{Begun: k.Begun, Lost: k.Lost}
		}
		for _, in := range l.Incidents(0) {
			c := counts[in.Kind]
			c.Begun, c.Lost = c.Begun+1, c.Lost+in.Lost.Sum()
			if in.Open {
				c.Open++
			}
			counts[in.Kind] = c
		}
	})
	return counts
}
