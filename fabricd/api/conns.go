package api

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// conns accepts connections and holds maxConns of them. When one more comes, a connection on which
// no request is answered makes room: of those that never had a request the oldest, else the one
// that is idle for longest. So whoever opens connections and sends nothing, or sends it slowly,
// loses those and keeps nobody out.
type conns struct {
	net.Listener

	mu   sync.Mutex
	open map[*conn]struct{} // guarded by mu
}

// conn is one that was accepted. All but the Conn is guarded by the mutex of its conns.
type conn struct {
	net.Conn
	of     *conns
	since  time.Time // when it was accepted, or its last request was answered
	served bool      // it had a request
	busy   bool      // and has one now
}

// makeRoomTime is how long a connection may have no request before it has to make room. Chosen by
// us: longer than a request takes to come on a busy machine, and than the half second for which
// net/http holds connections that it has answered and closes.
const makeRoomTime = time.Second

// Accept implements [net.Listener].
func (c *conns) Accept() (net.Conn, error) {
	raw, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &conn{Conn: raw, of: c, since: time.Now()}
	for {
		wait, last := c.admit(one)
		if last != nil {
			_ = last.Close()
		}
		if wait <= 0 {
			return one, nil
		}
		time.Sleep(wait) // others wait in the kernel
	}
}

// admit adds a connection, and returns the one that has to go for it, if any; else how long to wait
// before it is tried again.
func (c *conns) admit(one *conn) (wait time.Duration, last *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= maxConns {
		for other := range c.open {
			if !other.busy && (last == nil || other.before(last)) {
				last = other
			}
		}
		if last == nil {
			return makeRoomTime, nil
		}
		if wait := makeRoomTime - time.Since(last.since); wait > 0 {
			return wait, nil
		}
		delete(c.open, last)
	}
	if c.open == nil {
		c.open = map[*conn]struct{}{}
	}
	c.open[one] = struct{}{}
	return 0, last
}

// before reports whether c goes before other does.
func (c *conn) before(other *conn) bool {
	if c.served != other.served {
		return !c.served
	}
	return c.since.Before(other.since)
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func (c *conn) busyIs(busy bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.busy, c.served, c.since = busy, true, time.Now()
}

type connKey struct{}

// withConn has requests know their connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// withBusyConn keeps the connection of a request while it is answered.
func withBusyConn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			c.busyIs(true)
			defer c.busyIs(false)
		}
		next.ServeHTTP(out, r)
	})
}
