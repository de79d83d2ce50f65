package virtual

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
)

// event is one entry of the queue.
type event struct {
	at   weft.Time
	seq  uint64
	what uint64 // see Engine
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// queue holds events by (time, sequence): a wheel of buckets for what is soon, a heap for what is not. A bucket is put in order
// only when its turn comes. The width of buckets follows the density of events, which changes how fast the queue is and never
// the order.
type queue struct {
	shift   uint  // a bucket is 1<<shift picoseconds wide
	least   uint  // what shift must not go below: with narrower buckets too many events were beyond the last
	cur     int64 // the bucket whose turn it is, numbered from time 0
	head    int   // of it, the next event
	buckets [][]event
	full    [wheel / 64]uint64 // buckets after cur that hold events
	far     []event            // heap: those at bucket cur+wheel or later
	size    int

	taken, opened, pushed, farther int // since the width was looked at
}

const (
	wheel      = 1 << 12 // buckets
	firstShift = 12      // about 4 ns, right for 64 NICs on links of 2 Gb/s
	maxShift   = 40      // about a second
	crowded    = 64      // events of a bucket above which it gets no wider
	lookEvery  = 1 << 14 // events
)

// newQueue returns an empty queue.
func newQueue() queue {
	return queue{shift: firstShift, buckets: make([][]event, wheel)}
}

func (q *queue) push(e event) {
	q.size++
	q.pushed++
	b := int64(e.at) >> q.shift
	switch {
	case b <= q.cur:
		list := append(q.buckets[q.cur%wheel], e)
		i := len(list) - 1
		for ; i > q.head && e.before(list[i-1]); i-- {
			list[i] = list[i-1]
		}
		list[i] = e
		q.buckets[q.cur%wheel] = list
	case b < q.cur+wheel:
		i := b % wheel
		q.buckets[i] = append(q.buckets[i], e)
		q.full[i/64] |= 1 << (i % 64)
	default:
		q.farther++
		q.pushFar(e)
	}
}

// next returns the first event if it is due at until or before. Events pushed after a call must not be due before until, or
// before the event returned.
func (q *queue) next(until weft.Time) (e event, ok bool) {
	list := q.buckets[q.cur%wheel]
	for q.head == len(list) {
		if !q.advance(until) {
			return e, false
		}
		list = q.buckets[q.cur%wheel]
	}
	e = list[q.head]
	if e.at > until {
		return e, false
	}
	q.head++
	q.size--
	if q.taken++; q.taken == lookEvery {
		q.tune()
	}
	return e, true
}

// advance goes on to the next bucket that holds events, unless it begins after until.
func (q *queue) advance(until weft.Time) bool {
	b, ok := q.nextFull()
	if len(q.far) > 0 {
		if f := int64(q.far[0].at) >> q.shift; !ok || f < b {
			b, ok = f, true
		}
	}
	if !ok || b<<q.shift > int64(until) {
		return false
	}
	i := q.cur % wheel
	q.buckets[i] = q.buckets[i][:0]
	q.cur, q.head = b, 0
	for len(q.far) > 0 && int64(q.far[0].at)>>q.shift < b+wheel {
		e := q.popFar()
		i := (int64(e.at) >> q.shift) % wheel
		q.buckets[i] = append(q.buckets[i], e)
		q.full[i/64] |= 1 << (i % 64)
	}
	i = b % wheel
	q.full[i/64] &^= 1 << (i % 64)
	inOrder(q.buckets[i])
	q.opened++
	return true
}

// nextFull finds the first bucket after cur that holds events.
func (q *queue) nextFull() (int64, bool) {
	from := (q.cur + 1) % wheel
	word := q.full[from/64] &^ (1<<(from%64) - 1)
	for i := from / 64; ; {
		if word != 0 {
			at := i*64 + int64(bits.TrailingZeros64(word))
			return q.cur + 1 + (at-from+wheel)%wheel, true
		}
		i = (i + 1) % (wheel / 64)
		word = q.full[i]
		if i == from/64 { // round: of the first word, what comes before from
			if word &= 1<<(from%64) - 1; word == 0 {
				return 0, false
			}
		}
	}
}

func inOrder(list []event) {
	if len(list) > 24 {
		slices.SortFunc(list, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
		})
		return
	}
	for i := 1; i < len(list); i++ {
		e, j := list[i], i
		for ; j > 0 && e.before(list[j-1]); j-- {
			list[j] = list[j-1]
		}
		list[j] = e
	}
}

// tune makes buckets wider when many events are beyond the last, and else narrower when they hold many events. Events that are due
// at one moment, as those of links in step, are in one bucket however narrow it is.
func (q *queue) tune() {
	shift := q.shift
	switch {
	case q.farther > q.pushed/16 && q.taken < crowded*q.opened && shift < maxShift:
		shift++
		q.least = shift
	case q.taken > 6*q.opened && shift > q.least:
		shift--
	}
	q.taken, q.opened, q.pushed, q.farther = 0, 0, 0, 0
	if shift == q.shift {
		return
	}
	var all []event
	for i, list := range q.buckets {
		if i == int(q.cur%wheel) {
			list = list[q.head:]
		}
		all = append(all, list...)
		q.buckets[i] = q.buckets[i][:0]
	}
	all = append(all, q.far...)
	at := weft.Time(q.cur << q.shift)
	q.far, q.full, q.size = q.far[:0], [wheel / 64]uint64{}, 0
	q.shift, q.cur, q.head = shift, int64(at)>>shift, 0
	for _, e := range all {
		q.push(e)
	}
	q.pushed, q.farther = 0, 0
}

// pushFar and popFar keep the heap.
func (q *queue) pushFar(e event) {
	h := append(q.far, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
	q.far = h
}

func (q *queue) popFar() event {
	h := q.far
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	for i := 0; ; {
		least := 4*i + 1
		if least >= len(h) {
			if len(h) > 0 {
				h[i] = last
			}
			break
		}
		for c := least + 1; c < min(4*i+5, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(last) {
			h[i] = last
			break
		}
		h[i] = h[least]
		i = least
	}
	q.far = h
	return first
}
