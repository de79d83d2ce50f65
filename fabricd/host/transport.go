package host

import (
	"sync"

	"github.com/weft-fabric/weft/switch/wire"
)

// TransportEvents is a list of transport events that wait to be acted on, for the transport must
// not wait. The list has no bound: each kind of event is rare, comes in pairs, or comes when its
// count is a power of two.
type TransportEvents struct {
	News chan struct{} // capacity 1: there are some

	mu   sync.Mutex
	list []wire.Event // guarded by mu
}

// NewTransportEvents returns an empty list.
func NewTransportEvents() *TransportEvents { return &TransportEvents{News: make(chan struct{}, 1)} }

// Add appends an event, for wire.Transport.Watch.
func (t *TransportEvents) Add(e wire.Event) {
	t.mu.Lock()
	t.list = append(t.list, e)
	t.mu.Unlock()
	select {
	case t.News <- struct{}{}:
	default:
	}
}

// Take empties the list and returns it.
func (t *TransportEvents) Take() []wire.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.list
	t.list = nil
	return list
}
