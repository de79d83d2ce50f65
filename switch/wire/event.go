package wire

import "fmt"

// EventKind names what happened to a transport.
type EventKind uint8

// The kinds of Event. The zero value is none.
const (
	EventSlowConsumer EventKind = iota + 1 // the client library dropped frames: a bug that must fail the run
	EventDisconnected                      // a connection was lost; frames are lost until EventReconnected of this shard
	EventReconnected                       // it is back, and all subscriptions are in force
	EventConnError                         // any other error of a connection
	EventUnknown                           // a frame arrived on a subject nobody listens to
	EventFull                              // a frame arrived and found the inbox full
	EventTooLarge                          // the broker takes no frame of this size: it is lost
	EventUnauthorized                      // the broker refuses the credentials, or a subject to them
)

// String prints the kind as logs do.
func (k EventKind) String() string {
	switch k {
	case EventSlowConsumer:
		return "slow consumer"
	case EventDisconnected:
		return "disconnected"
	case EventReconnected:
		return "reconnected"
	case EventConnError:
		return "connection error"
	case EventUnknown:
		return "frame on an unknown subject"
	case EventFull:
		return "inbox full"
	case EventTooLarge:
		return "frame too large"
	case EventUnauthorized:
		return "not authorized"
	}
	return "no event"
}

// Event is something that should not happen to a transport. Those that can come with every frame or
// every try to connect are reported when their count is a power of two, so that they cannot flood a
// log.
type Event struct {
	Kind    EventKind
	Shard   int
	Subject string // of the frame or subscription, where there is one
	// Count is how many of this kind there were, this one included: on this link for EventFull, in
	// this shard for others.
	Count uint64
	Err   error // what, what happens next and what to do; nil for EventReconnected
}

// String prints the event on one line.
func (e Event) String() string {
	s := fmt.Sprintf("connection %d: %v", e.Shard, e.Kind)
	if e.Subject != "" {
		s += " " + e.Subject
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}
