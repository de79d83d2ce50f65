package host

import (
	"sync"

	"github.com/weft-fabric/weft/switch/wire"
)

// TransportEvents are events of a transport that wait for whoever acts on them. The transport must
// not be held up, and each of its events is rare, comes in pairs, or comes when its count is a
// power of two, so the list has no bound of its own.
type TransportEvents struct {
	News chan struct{} // capacity 1: there are some

	mu   sync.Mutex
	list []wire.Event // guarded by mu
}

// NewTransportEvents returns an empty list.
func NewTransportEvents() *TransportEvents { return &TransportEvents{News: make(chan struct{}, 1)} }

// Add implements what wire.Transport.Watch wants.
func (t *TransportEvents) Add(e wire.Event) {
	t.mu.Lock()
	t.list = append(t.list, e)
	t.mu.Unlock()
	select {
	case t.News <- struct{}{}:
	default:
	}
}

// Take empties the list.
func (t *TransportEvents) Take() []wire.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.list
	t.list = nil
	return list
}
