package switchd

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// asker is a core whose firmware may take long to decide: a *switching.Switch is one.
type asker interface {
	LetAsk()
	Asks(now weft.Time, b *switching.Asks) bool
	Answer(now weft.Time, b *switching.Asks, out *weft.Actions)
}

// wakeAsker has the goroutine that asks the firmware look for what there is to ask. It is started
// when it is needed first. The caller holds the lock.
func (d *Driver) wakeAsker() {
	if d.stopped.Load() {
		return
	}
	if d.asks == nil {
		d.asks = make(chan struct{}, 1)
		d.asking.Go(func() { d.ask(d.core.(asker), d.asks) })
	}
	d.behind.Store(true)
	notify(d.asks)
}

// ask asks the firmware for the decisions that have gathered and hands them in, until Run ends.
func (d *Driver) ask(core asker, wake <-chan struct{}) {
	var b switching.Asks
	for range wake {
		for any := true; any && !d.stopped.Load(); {
			d.lock()
			any = core.Asks(d.cfg.Clock(), &b)
			d.behind.Store(any)
			d.mu.Unlock()
			if any {
				b.Decide()
				d.Do(func(now weft.Time, out *weft.Actions) { core.Answer(now, &b, out) })
			}
		}
		if d.stopped.Load() {
			return
		}
	}
}

// stopAsking ends the goroutine that asks, and returns when it has.
func (d *Driver) stopAsking() {
	d.lock()
	if d.asks != nil {
		notify(d.asks)
	}
	d.mu.Unlock()
	d.asking.Wait()
}
