package bus

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/nats-io/nats.go"
)

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

// Event is something that should not happen to a transport. Those that can come with every frame or every try to connect
// are reported when their count is a power of two, so that they cannot flood a log.
type Event struct {
	Kind    EventKind
	Shard   int
	Subject string // of the frame or subscription, where there is one
	// Count is how many of this kind there were, this one included: on this link for EventFull, in this shard for others.
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

var (
	errUnknown = errors.New("no link of this process has this subject; if another process of the fabric does, it must be said with Unlisten")
	errFull    = errors.New("more frames than the credits of the link allow: a stranger sends on it, or its inbox is too small")
)

// rare returns e when its count is a power of two, and nothing otherwise.
func rare(e Event) Event {
	if bits.OnesCount64(e.Count) == 1 {
		return e
	}
	return Event{}
}

// unauthorized reports whether the broker said err because of the credentials.
func unauthorized(err error) bool {
	for _, known := range []error{
		nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired, nats.ErrPermissionViolation,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	// While connecting, the answer comes as the server put it.
	said := strings.ToLower(err.Error())
	return strings.Contains(said, "authorization") || strings.Contains(said, "authentication")
}

// tooLarge reports whether the broker has ended a connection over the size of a message.
func tooLarge(err error) bool {
	return errors.Is(err, nats.ErrMaxPayload) || strings.Contains(strings.ToLower(err.Error()), "maximum payload")
}

// deniedSubject is the subject that a permission violation names, "" if there is none. The server says
// `Permissions Violation for Publish to "x"`.
func deniedSubject(err error) string {
	_, rest, ok := strings.Cut(err.Error(), ` to "`)
	if !ok {
		return ""
	}
	subject, _, _ := strings.Cut(rest, `"`)
	return subject
}

// deniedSubscription reports whether err says that the broker does not let us listen.
func deniedSubscription(err error) bool {
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `Subscription to "`)
}

// aboutTLS reports whether a handshake failed; the standard library says "tls: ..." and nats.go "nats: tls error".
func aboutTLS(err error) bool {
	return strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "tls error")
}
