package fabric

import (
	"sync"
	"sync/atomic"
)

// shared is what several goroutines change and read: a leader's state, and its ledger. Readers get
// a snapshot S of it, which never changes and so holds nobody up. A change only says that the
// snapshot is of the past; who asks first publishes the next, so that what nobody looks at is not
// copied.
type shared[T, S any] struct {
	// mu is a leaf: it is held for a step or a look, and for no call to anybody. That of a state is
	// taken after that of its ledger.
	mu       sync.Mutex
	value    *T // guarded by mu
	see      func(*T) *S
	snapshot atomic.Pointer[S] // nil: value has changed since
}

// read calls do with the value, which do neither keeps nor changes.
func (s *shared[T, S]) read(do func(*T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.value)
}

// change calls do, which changes the value and does not keep it.
func (s *shared[T, S]) change(do func(*T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.value)
	s.snapshot.Store(nil)
}

// seen is the snapshot of the value as it is now. Who gets it does not change it.
func (s *shared[T, S]) seen() *S {
	if now := s.snapshot.Load(); now != nil {
		return now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.snapshot.Load()
	if now == nil {
		now = s.see(s.value)
		s.snapshot.Store(now)
	}
	return now
}
