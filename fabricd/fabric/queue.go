package fabric

import "sync"

// queue has things done one after the other, in the sequence in which they were asked for. Live one
// goroutine does them, which is there as long as anything is to be done; in virtual time, and when
// the fabric has been stopped, whoever asks.
//
// It is as long as what is decided while one of them takes its time: for a host that is until it is
// suspect, for then nothing waits for it.
type queue struct {
	mu      sync.Mutex // a leaf
	driven  bool       // guarded by mu: somebody does what waits
	waiting []func()   // guarded by mu
}

// enqueue has q do something when it has done all before, and waits for it in virtual time only.
func (f *Fabric) enqueue(q *queue, do func()) {
	if q.add(do) && (f.Virtual() || !f.spawn(q.drive)) {
		q.drive()
	}
}

// add reports whether the caller has to see to it that somebody drives q.
func (q *queue) add(do func()) (drive bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, do)
	drive = !q.driven
	q.driven = true
	return drive
}

// drive does what waits until nothing does.
func (q *queue) drive() {
	for do := q.next(); do != nil; do = q.next() {
		do()
	}
}

// next takes what has waited longest; nil: nothing waits, and nobody drives q any more.
func (q *queue) next() (do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.driven = len(q.waiting) > 0; q.driven {
		do, q.waiting = q.waiting[0], q.waiting[1:]
	}
	return do
}
