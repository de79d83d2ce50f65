package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/weft-fabric/weft/switch/wire"
)

// How a connection to a broker in another process is watched. Chosen by us: a broker that a loaded
// machine starves for a second is not lost, one that hangs is within seconds.
const (
	pingEvery    = 2 * time.Second
	pingsLost    = 2               // unanswered, before the connection counts as lost at the next
	writeTimeout = 3 * time.Second // without a byte taken by a broker whose buffers are full; Send waits no longer
	closeTimeout = 500 * time.Millisecond

	reconnectWait   = 100 * time.Millisecond // before each try
	reconnectJitter = 20 * time.Millisecond  // at most, on top, so that shards do not try in step
)

// connection is one connection of a shard, from connect to loss. It does not reconnect: the client
// library's own way gives up for ever on some answers of a server, such as that to a message too
// large, and lets frames out before the subscriptions are known to be in force. The shard makes a
// new one instead.
type connection struct {
	conn    *conn
	closed  chan struct{} // closed by nats.go when it has told all it had to tell
	ctx     context.Context
	timeout time.Duration            // to connect
	sock    atomic.Pointer[net.Conn] // below conn; nil within one process
	direct  *direct                  // below conn; nil unless within one process
	why     atomic.Pointer[error]    // that we gave it up, before conn knew
}

// dial opens a connection to the broker.
func (s *shard) dial(urls string) (*connection, error) {
	w := &connection{closed: make(chan struct{}), ctx: s.ctx, timeout: cmp.Or(s.cfg.Credentials.Timeout, connectTimeout)}
	opts := []nats.Option{
		nats.Name(fmt.Sprintf("%s-fabric-%s-%d", root, s.cfg.Fabric, s.number)),
		nats.SkipSubjectValidation(), // subjects are built by this package
		nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { s.asyncError(w, sub, err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(w.closed) }),
	}
	if s.cfg.Broker != nil {
		opts = append(opts, nats.InProcessServer(directly{inProcess{s.cfg.Broker}, s, w}))
	} else {
		opts = append(opts, nats.SetCustomDialer(w), nats.FlusherTimeout(0), // see batcher

			nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsLost))
	}
	conn, err := connect(s.cfg.Broker, urls, s.cfg.Credentials, opts)
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	w.conn = conn
	return w, nil
}

// Dial is called by nats.go. Connections end with the shard whatever they wait for, so that Close
// is quick while a broker hangs.
func (w *connection) Dial(network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: w.timeout}
	c, err := d.DialContext(w.ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.sock.Store(&c)
	context.AfterFunc(w.ctx, func() { _ = c.Close() })
	return newBatcher(c, writeTimeout), nil
}

// giveUp ends a connection that hangs. nats.go holds its lock while it writes, so it cannot be
// asked to.
func (w *connection) giveUp(why error) {
	w.why.CompareAndSwap(nil, &why)
	if c := w.sock.Load(); c != nil {
		_ = (*c).Close()
	}
}

// close ends the connection and waits for its last callback. What is buffered gets a moment to
// leave.
func (w *connection) close() {
	hangs := time.AfterFunc(closeTimeout, func() { w.giveUp(wire.ErrClosed) })
	defer hangs.Stop()
	w.conn.Close()
	<-w.closed
}

// cause is why the connection is gone.
func (w *connection) cause() error {
	if why := w.why.Load(); why != nil {
		return *why
	}
	if err := w.conn.LastError(); err != nil {
		return err
	}
	return errors.New("the broker closed it")
}

// supervise replaces connections that are lost, until close.
func (s *shard) supervise(w *connection) {
	defer close(s.supervised)
	for {
		<-w.closed
		s.current.Store(nil)
		s.unsubscribed()
		if s.closing() {
			return
		}
		overSize, before := s.reportLost(w), s.maxFrame()
		if w = s.reconnect(w); w == nil {
			return
		}
		// what the broker said at the end may have been lost with the rest
		if now := s.maxFrame(); now < before && !overSize {
			s.notify(wire.Event{
				Kind: wire.EventTooLarge, Shard: s.index, Count: s.oversized.Add(1),
				Err: fmt.Errorf("%s takes frames of %d bytes now, and took %d: larger ones are lost; send smaller batches, or "+
					"raise its max_payload to %d",
					s.where(), now, before, wire.MaxFrame),
			})
		}
		s.notify(wire.Event{Kind: wire.EventReconnected, Shard: s.index})
	}
}

// reportLost tells that and why w is gone, and reports whether that is over the size of a frame.
func (s *shard) reportLost(w *connection) (large bool) {
	err := w.cause()
	large = tooLarge(err)
	if large {
		s.notify(wire.Event{
			Kind: wire.EventTooLarge, Shard: s.index, Count: s.oversized.Add(1),
			Err: fmt.Errorf("the broker closed the connection over the size of a frame: its max_payload has been lowered; "+
				"raise it to %d bytes: %w", wire.MaxFrame, err),
		})
	}
	s.notify(wire.Event{
		Kind: wire.EventDisconnected, Shard: s.index, Count: s.losses.Add(1),
		Err: fmt.Errorf("%s: %w: frames are lost until it is back; it is tried every %v; see that the broker runs",
			s.where(), err, reconnectWait),
	})
	return large
}

// reconnect tries until there is a connection with all subscriptions in force, or the shard is
// closed or let in no more, which gives nil.
func (s *shard) reconnect(old *connection) *connection {
	urls := s.cfg.URL
	if more := old.conn.DiscoveredServers(); len(more) > 0 && s.cfg.Broker == nil {
		urls += "," + strings.Join(more, ",")
	}
	for {
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(reconnectWait + rand.N(reconnectJitter)):
		}
		w, err := s.open(urls)
		switch {
		case err == nil && s.closing():
			w.close()
			return nil
		case err == nil:
			return w
		case s.ctx.Err() == nil && s.refused.heard(err, time.Now()):
			s.notify(wire.Event{
				Kind: wire.EventUnauthorized, Shard: s.index, Count: s.unauthorized.Add(1),
				Err: s.refused.gone(),
			})
			return nil
		case s.ctx.Err() == nil:
			s.tellRefused(err)
		}
	}
}

// open dials and subscribes, and makes the connection that of the shard when the broker has
// confirmed it.
func (s *shard) open(urls string) (*connection, error) {
	w, err := s.dial(urls)
	if err != nil {
		return nil, err
	}
	if err := s.subscribeAll(w); err != nil {
		s.unsubscribed()
		w.close()
		return nil, err
	}
	s.refused.taken()
	s.limit.Store(w.conn.MaxPayload())
	s.current.Store(w)
	return w, nil
}

// tellRefused tells why it cannot reconnect, unless that is only that nobody answers, which is told
// already.
func (s *shard) tellRefused(err error) {
	var netErr net.Error
	switch {
	case unauthorized(err):
		s.notify(rare(wire.Event{
			Kind: wire.EventUnauthorized, Shard: s.index, Count: s.unauthorized.Add(1),
			Err: fmt.Errorf("%w: it is tried again every %v, give the broker back the user or start with other credentials",
				err, reconnectWait),
		}))
	case aboutTLS(err):
		s.notify(rare(wire.Event{Kind: wire.EventConnError, Shard: s.index, Count: s.connErrors.Add(1), Err: err}))
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.Is(err,
		context.DeadlineExceeded), errors.As(err, &netErr):
	default:
		s.notify(rare(wire.Event{Kind: wire.EventConnError, Shard: s.index, Count: s.connErrors.Add(1), Err: err}))
	}
}

// tellTooLarge tells that a frame of size bytes is more than the broker takes.
func (s *shard) tellTooLarge(subject string, size int) {
	s.notify(rare(wire.Event{
		Kind: wire.EventTooLarge, Shard: s.index, Subject: subject, Count: s.oversized.Add(1),
		Err: fmt.Errorf("a frame has %d bytes, %s takes %d: it is lost; send smaller batches, or raise the broker's "+
			"max_payload to %d",
			size, s.where(), s.limit.Load(), wire.MaxFrame),
	}))
}

// asyncError is called by nats.go.
func (s *shard) asyncError(w *connection, sub *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `to ""`) {
		return // a frame that met a cut at the broker, which maps it to no subject
	}
	if brokenPipe(err) {
		w.giveUp(err) // nats.go has thrown away what it could not write, and would go on after the gap
		return
	}
	s.refused.heard(err, time.Now())
	e := wire.Event{Kind: wire.EventConnError, Shard: s.index, Err: err}
	if sub != nil {
		e.Subject = sub.Subject
	}
	switch {
	case errors.Is(err, nats.ErrSlowConsumer):
		e.Kind, e.Count = wire.EventSlowConsumer, s.dropped.Add(1)
		s.notify(e)
		return
	case unauthorized(err):
		e.Kind, e.Count = wire.EventUnauthorized, s.unauthorized.Add(1)
		if e.Subject = deniedSubject(err); e.Subject == "" {
			e.Err = fmt.Errorf("%s withdraws %v: it is tried again, give it back or start with other credentials: %w",
				s.where(), s.cfg.Credentials, err)
		} else if deniedSubscription(err) {
			e.Err = fmt.Errorf("%s lets %v not listen here: nothing arrives; allow it to subscribe: %w", s.where(),
				s.cfg.Credentials, err)
		} else {
			e.Err = fmt.Errorf("%s lets %v not send here: the frame is lost; allow it to publish: %w", s.where(),
				s.cfg.Credentials, err)
		}
	default:
		e.Count = s.connErrors.Add(1)
	}
	s.notify(rare(e))
}

// brokenPipe reports whether err is of the socket, not of the broker.
func brokenPipe(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe)
}

// where names the broker.
func (s *shard) where() string {
	if s.cfg.Broker != nil {
		return "the embedded broker"
	}
	return "the broker at " + redact(s.cfg.URL)
}
