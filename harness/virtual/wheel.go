package virtual

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
)

// wheel holds events that come in any order: in buckets what is soon, in a heap what is not. A
// bucket is put in order only when its turn comes. The width of buckets follows the density of
// events, which changes how fast the wheel is and never the order.
type wheel struct {
	bound   weft.Time // the first event is due then, if the bucket whose turn it is holds one, and otherwise not before; Never: there is none
	shift   uint      // a bucket is 1<<shift picoseconds wide
	least   uint      // what shift must not go below: with narrower buckets too many events were beyond the last
	cur     int64     // the bucket whose turn it is, numbered from time 0
	head    int       // of open, the next event
	open    []event   // the bucket whose turn it is, in order
	buckets [][]event
	full    [buckets / 64]uint64 // those after cur that hold events
	spare   [][]event            // storage of buckets that hold none, the latest used last
	far     []event              // heap: events at bucket cur+buckets or later

	taken, opened, pushed, farther int // since the width was looked at
}

const (
	buckets    = 1 << 12
	firstShift = 12      // about 4 ns, right for 64 NICs on links of 2 Gb/s
	maxShift   = 40      // about a second
	crowded    = 64      // events of a bucket above which it gets no wider
	lookEvery  = 1 << 14 // events
)

func newWheel() wheel {
	return wheel{bound: weft.Never, shift: firstShift, buckets: make([][]event, buckets)}
}

func (w *wheel) push(e event) {
	w.pushed++
	b := int64(e.at) >> w.shift
	switch {
	case b <= w.cur:
		list := append(w.open, e)
		i := len(list) - 1
		for ; i > w.head && e.before(list[i-1]); i-- {
			list[i] = list[i-1]
		}
		list[i] = e
		w.open, w.bound = list, list[w.head].at
		return
	case b < w.cur+buckets:
		w.put(b, e)
	default:
		w.farther++
		w.pushFar(e)
	}
	w.bound = min(w.bound, weft.Time(b<<w.shift))
}

func (w *wheel) put(b int64, e event) {
	i := b % buckets
	list := w.buckets[i]
	if n := len(w.spare); list == nil && n > 0 {
		list, w.spare = w.spare[n-1], w.spare[:n-1]
	}
	w.buckets[i] = append(list, e)
	w.full[i/64] |= 1 << (i % 64)
}

// find makes the bound exact, if the first event may be due at limit or before. It reports whether
// it is.
func (w *wheel) find(limit weft.Time) bool {
	if w.head == len(w.open) {
		b, ok := w.nextFull()
		if len(w.far) > 0 {
			if f := int64(w.far[0].at) >> w.shift; !ok || f < b {
				b, ok = f, true
			}
		}
		switch begin := weft.Time(b << w.shift); {
		case !ok:
			w.bound = weft.Never
			return false
		case begin > limit:
			w.bound = begin
			return false
		}
		w.turn(b)
	}
	return w.bound <= limit
}

// first is the first event. find has found it.
func (w *wheel) first() event { return w.open[w.head] }

// take takes the first event. find has found it.
func (w *wheel) take() event {
	e := w.open[w.head]
	w.head++
	w.bound = e.at // what is left is not due before
	if w.head < len(w.open) {
		w.bound = w.open[w.head].at
	}
	if w.taken++; w.taken == lookEvery {
		w.tune()
	}
	return e
}

// turn goes on to bucket b, the first that holds events.
func (w *wheel) turn(b int64) {
	w.cur, w.head = b, 0
	for len(w.far) > 0 && int64(w.far[0].at)>>w.shift < b+buckets {
		e := w.popFar()
		w.put(int64(e.at)>>w.shift, e)
	}
	i := b % buckets
	w.full[i/64] &^= 1 << (i % 64)
	w.spare = append(w.spare, w.open[:0])
	w.open, w.buckets[i] = w.buckets[i], nil
	inOrder(w.open)
	w.bound = w.open[0].at
	w.opened++
}

// nextFull finds the first bucket after cur that holds events.
func (w *wheel) nextFull() (int64, bool) {
	from := (w.cur + 1) % buckets
	word := w.full[from/64] &^ (1<<(from%64) - 1)
	for i := from / 64; ; {
		if word != 0 {
			at := i*64 + int64(bits.TrailingZeros64(word))
			return w.cur + 1 + (at-from+buckets)%buckets, true
		}
		i = (i + 1) % (buckets / 64)
		word = w.full[i]
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

// tune makes buckets wider when many events are beyond the last, and else narrower when they hold
// many events. Events that are due at one moment, as those of links in step, are in one bucket
// however narrow it is.
func (w *wheel) tune() {
	shift := w.shift
	switch {
	case w.farther > w.pushed/16 && w.taken < crowded*w.opened && shift < maxShift:
		shift++
		w.least = shift
	case w.taken > 6*w.opened && shift > w.least:
		shift--
	}
	w.taken, w.opened, w.pushed, w.farther = 0, 0, 0, 0
	if shift == w.shift {
		return
	}
	all := slices.Clone(w.open[w.head:])
	for i, list := range w.buckets {
		if list != nil {
			all = append(all, list...)
			w.spare, w.buckets[i] = append(w.spare, list[:0]), nil
		}
	}
	all = append(all, w.far...)
	at := w.cur << w.shift
	w.far, w.full = w.far[:0], [buckets / 64]uint64{}
	w.shift, w.cur, w.head, w.open, w.bound = shift, at>>shift, 0, w.open[:0], weft.Never
	for _, e := range all {
		w.push(e)
	}
	w.pushed, w.farther = 0, 0
}

// pushFar and popFar keep the heap.
func (w *wheel) pushFar(e event) {
	h := append(w.far, e)
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
	w.far = h
}

func (w *wheel) popFar() event {
	h := w.far
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
	w.far = h
	return first
}
