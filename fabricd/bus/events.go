package bus

import (
	"errors"
	"math/bits"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/weft-fabric/weft/switch/wire"
)

var (
	errUnknown = errors.New("no link of this process has this subject; if another process of the fabric does, it must " +
		"be said with Unlisten")
	errFull = errors.New("more frames than the credits of the link allow: a stranger sends on it, or its inbox is too " +
		"small")
)

// rare returns e when its count is a power of two, and nothing otherwise.
func rare(e wire.Event) wire.Event {
	if bits.OnesCount64(e.Count) == 1 {
		return e
	}
	return wire.Event{}
}

// unauthorized reports whether the broker said err because of the credentials.
func unauthorized(err error) bool {
	for _, known := range []error{
		nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired,
		nats.ErrPermissionViolation,
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

// deniedSubject is the subject that a permission violation names, "" if there is none. The server
// says `Permissions Violation for Publish to "x"`.
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

// aboutTLS reports whether a handshake failed; the standard library says "tls: ..." and nats.go
// "nats: tls error".
func aboutTLS(err error) bool {
	return strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "tls error")
}
