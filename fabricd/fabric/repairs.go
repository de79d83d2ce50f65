package fabric

import (
	"slices"
	"sync/atomic"

	"github.com/weft-fabric/weft"
)

// repairs are what faults have repaired that ended by themselves, until it is back. One task looks after
// them all: in virtual time, where one goroutine does everything, none waits for another.
type repairs struct {
	wake waker
	some atomic.Bool // the list is not empty
	list []*action   // guarded by Fabric.mu
}

// finishNow finishes what a fault has begun by itself. The caller does not hold mu.
func (f *Fabric) finishNow(a *action) {
	if err := a.acted(); err != nil {
		f.opts.Log.Error("a fault changes by itself", "err", err)
		a.drop()
		return
	}
	if !a.pending() {
		return
	}
	f.mu.Lock()
	if f.hasStopped() {
		f.mu.Unlock()
		return
	}
	a.back = a.repairs()
	a.until = f.Now() + weft.FromDuration(seeTimeout)
	a.stop = f.runtime.At(a.until, f.attendRepairs)
	f.repairs.list = append(f.repairs.list, a)
	f.repairs.some.Store(true)
	f.mu.Unlock()
	f.attendRepairs()
}

// finishSoon is finishNow for a caller who holds mu.
func (f *Fabric) finishSoon(list []*action) {
	for _, a := range list {
		if !f.hasStopped() {
			f.runtime.At(f.Now(), func() { f.finishNow(a) })
		}
	}
}

// attendRepairs closes the repairs whose links are back, and those that have waited too long.
func (f *Fabric) attendRepairs() {
	f.mu.Lock()
	var over []*action
	f.repairs.list = slices.DeleteFunc(f.repairs.list, func(a *action) bool {
		missing := slices.IndexFunc(a.back, func(l *link) bool { return !f.isBack(l) })
		if missing >= 0 && f.Now() < a.until {
			return false
		}
		if missing >= 0 {
			f.opts.Log.Error("repair: a link is not up at both ends", "link", a.back[missing].Name)
		}
		over = append(over, a)
		return true
	})
	f.repairs.some.Store(len(f.repairs.list) > 0)
	f.mu.Unlock()
	for _, a := range over {
		a.stop()
		_ = a.repaired(a.back).wait() // a host that does not answer is told of the fault generation when it does
		a.drop()
	}
}

// portsChanged tells those who wait for links that an end may have changed its mind about one.
func (f *Fabric) portsChanged() {
	f.changed.notify()
	if f.repairs.some.Load() {
		f.repairs.wake.wake()
	}
}
