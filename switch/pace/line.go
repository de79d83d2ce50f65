package pace

import (
	"iter"

	"github.com/gammazero/deque"

	"github.com/weft-fabric/weft"
)

// Delayed is what a Pacer moves when its pace changes: the frames on their way.
type Delayed interface {
	// Shift moves the frames due at from or later by so much, but none before its predecessor. It returns when the last is due;
	// 0 when there is none.
	Shift(from, by weft.Time) (last weft.Time)
	// Hasten lets frames be due at this time or earlier.
	Hasten(due weft.Time)
}

// Line holds the frames on a link with delay, in order. Bound: what the credits of the link allow in flight.
type Line[T any] struct{ frames deque.Deque[flying[T]] }

type flying[T any] struct {
	frame T
	due   weft.Time
}

// Empty reports whether nothing is on its way.
func (l *Line[T]) Empty() bool { return l.frames.Len() == 0 }

// Due is when the first frame arrives. There must be one.
func (l *Line[T]) Due() weft.Time { return l.frames.Front().due }

// Last is when the last frame arrives. There must be one.
func (l *Line[T]) Last() weft.Time { return l.frames.Back().due }

// All are the frames, in order.
func (l *Line[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range l.frames.Len() {
			if !yield(l.frames.At(i).frame) {
				return
			}
		}
	}
}

// Push appends a frame. It must not be due before the one in front of it.
func (l *Line[T]) Push(frame T, due weft.Time) { l.frames.PushBack(flying[T]{frame, due}) }

// Pop takes the first frame. There must be one.
func (l *Line[T]) Pop() T { return l.frames.PopFront().frame }

// Shift implements [Delayed].
func (l *Line[T]) Shift(from, by weft.Time) (last weft.Time) {
	for i := range l.frames.Len() {
		f := l.frames.At(i)
		if f.due >= from {
			f.due = max(last, f.due+by)
			l.frames.Set(i, f)
		}
		last = f.due
	}
	return last
}

// Hasten implements [Delayed].
func (l *Line[T]) Hasten(due weft.Time) {
	for i := range l.frames.Len() {
		if f := l.frames.At(i); f.due > due {
			f.due = due
			l.frames.Set(i, f)
		}
	}
}
