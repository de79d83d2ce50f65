package bus

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/switch/wire"
)

// refusedTime is how long a broker that does not take our credentials is tried. Chosen by us:
// servers ask each other for accounts they have missed once a minute.
const refusedTime = 2 * time.Minute

// refusals is what a broker has said against our credentials since it has taken them last. The zero
// value but for creds and where is none.
type refusals struct {
	creds Credentials
	where string // the broker

	mu      sync.Mutex
	since   time.Time // guarded by mu: the first; zero: none
	revoked string    // guarded by mu: the key that it has revoked
	why     error     // guarded by mu: that it is not tried again; nil: it is
}

// heard takes what the broker has said, and reports whether it is to be tried again no more. A file
// of credentials may hold others meanwhile.
func (r *refusals) heard(err error, now time.Time) (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || !unauthorized(err) || errors.Is(err, nats.ErrPermissionViolation) || r.why != nil {
		return r.why != nil
	}
	if r.since.IsZero() {
		r.since = now
	}
	key := r.creds.key()
	if errors.Is(err, nats.ErrAuthRevoked) {
		r.revoked = key
	}
	switch after := now.Sub(r.since); {
	case key != "" && key == r.revoked:
		r.why = fmt.Errorf("%s has revoked the key %s of %v: %w: ask who keeps the keys of the fabric for others, which "+
			"fabricd auth rotate makes",
			r.where, key, r.creds, reply.ErrNoAccess)
	case after >= refusedTime:
		r.why = fmt.Errorf("%s has refused %s for %v: %w: take the newest that fabricd auth has made, and start again",
			r.where, r.creds.withKey(), after.Round(time.Second), reply.ErrNoAccess)
	}
	return r.why != nil
}

// taken says that the broker has let us in.
func (r *refusals) taken() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = time.Time{}
}

// gone is why the broker is not tried again, nil if it is or we have closed the connection.
func (r *refusals) gone() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

// closedErr translates the client library's word for a closed connection into ours.
func (r *refusals) closedErr(err error) error {
	if errors.Is(err, nats.ErrConnectionClosed) {
		if why := r.gone(); why != nil {
			return why
		}
		return wire.ErrClosed
	}
	return err
}

// watch has a connection end when it is tried again no more. It is the last option.
func (r *refusals) watch(o *nats.Options) error {
	onError, back := o.AsyncErrorCB, o.ReconnectedCB
	o.AsyncErrorCB = func(c *nats.Conn, s *nats.Subscription, err error) {
		if r.heard(err, time.Now()) {
			c.Close()
		}
		if onError != nil {
			onError(c, s, err)
		}
	}
	o.ReconnectedCB = func(c *nats.Conn) {
		r.taken()
		if back != nil {
			back(c)
		}
	}
	return nil
}
