package link

import (
	"iter"

	"github.com/weft-fabric/weft"
)

// Flight is a frame on a link, or one to be used again. It is on one line at most.
type Flight[T any] struct {
	due   weft.Time
	next  *Flight[T] // on the line, behind it
	Frame T
}

// Line holds the frames on a link with delay, in order. Bound: what the credits of the link allow
// in flight. The zero value is empty.
type Line[T any] struct{ first, last *Flight[T] }

// Empty reports whether nothing is on its way.
func (l *Line[T]) Empty() bool { return l.first == nil }

// Due is when the first frame arrives. There must be one.
func (l *Line[T]) Due() weft.Time { return l.first.due }

// First is the first frame, or nil.
func (l *Line[T]) First() *T {
	if l.first == nil {
		return nil
	}
	return &l.first.Frame
}

// All are the frames, in order.
func (l *Line[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for f := l.first; f != nil && yield(&f.Frame); f = f.next {
		}
	}
}

// Push appends a frame that is due at a time, or with the one in front of it if that is later. It
// reports whether it is the first.
func (l *Line[T]) Push(f *Flight[T], due weft.Time) (first bool) {
	f.due, f.next = due, nil
	if first = l.first == nil; first {
		l.first = f
	} else {
		f.due = max(due, l.last.due)
		l.last.next = f
	}
	l.last = f
	return first
}

// Pop takes the first frame. There must be one.
func (l *Line[T]) Pop() *Flight[T] {
	f := l.first
	if l.first = f.next; l.first == nil {
		l.last = nil
	}
	f.next = nil // nobody keeps a frame that is on no line
	return f
}

// shift moves the frames due at from or later by so much, but none before its predecessor. It
// returns when the last is due; 0 when there is none.
func (l *Line[T]) shift(from, by weft.Time) (last weft.Time) {
	for f := l.first; f != nil; f = f.next {
		if f.due >= from {
			f.due = max(last, f.due+by)
		}
		last = f.due
	}
	return last
}

// hasten lets frames be due at this time or earlier.
func (l *Line[T]) hasten(due weft.Time) {
	for f := l.first; f != nil; f = f.next {
		f.due = min(f.due, due)
	}
}
