package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// TapEnd is a sending end of a link: what it sends is heard.
type TapEnd struct {
	Node string
	Port weft.PortID
}

// Tapped is one frame that was sent.
type Tapped struct {
	From TapEnd
	Data []byte // the encoded frame, see DecodeFrame; owned by the receiver
}

// Tap hears the frames of links without taking part: they arrive where they are meant for all the
// same. It is for one goroutine.
type Tap struct {
	client *Client
	ends   map[TapEnd]bool // nil: all
	hellos []Tapped        // came with the one before
	subs   []*nats.Subscription
	queue  chan *nats.Msg // filled by nats.go, which drops when it is full; cap = the buffer of Tap
}

// Tap listens to what some ends send, or all when there are none. At most buffer frames (at least
// 1) wait for Next; further ones are lost to the tap, and counted by Lost. It returns when the
// broker knows of it; the error wraps reply.ErrDenied when that does not let us listen.
func (c *Client) Tap(ends []TapEnd, buffer int) (*Tap, error) {
	t := &Tap{client: c, queue: make(chan *nats.Msg, max(buffer, 1))}
	subjects := []string{allLinks(c.cfg.Fabric)}
	if len(ends) > 0 {
		subjects, t.ends = []string{allHellos(c.cfg.Fabric)}, make(map[TapEnd]bool)
		for _, e := range ends {
			if err := (Subject{Kind: SubjectLink, Fabric: c.cfg.Fabric, Node: e.Node, Port: e.Port}).Validate(); err != nil {
				return nil, err
			}
			subjects, t.ends[e] = append(subjects, anyShard(c.cfg.Fabric, e.Node, e.Port)), true
		}
	}
	before := c.conn.LastError()
	for _, subject := range subjects {
		sub, err := c.conn.ChanSubscribe(subject, t.queue)
		if err != nil {
			return nil, fmt.Errorf("bus: tap %s: %w", subject, errors.Join(c.conn.closedErr(err), t.Close()))
		}
		t.subs = append(t.subs, sub)
	}
	if err := c.conn.FlushTimeout(connectTimeout); err != nil { // a denial comes before its answer
		return nil, fmt.Errorf("bus: tap: the broker does not confirm it: %w", errors.Join(c.conn.closedErr(err), t.Close()))
	}
	// The library tells of a denial by a callback only, too late for who waits here.
	if err := c.conn.LastError(); err != before && err != nil && deniedSubscription(err) {
		return nil, errors.Join(fmt.Errorf("bus: tap: the broker lets %v not listen to %s: allow it to subscribe: %w",
			c.cfg.Credentials, deniedSubject(err), reply.ErrDenied), t.Close())
	}
	return t, nil
}

// Next waits for the next frame. The error wraps ErrClosed after Close of the client, and is that
// of ctx otherwise.
func (t *Tap) Next(ctx context.Context) (Tapped, error) {
	for {
		if len(t.hellos) > 0 {
			hello := t.hellos[0]
			t.hellos = t.hellos[1:]
			return hello, nil
		}
		select {
		case msg := <-t.queue:
			if prefix, ok := strings.CutSuffix(msg.Subject, string(anyHello)); ok {
				eachHello([]byte(prefix), msg.Data, t.takeHello)
				continue
			}
			s, err := ParseSubject(msg.Subject)
			if err != nil {
				continue // somebody with full rights publishes nonsense
			}
			return Tapped{TapEnd{s.Node, s.Port}, msg.Data}, nil
		case <-t.client.closedc:
			return Tapped{}, fmt.Errorf("bus: tap of fabric %q: %w", t.client.cfg.Fabric,
				t.client.conn.closedErr(nats.ErrConnectionClosed))
		case <-ctx.Done():
			return Tapped{}, ctx.Err()
		}
	}
}

// takeHello keeps a hello for Next if it is of an end that is tapped.
func (t *Tap) takeHello(subject, frame []byte) {
	s, err := ParseSubject(string(subject))
	if end := (TapEnd{s.Node, s.Port}); err == nil && (t.ends == nil || t.ends[end]) {
		t.hellos = append(t.hellos, Tapped{end, frame})
	}
}

// Waiting is how many frames wait for Next.
func (t *Tap) Waiting() int { return len(t.queue) }

// Lost is how many frames found the buffer full.
func (t *Tap) Lost() (lost uint64) {
	for _, sub := range t.subs {
		if n, err := sub.Dropped(); err == nil {
			lost += uint64(max(n, 0))
		}
	}
	return lost
}

// Breaks is how often the connection was lost and came back: what was sent meanwhile was not heard.
func (t *Tap) Breaks() uint64 { return t.client.conn.Stats().Reconnects }

// Close ends the tap.
func (t *Tap) Close() (err error) {
	for _, sub := range t.subs {
		err = errors.Join(err, t.client.conn.closedErr(sub.Unsubscribe()))
	}
	return err
}
