package part

import (
	"sync"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Troubles are events of a transport that wait for whoever acts on them. The transport must not be held up, and each of its
// events is rare, comes in pairs, or comes when its count is a power of two, so the list has no bound of its own.
type Troubles struct {
	News chan struct{} // capacity 1: there are some

	mu   sync.Mutex
	list []bus.Event // guarded by mu
}

// NewTroubles returns an empty list.
func NewTroubles() *Troubles { return &Troubles{News: make(chan struct{}, 1)} }

// Add implements what bus.Transport.Watch wants.
func (t *Troubles) Add(e bus.Event) {
	t.mu.Lock()
	t.list = append(t.list, e)
	t.mu.Unlock()
	select {
	case t.News <- struct{}{}:
	default:
	}
}

// Take empties the list.
func (t *Troubles) Take() []bus.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.list
	t.list = nil
	return list
}
