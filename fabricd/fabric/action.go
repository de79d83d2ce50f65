package fabric

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// do begins an action and waits until it has finished.
func (d *decisions) do(ctx context.Context, ev leader.Event) error {
	a, err := d.begin(ev)
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
	d := a.d
	d.lookAtHosts()
	d.inLoop(func(l loop) {
		l.countNow()
		l.decide(leader.Acted{Action: a.number})
	})
	return err
}

// pending reports whether settle has to wait for repaired links.
func (a *action) pending() (yes bool) {
	a.d.read(func(s *leader.State) { yes = s.Pending(a.number) })
	return yes
}

// wait waits until what was repaired is back, and publishes that.
func (a *action) wait(ctx context.Context) error {
	d := a.d
	ctx, cancel := d.WithTimeout(ctx, seeTimeout)
	defer cancel()
	back := a.repairs()
	err := d.waitLinks(ctx, back)
	if err != nil {
		err = fmt.Errorf("restore: %w", err)
	}
	_ = a.repaired(back).wait() // a host that does not answer is told of the fault generation when it does
	return err
}

// repairs are the links that should carry packets again.
func (a *action) repairs() (list []*link) {
	a.d.read(func(s *leader.State) {
		for _, id := range s.Back(a.number) {
			list = append(list, a.d.links[id])
		}
	})
	return list
}

// repaired publishes the faults that the action has ended.
func (a *action) repaired(back []*link) (orders dispatched) {
	d := a.d
	damped := slices.DeleteFunc(slices.Clone(back), func(l *link) bool { return !d.held(l) })
	d.inLoop(func(l loop) {
		orders = l.decide(leader.Finished{Action: a.number, Damped: idsOf(damped)}).dispatched
	})
	return orders
}

// outcomes tells what came of each spec of the action.
func (a *action) outcomes() (list []Outcome) {
	a.d.read(func(s *leader.State) { list = s.Outcomes(a.number) })
	return list
}

// drop makes the state forget the action.
func (a *action) drop() { a.d.note(leader.Drop{Action: a.number}) }

// isBack reports whether both ends of l see it up, or nobody can wait for that.
func (d *decisions) isBack(l *link) (yes bool) {
	d.read(func(s *leader.State) { yes = s.IsBack(l.ID) })
	return yes || d.held(l)
}

// waitLinks waits until both ends of all links see them up. It does not wait for what damping holds
// down, nor for links that lose every frame or that another fault takes.
func (d *decisions) waitLinks(ctx context.Context, links []*link) error {
	for i, l := range links {
		d.opts.reportProgress(StageUp, i, len(links))
		for !d.isBack(l) {
			changed := d.changed.wait()
			if d.isBack(l) {
				break
			}
			if err := d.runtime.Pause(ctx, weft.Never, changed); err != nil {
				return fmt.Errorf("link %s is not up at both ends: %w", l.Name, err)
			}
		}
	}
	d.opts.reportProgress(StageUp, len(links), len(links))
	return nil
}
