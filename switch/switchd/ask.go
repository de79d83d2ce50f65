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

// ask asks the firmware for the decisions that core waits for and hands them in. It owns b, which
// is large, and which most firmwares do not need.
func (d *Driver) ask(core asker) {
	var b *switching.Asks
	for range d.asks {
		if b == nil {
			b = new(switching.Asks)
		}
		for any := true; any && !d.stopped.Load(); {
			d.lock()
			any = core.Asks(d.cfg.Clock(), b)
			d.behind.Store(any)
			d.mu.Unlock()
			if any {
				b.Decide()
				d.Do(func(now weft.Time, out *weft.Actions) { core.Answer(now, b, out) })
			}
		}
		if d.stopped.Load() {
			return
		}
	}
}
