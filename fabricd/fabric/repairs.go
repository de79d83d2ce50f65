package fabric

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// finishNow finishes the action of a fault that has ended by itself.
func (d *decisions) finishNow(a *action) {
	if err := a.acted(); err != nil {
		d.opts.Log.Error("a fault changes by itself", "err", err)
		a.drop()
		return
	}
	if !a.pending() {
		return
	}
	stopped := false
	d.inLoop(func(l loop) {
		if stopped = l.hasStopped(); stopped {
			return
		}
		a.back = a.repairs()
		a.until = l.Now() + weft.FromDuration(seeTimeout)
		a.stop = l.runtime.At(a.until, l.attendRepairs)
		l.unrepaired = append(l.unrepaired, a)
		l.repairing.Store(true)
	})
	if !stopped {
		d.attendRepairs()
	}
}

// finishSoon calls finishNow outside the loop.
func (l loop) finishSoon(list []*action) {
	for _, a := range list {
		if !l.hasStopped() {
			l.runtime.At(l.Now(), func() { l.finishNow(a) })
		}
	}
}

// attendRepairs closes the repairs whose links are back, and those that have waited too long.
func (d *decisions) attendRepairs() {
	var over []*action
	d.inLoop(func(l loop) { over = l.repairsOver() })
	for _, a := range over {
		a.stop()
		_ = a.repaired(a.back).wait() // a host that does not answer is told of the fault generation when it does
		a.drop()
	}
}

// repairsOver removes from the list the repairs that are to be closed, and returns them.
func (l loop) repairsOver() (over []*action) {
	l.unrepaired = slices.DeleteFunc(l.unrepaired, func(a *action) bool {
		missing := slices.IndexFunc(a.back, func(k *link) bool { return !l.isBack(k) })
		if missing >= 0 && l.Now() < a.until {
			return false
		}
		if missing >= 0 {
			l.opts.Log.Error("repair: a link is not up at both ends", "link", a.back[missing].Name)
		}
		over = append(over, a)
		return true
	})
	l.repairing.Store(len(l.unrepaired) > 0)
	return over
}
