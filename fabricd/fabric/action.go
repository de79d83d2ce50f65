package fabric

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// do begins an action and waits until it has finished.
func (f *Fabric) do(ctx context.Context, ev leader.Event) error {
	a, err := f.begin(ev)
	if err != nil {
		return err
	}
	return a.finish(ctx)
}

// finish settles an action and drops it: nobody asks for its outcomes.
func (a *action) finish(ctx context.Context) error {
	defer a.drop()
	return a.settle(ctx)
}

// settle waits until the hosts have acted and what was repaired is back, and publishes both. The
// caller drops the action.
func (a *action) settle(ctx context.Context) error {
	if err := a.acted(); err != nil || !a.pending() {
		return err
	}
	return a.wait(ctx)
}

// acted waits until the hosts have acted, and publishes what was done.
func (a *action) acted() error {
	err := a.dispatched.wait()
	f := a.f
	f.lookAtHosts()
	f.inLoop(func(l loop) {
		l.countNow()
		l.decide(leader.Acted{Action: a.number})
	})
	return err
}

// pending reports whether settle has to wait for repaired links.
func (a *action) pending() (yes bool) {
	a.f.read(func(s *leader.State) { yes = s.Pending(a.number) })
	return yes
}

// wait waits until what was repaired is back, and publishes that.
func (a *action) wait(ctx context.Context) error {
	f := a.f
	ctx, cancel := f.WithTimeout(ctx, seeTimeout)
	defer cancel()
	back := a.repairs()
	err := f.waitLinks(ctx, back)
	if err != nil {
		err = fmt.Errorf("restore: %w", err)
	}
	_ = a.repaired(back).wait() // a host that does not answer is told of the fault generation when it does
	return err
}

// repairs are the links that should carry packets again.
func (a *action) repairs() (list []*link) {
	a.f.read(func(s *leader.State) {
		for _, id := range s.Back(a.number) {
			list = append(list, a.f.links[id])
		}
	})
	return list
}

// repaired publishes the faults that the action has ended.
func (a *action) repaired(back []*link) (orders dispatched) {
	f := a.f
	damped := slices.DeleteFunc(slices.Clone(back), func(l *link) bool { return !f.held(l) })
	f.inLoop(func(l loop) {
		orders = l.decide(leader.Finished{Action: a.number, Damped: idsOf(damped)}).dispatched
	})
	return orders
}

// outcomes tells what came of each spec of the action.
func (a *action) outcomes() (list []Outcome) {
	a.f.read(func(s *leader.State) { list = s.Outcomes(a.number) })
	return list
}

// drop makes the state forget the action.
func (a *action) drop() { a.f.note(leader.Drop{Action: a.number}) }

// isBack reports whether both ends of l see it up, or nobody can wait for that.
func (f *Fabric) isBack(l *link) (yes bool) {
	f.read(func(s *leader.State) { yes = s.IsBack(l.ID) })
	return yes || f.held(l)
}

// waitLinks waits until both ends of all links see them up. It does not wait for what damping holds
// down, nor for links that lose every frame or that another fault takes.
func (f *Fabric) waitLinks(ctx context.Context, links []*link) error {
	for i, l := range links {
		f.opts.reportProgress(StageUp, i, len(links))
		for !f.isBack(l) {
			changed := f.changed.wait()
			if f.isBack(l) {
				break
			}
			if err := f.runtime.Pause(ctx, weft.Never, changed); err != nil {
				return fmt.Errorf("link %s is not up at both ends: %w", l.Name, err)
			}
		}
	}
	f.opts.reportProgress(StageUp, len(links), len(links))
	return nil
}
