package virtual

import "github.com/weft-fabric/weft"

// flight is a frame on a wire, or one to be used again.
type flight struct {
	room  [1]weft.Header // of its first packet
	due   weft.Time      // when it arrives
	next  *flight        // on the wire, behind it
	frame weft.Frame
}

// newFlight returns a frame whose first packet lies beside it.
func newFlight() *flight {
	f := new(flight)
	f.frame.Packets = f.room[:0]
	return f
}

// line is the frames on a wire, in order. Bound: what the credits of the link allow. It implements [pace.Delayed].
type line struct{ first, last *flight }

// push appends a frame. It must not be due before the last.
func (l *line) push(f *flight) {
	f.next = nil
	if l.first == nil {
		l.first = f
	} else {
		l.last.next = f
	}
	l.last = f
}

// pop takes the first frame. There must be one.
func (l *line) pop() *flight {
	f := l.first
	l.first = f.next
	return f
}

// Shift implements [pace.Delayed].
func (l *line) Shift(from, by weft.Time) (last weft.Time) {
	for f := l.first; f != nil; f = f.next {
		if f.due >= from {
			f.due = max(last, f.due+by)
		}
		last = f.due
	}
	return last
}

// Hasten implements [pace.Delayed].
func (l *line) Hasten(due weft.Time) {
	for f := l.first; f != nil; f = f.next {
		f.due = min(f.due, due)
	}
}
