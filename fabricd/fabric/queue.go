package fabric

import "sync"

// queue runs functions one after the other, in the sequence in which they were added. Live a
// goroutine runs them, which exists as long as there are any; in virtual time, and once the fabric
// has been stopped, the caller runs them.
//
// It grows while one of them is slow. A host's queue stops growing once the host is suspect, for
// then nothing waits for it.
type queue struct {
	mu      sync.Mutex // a leaf
	driven  bool       // guarded by mu: somebody does what waits
	waiting []func()   // guarded by mu
}

// add adds a function, and reports whether the caller has to make somebody drive q.
func (q *queue) add(do func()) (drive bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, do)
	drive = !q.driven
	q.driven = true
	return drive
}

// drive runs what waits until nothing does.
func (q *queue) drive() {
	for do := q.next(); do != nil; do = q.next() {
		do()
	}
}

// next takes the oldest function; nil: there is none, and nobody drives q any more.
func (q *queue) next() (do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.driven = len(q.waiting) > 0; q.driven {
		do, q.waiting = q.waiting[0], q.waiting[1:]
	}
	return do
}
