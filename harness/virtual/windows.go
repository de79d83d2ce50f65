package virtual

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
)

// windows lets all happen that is due before end: each worker runs its nodes for a bucket of time,
// then workers give each other what was sent, which arrives in a later one.
func (e *Engine) windows(end weft.Time) {
	for _, w := range e.workers {
		w.close()
	}
	if len(e.workers) == 1 {
		w := e.workers[0]
		for at := w.next(); at < end; at = w.next() {
			last := w.window(at, end)
			w.flush()
			if end < last {
				return
			}
		}
		return
	}
	var all sync.WaitGroup
	for _, w := range e.workers {
		all.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					e.meeting.panicked.Store(&panicked{v, debug.Stack()})
				}
			}()
			w.windows(end)
		})
	}
	all.Wait()
	if p := e.meeting.panicked.Load(); p != nil {
		panic(fmt.Sprintf("%v\n%s", p.value, p.stack))
	}
}

// panicked is a panic of a worker, which is one of the engine's caller.
type panicked struct {
	value any
	stack []byte
}

// windows is that of the engine, for one of several workers.
func (w *worker) windows(end weft.Time) {
	for at := w.exchange(); at < end; {
		last := w.window(at, end)
		w.flush()
		at = w.exchange()
		if end < last {
			return
		}
	}
}

// mail is what one worker has for the others after a window.
type mail struct {
	to    [][]sending // per worker
	first weft.Time   // the begin of the first bucket in which the worker, or what is here, has something to do
	_     [64]byte    // what another worker writes is in another cache line
}

// meeting is where workers wait for each other after each window. A worker is at most one window
// ahead of another, so each has mail for two: one is read while the other is filled.
type meeting struct {
	mail     [2][]mail    // by the number of the window, per worker
	arrived  atomic.Int64 // workers, in all windows
	panicked atomic.Pointer[panicked]
}

func newMeeting(workers int) *meeting {
	m := &meeting{}
	for i := range m.mail {
		m.mail[i] = make([]mail, workers)
		for k := range m.mail[i] {
			m.mail[i][k] = mail{to: make([][]sending, workers), first: weft.Never}
		}
	}
	return m
}

// mail is what the worker fills in this window.
func (w *worker) mail() *mail { return &w.engine.meeting.mail[w.round&1][w.number] }

// send has a frame put on a wire, by the worker of the node that it goes to.
func (w *worker) send(s sending) {
	if len(w.engine.workers) == 1 || s.to.worker == w {
		w.sent = append(w.sent, s)
		return
	}
	m := w.mail()
	m.to[s.to.worker.number] = append(m.to[s.to.worker.number], s)
	m.first = min(m.first, s.at>>w.cal.shift<<w.cal.shift)
}

// exchange waits for all workers and takes the mail that they have for this one. It returns when
// the next bucket begins in which any of them has something to do.
func (w *worker) exchange() (next weft.Time) {
	m := w.engine.meeting
	mine := w.mail()
	mine.first = min(mine.first, w.next())
	w.round++
	m.arrived.Add(1)
	for tries := 0; m.arrived.Load() < w.round*int64(len(w.engine.workers)); tries++ {
		if tries > spins {
			if m.panicked.Load() != nil {
				return weft.Never
			}
			runtime.Gosched()
		}
	}
	next = weft.Never
	all := m.mail[(w.round-1)&1]
	for i := range all {
		next = min(next, all[i].first)
		to := &all[i].to[w.number]
		w.deliver(*to)
		clear(*to) // as in flush
		*to = (*to)[:0]
	}
	w.mail().first = weft.Never // that of two windows ago, which all have read
	return next
}

// spins is how often a worker looks for the others before it lets another goroutine have the
// processor: some microseconds.
const spins = 1000
