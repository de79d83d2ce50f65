package switchd

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
)

// Ticker has the cores of many drivers do what is due, in one goroutine: a node whose time is far
// costs nothing. Run it before its drivers, and end it after them.
type Ticker struct {
	clock func() weft.Time
	wall  func(span weft.Time) time.Duration
	wake  chan struct{} // capacity 1: it is to look again how long it waits

	// Rest is called once all that was due is done, and now and then while it is not: hellos have no
	// more company to wait for, see [wire.HelloSender]. nil: nobody is. Set it before Run.
	Rest func()

	mu    sync.Mutex // a leaf
	queue byDue      // guarded by mu
	until weft.Time  // guarded by mu: when it looks next; 0: it looks anyway

	// On the clock: when it should look next, and when something was last found to be late.
	next, late atomic.Int64
}

// NewTicker returns a ticker that Run starts; see [Config] for clock and wall.
func NewTicker(clock func() weft.Time, wall func(span weft.Time) time.Duration) *Ticker {
	return &Ticker{clock: clock, wall: wall, wake: make(chan struct{}, 1)}
}

// byDue is a heap of drivers. Bound: each is in it once at most.
type byDue []*Driver

func (q byDue) Len() int           { return len(q) }
func (q byDue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q byDue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

func (q *byDue) Push(x any) {
	d := x.(*Driver)
	*q = append(*q, d)
	d.place = len(*q)
}

func (q *byDue) Pop() any {
	old := *q
	d := old[len(old)-1]
	*q = old[:len(old)-1]
	d.place = 0
	return d
}

// set has d ticked at a time and not at the one set before; weft.Never: not at all.
func (t *Ticker) set(d *Driver, due weft.Time) {
	t.mu.Lock()
	switch {
	case d.place == 0 && due == weft.Never:
	case d.place == 0:
		d.due = due
		heap.Push(&t.queue, d)
	case due == weft.Never:
		heap.Remove(&t.queue, d.place-1)
	default:
		d.due = due
		heap.Fix(&t.queue, d.place-1)
	}
	early := d.place == 1 && d.due < t.until
	t.mu.Unlock()
	if early {
		notify(t.wake)
	}
}

// take takes the driver that is due first out of the queue; nil: none is due, and next is when one
// is.
func (t *Ticker) take() (d *Driver, next weft.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next, t.until = weft.Never, 0
	if len(t.queue) > 0 {
		next = t.queue[0].due
	}
	if next <= t.clock() {
		return heap.Pop(&t.queue).(*Driver), next
	}
	t.until = next
	return nil, next
}

// restAfter is how many nodes are ticked at most before a Rest, chosen by us.
const restAfter = 256

// Run ticks until ctx ends.
func (t *Ticker) Run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ticked := 0 // since the last rest
	for ctx.Err() == nil {
		d, next := t.take()
		t.next.Store(int64(next))
		if ticked > 0 && t.Rest != nil && (d == nil || ticked == restAfter) {
			t.Rest()
			ticked = 0
		}
		if d != nil {
			d.tick()
			ticked++
			t.since(next)
			continue
		}
		now := t.clock()
		timer.Reset(t.wall(min(next-now, weft.FromDuration(time.Hour))) + 1)
		select {
		case <-t.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// lateBy is what counts as late when Late is asked about what has been.
const lateBy = 10 * weft.Millisecond

// since notes that something that was due at a time happens only now.
func (t *Ticker) since(due weft.Time) {
	if now := t.clock(); due != 0 && now-due > lateBy {
		t.late.Store(int64(now))
	}
}

// Late reports whether nodes are late with what is due, by more than slack, because the machine
// does not run goroutines, or were within that time.
func (t *Ticker) Late(slack, within time.Duration) bool {
	now, next, late := t.clock(), weft.Time(t.next.Load()), weft.Time(t.late.Load())
	return next != 0 && now-next > weft.FromDuration(slack) || late != 0 && now-late < weft.FromDuration(within)
}
