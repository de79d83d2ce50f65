package virtual

import "github.com/weft-fabric/weft"

// event is one entry of the queue.
type event struct {
	at   weft.Time
	seq  uint64
	what uint64 // see Engine
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// lane says why an event is due when it is. Most are due a fixed time after they are pushed, one
// and the same for all of a reason, so that they come in the order in which they are due.
type lane uint8

const (
	laneNow    lane = iota // it is due at once
	laneReady              // a port has become ready, and its crossbar delay will be over
	laneFree               // a link will have sent what it was given
	laneCredit             // a frame without packets will have arrived
	laneHead               // the head of a packet will have arrived at a switch
	laneTail               // the tail of a packet will have arrived at a NIC
	lanes
	laneOther = lanes // any other, at any time
)

// queue holds events by (time, sequence). A lane takes an event that is not due before the last it
// holds, and so is in order for nothing; what no lane takes goes into a wheel. Lanes change how
// fast the queue is and never the order.
type queue struct {
	first [lanes]weft.Time // when the first event of each lane is due; Never: it has none
	lane  [lanes]fifo
	rest  wheel
	size  int
	soon  uint64 // what comes after it in the lane of the event taken last; 0 before there was any
}

// newQueue returns an empty queue.
func newQueue() queue {
	q := queue{rest: newWheel()}
	for l := range q.first {
		q.first[l], q.lane[l] = weft.Never, newFIFO()
	}
	return q
}

// push adds an event. A lane that does not suit it costs time, no more.
func (q *queue) push(e event, l lane) {
	q.size++
	if l < lanes && q.lane[l].push(e) {
		if q.lane[l].n == 1 {
			q.first[l] = e.at
		}
		return
	}
	q.rest.push(e)
}

// next returns the first event if it is due at until or before. Events pushed after a call must not
// be due before until, or before the event returned.
func (q *queue) next(until weft.Time) (e event, ok bool) {
	l, at := lane(0), q.first[0]
	for i := lane(1); i < lanes; i++ {
		if t := q.first[i]; t < at || t == at && q.lane[i].n > 0 && q.lane[i].head().seq < q.lane[l].head().seq {
			l, at = i, t
		}
	}
	if r := &q.rest; r.bound <= min(at, until) && r.find(min(at, until)) && (r.bound < at || r.first().before(*q.lane[l].head())) {
		q.size--
		return r.take(), true
	}
	if at > until || q.size == 0 {
		return e, false
	}
	q.size--
	f := &q.lane[l]
	e = f.pop()
	q.first[l] = weft.Never
	if f.n > 0 {
		h := f.head()
		q.first[l], q.soon = h.at, h.what
	}
	return e, true
}

// fifo is a ring of events that are due one after the other.
type fifo struct {
	ring []event // its length is a power of two
	from uint    // counts on beyond the length
	n    uint
	last weft.Time // when the event pushed last is due
}

func newFIFO() fifo { return fifo{ring: make([]event, 64)} }

// push appends an event, unless it is due before the last.
func (f *fifo) push(e event) bool {
	if e.at < f.last && f.n > 0 {
		return false
	}
	if f.n == uint(len(f.ring)) {
		f.grow()
	}
	f.last = e.at
	f.ring[(f.from+f.n)&uint(len(f.ring)-1)] = e
	f.n++
	return true
}

// head is the first event. There must be one.
func (f *fifo) head() *event { return &f.ring[f.from&uint(len(f.ring)-1)] }

func (f *fifo) pop() event {
	e := *f.head()
	f.from++
	f.n--
	return e
}

func (f *fifo) grow() {
	ring := make([]event, 2*len(f.ring))
	for i := range f.n {
		ring[i] = f.ring[(f.from+i)&uint(len(f.ring)-1)]
	}
	f.ring, f.from = ring, 0
}
