package virtual

import "github.com/weft-fabric/weft"

// timers are the calls that wait for their time, in slots that are used again.
type timers struct {
	slots []*Timer
	free  []uint32
}

// Timer is a call that waits for its time.
type Timer struct {
	engine *Engine
	slot   uint32
	call   func() // nil: it has been made, or stopped
}

// At has f called at a time, now if that is past. It may use the engine as it likes, and run it:
// then whoever runs it now goes on from where it has come to.
func (e *Engine) At(at weft.Time, f func()) *Timer {
	t := &Timer{engine: e, call: f}
	if n := len(e.timers.free); n > 0 {
		t.slot = e.timers.free[n-1]
		e.timers.free = e.timers.free[:n-1]
		e.timers.slots[t.slot] = t
	} else {
		t.slot = uint32(len(e.timers.slots))
		e.timers.slots = append(e.timers.slots, t)
	}
	e.schedule(max(at, e.now), evTimer|uint64(t.slot), laneOther)
	return t
}

// Stop makes sure that the call is not made any more. It reports whether it would have been.
func (t *Timer) Stop() bool {
	was := t.call != nil
	t.call = nil
	return was
}

// fire makes the call of a slot. A call that was stopped is no event.
func (e *Engine) fire(slot uint32, ev event) bool {
	t := e.timers.slots[slot]
	e.timers.slots[slot] = nil
	e.timers.free = append(e.timers.free, slot)
	if f := t.call; f != nil {
		t.call = nil
		ev.what = evTimer // slots are none of the fingerprint's business
		e.count(ev)
		f()
	}
	return true
}
