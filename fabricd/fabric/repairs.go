package fabric

import (
	"slices"
	"sync/atomic"

	"github.com/weft-fabric/weft"
)

// repairs are what faults have repaired that ended by themselves, until it is back. One agent looks after
// them all: in virtual time, where one goroutine does everything, none waits for another.
type repairs struct {
	wake waker
	some atomic.Bool // the list is not empty
	list []*batch    // guarded by Fabric.mu
}

// finishNow finishes what a fault has begun by itself; nil: nothing. The caller does not hold mu.
func (f *Fabric) finishNow(b *batch) {
	if b == nil {
		return
	}
	if err := b.acted(); err != nil {
		f.opts.Log.Error("a fault changes by itself", "err", err)
		return
	}
	if len(b.steps) == 0 {
		return
	}
	f.mu.Lock()
	if f.stopped {
		f.mu.Unlock()
		return
	}
	b.back = slices.DeleteFunc(b.back, func(l *link) bool { return !f.usable(l) })
	b.until = f.Now() + weft.FromDuration(seeTimeout)
	b.timer = f.runtime.At(b.until, f.attendRepairs)
	f.repairs.list = append(f.repairs.list, b)
	f.repairs.some.Store(true)
	f.mu.Unlock()
	f.attendRepairs()
}

// finishSoon is finishNow for a caller who holds mu.
func (f *Fabric) finishSoon(b *batch) {
	if b != nil && !f.stopped {
		f.runtime.At(f.Now(), func() { f.finishNow(b) })
	}
}

// attendRepairs closes the repairs whose links are back, and those that have waited too long.
func (f *Fabric) attendRepairs() {
	f.mu.Lock()
	var over []*batch
	f.repairs.list = slices.DeleteFunc(f.repairs.list, func(b *batch) bool {
		missing := slices.IndexFunc(b.back, func(l *link) bool { return !f.isBack(l) })
		if missing >= 0 && f.Now() < b.until {
			return false
		}
		if missing >= 0 {
			f.opts.Log.Error("repair: a link is not up at both ends", "link", b.back[missing].Name)
		}
		over = append(over, b)
		return true
	})
	f.repairs.some.Store(len(f.repairs.list) > 0)
	f.mu.Unlock()
	for _, b := range over {
		b.timer()
		_ = b.repaired().wait() // a host that does not answer is told of the era when it does
	}
}

// portsChanged tells those who wait for links that an end may have changed its mind about one.
func (f *Fabric) portsChanged() {
	f.changed.notify()
	if f.repairs.some.Load() {
		f.repairs.wake.wake()
	}
}
