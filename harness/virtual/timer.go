package virtual

import (
	"container/heap"

	"github.com/weft-fabric/weft"
)

// Timer is a call that waits for its time.
type Timer struct {
	at   weft.Time
	seq  uint64
	call func() // nil: it has been made, or stopped
}

// At has f called at a time, now if that is past, before nodes do what they have to do then. Calls
// of one time are made in the order in which they were asked for. f may use the engine as it likes,
// and run it: then whoever runs it now goes on from where it has come to.
func (e *Engine) At(at weft.Time, f func()) *Timer {
	e.seq++
	t := &Timer{at: max(at, e.now), seq: e.seq, call: f}
	heap.Push(&e.timers, t)
	return t
}

// Stop makes sure that the call is not made any more. It reports whether it would have been.
func (t *Timer) Stop() bool {
	was := t.call != nil
	t.call = nil
	return was
}

// fire makes the call that waits first. A call that was stopped is no event.
func (e *Engine) fire() {
	t := heap.Pop(&e.timers).(*Timer)
	e.now = t.at
	if f := t.call; f != nil {
		t.call = nil
		e.calls++
		e.hash = mix(e.hash, uint64(t.at))
		f()
	}
}

// timers is a heap of timers, for package heap.
type timers []*Timer

// due is when the first is; Never when there is none.
func (h timers) due() weft.Time {
	if len(h) == 0 {
		return weft.Never
	}
	return h[0].at
}

func (h timers) Len() int      { return len(h) }
func (h timers) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h *timers) Push(t any)   { *h = append(*h, t.(*Timer)) }
func (h timers) Less(i, k int) bool {
	return h[i].at < h[k].at || h[i].at == h[k].at && h[i].seq < h[k].seq
}

func (h *timers) Pop() any {
	n := len(*h) - 1
	t := (*h)[n]
	(*h)[n], *h = nil, (*h)[:n]
	return t
}
