package fabric

import (
	"context"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// Kinds of event. Faults have their verbs as kinds: cut, flap, impair, crash.
const (
	EventLinkDown      = "link_down"         // one end has lost the link
	EventLinkUp        = "link_up"           // one end has the link back
	EventRestore       = leader.EventRestore // a link was repaired; both ends have seen it
	EventRestart       = leader.EventRestart // a switch was started again
	EventReport        = leader.EventReport  // the report of a fault is complete
	EventProtocolFault = "protocol_fault"    // a frame broke the link protocol and was refused
	// a frame did not arrive as it was sent, or was for another link: its packets are lost on the wire
	EventDamaged      = "frame_damaged"
	EventDeadlock     = "deadlock"             // packets wait for each other for ever
	EventDeadlockOver = "deadlock_over"        // they do no longer
	EventWaiting      = "waiting"              // a packet has waited for a second or more in a switch
	EventWaitingOver  = "waiting_over"         // none does any more
	EventTimeFactor   = leader.EventTimeFactor // the clocks of the fabric go otherwise
	EventTraffic      = leader.EventTraffic    // what is injected has changed
	EventHeld         = leader.EventHeld       // NICs inject nothing
	EventResumed      = leader.EventResumed    // they do again

	EventBrokerLost     = leader.EventBrokerLost // a connection to the broker is gone, and its links with it
	EventBrokerBack     = "broker_back"          // it is back, and its links
	EventBrokerError    = "broker_error"         // any other error of a connection
	EventUnauthorized   = "authorization_lost"   // the broker refuses our credentials
	EventTooLarge       = "message_too_large"    // the broker takes no frame of this size
	EventSlowConsumer   = "slow_consumer"        // the client library dropped frames
	EventUnknownSubject = "stranger"             // a frame on a subject that is none of our links
	EventInboxFull      = "inbox_full"           // more frames than the credits allow: a stranger sends on a link
)

// KindBroker is the kind of the report of a lost connection to the broker.
const KindBroker = fault.KindBroker

// Event is one thing that happened. Events are numbered from 1 without gaps.
type Event struct {
	Seq    uint64        `json:"seq"`
	At     float64       `json:"at"` // seconds since the fabric started
	Kind   string        `json:"kind"`
	Link   string        `json:"link,omitempty"`
	Switch string        `json:"switch,omitempty"`
	Node   string        `json:"node,omitempty"` // whose view it is
	Port   *int          `json:"port,omitempty"`
	Detail string        `json:"detail,omitempty"`
	Fault  *fault.Report `json:"fault,omitempty"`
	// it stands for so many of its source, itself and those held back before it; 0: for itself
	Count  uint64 `json:"count,omitempty"`
	Missed uint64 `json:"missed,omitempty"` // events before this one that the follower was too slow for
}

// hubSize is how many events are kept for followers.
const hubSize = 4096

// Hub keeps the latest events for any number of followers. Publishing never waits for a follower.
// One that falls behind by more than hubSize events is told how many it missed.
type Hub struct {
	mu     sync.Mutex
	ring   []Event // guarded by mu; event n is at (n-1-before) % hubSize
	last   uint64  // guarded by mu: number of the latest event
	before uint64  // guarded by mu: events of the leader before
	news   broadcast
}

// NewHub returns an empty hub.
func NewHub() *Hub {
	h := &Hub{ring: make([]Event, 0, 64)}
	h.news.init()
	return h
}

// Publish numbers e and keeps it.
func (h *Hub) Publish(now weft.Time, e Event) {
	h.mu.Lock()
	h.last++
	e.Seq, e.At = h.last, now.Duration().Seconds()
	if len(h.ring) < hubSize {
		h.ring = append(h.ring, e)
	} else {
		h.ring[(e.Seq-1-h.before)%hubSize] = e
	}
	h.mu.Unlock()
	h.news.notify()
}

// resume makes numbers go on after seq. Call it before anything is published.
func (h *Hub) resume(seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.before = seq, seq
}

// Last is the number of the latest event, 0 before the first.
func (h *Hub) Last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// News returns a channel that the next event closes.
func (h *Hub) News() <-chan struct{} { return h.news.wait() }

// After returns the event that follows number seq, and waits for it if there is none yet. If that
// event has been dropped, After returns the oldest one kept, with Missed set.
func (h *Hub) After(ctx context.Context, seq uint64) (Event, error) {
	for {
		news := h.news.wait()
		h.mu.Lock()
		if h.last > seq && len(h.ring) > 0 { // numbers that go on have events that nobody here keeps
			next := seq + 1
			oldest := h.last - uint64(len(h.ring)) + 1
			var missed uint64
			if next < oldest {
				missed, next = oldest-next, oldest
			}
			e := h.ring[(next-1-h.before)%hubSize]
			h.mu.Unlock()
			e.Missed = missed
			return e, nil
		}
		h.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// Since returns the events after number seq that the ring still holds, oldest first.
func (h *Hub) Since(seq uint64) []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	events := []Event{}
	for next := max(seq, h.last-uint64(len(h.ring))) + 1; next <= h.last; next++ {
		events = append(events, h.ring[(next-1-h.before)%hubSize])
	}
	return events
}

// broadcast wakes all who wait.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{} // guarded by mu; closed by notify
}

func (b *broadcast) init() { b.ch = make(chan struct{}) }

// wait returns a channel that the next notify closes.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ch
}

func (b *broadcast) notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ch)
	b.ch = make(chan struct{})
}
