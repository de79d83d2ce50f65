package bus

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Notice is one event of the fabric.
type Notice struct {
	Kind string
	Data json.RawMessage // owned by the receiver
}

// Events is a stream of events. It is for one goroutine.
type Events struct {
	client *Client
	sub    *nats.Subscription
	queue  chan *nats.Msg // filled by nats.go, which drops when it is full; cap = the buffer of Subscribe
}

// Subscribe listens to one kind of event, or to all when kind is empty. At most buffer of them (at
// least 1) wait for Next; further ones are lost, and counted by Lost. It returns when the broker
// knows of it.
func (c *Client) Subscribe(kind string, buffer int) (*Events, error) {
	subject := allEvents(c.cfg.Fabric)
	if kind != "" {
		s := Subject{Kind: SubjectEvent, Fabric: c.cfg.Fabric, Verb: kind}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		subject = s.String()
	}
	e := &Events{client: c, queue: make(chan *nats.Msg, max(buffer, 1))}
	var err error
	if e.sub, err = c.conn.ChanSubscribe(subject, e.queue); err == nil {
		err = c.conn.FlushTimeout(connectTimeout)
	}
	if err != nil {
		return nil, fmt.Errorf("bus: subscribe to events %s: %w", subject, c.conn.closedErr(err))
	}
	return e, nil
}

// Next waits for the next event. The error wraps reply.ErrEnded once the fabric has ended and no
// event is left, wire.ErrClosed after Close of the client, reply.ErrNoAccess when the broker lets
// us in no more, and is that of ctx otherwise.
func (e *Events) Next(ctx context.Context) (Notice, error) {
	ended := e.client.ended
	for {
		if e.client.Ended() && len(e.queue) == 0 {
			return Notice{}, reply.ErrEnded
		}
		select {
		case msg := <-e.queue:
			s, err := ParseSubject(msg.Subject)
			if err != nil {
				continue // somebody with full rights publishes nonsense; it is no event
			}
			return Notice{s.Verb, plain.JSON(msg.Data)}, nil
		case <-ended:
			ended = nil // what is left comes first
		case <-e.client.closedc:
			return Notice{}, fmt.Errorf("bus: events of fabric %q: %w", e.client.cfg.Fabric,
				e.client.conn.closedErr(nats.ErrConnectionClosed))
		case <-ctx.Done():
			return Notice{}, ctx.Err()
		}
	}
}

// Close ends the stream.
func (e *Events) Close() error { return e.client.conn.closedErr(e.sub.Unsubscribe()) }
