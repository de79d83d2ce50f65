package bus

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/weft-fabric/weft/switch/wire"
)

// maxEventBytes bounds what waits of one process, in bytes.
const maxEventBytes = 16 << 20

// ErrLost means that a process told more than was heard in time.
var ErrLost = errors.New("events lost: the host sends them faster than the leader reads them")

// hostEvents is the hearing half of a Client. Each process has a queue of its own, so that one
// which babbles loses its own events and nobody else's; the queues are heard in turn.
type hostEvents struct {
	more        chan struct{} // cap 1: something waits
	lost, bogus atomic.Uint64

	mu     sync.Mutex
	sub    *nats.Subscription // nil until Hear
	queues map[string]*eventQueue
	turns  []*eventQueue // those that are not empty, in turn
}

type eventQueue struct {
	waiting []hostEvent
	bytes   int
	lost    uint64 // since it was last empty
}

type hostEvent struct {
	node string
	data []byte
}

func newHostEvents() hostEvents {
	return hostEvents{more: make(chan struct{}, 1), queues: make(map[string]*eventQueue)}
}

// Hear calls h with what hosts tell of one kind, from one goroutine until Close: in order for each
// node. What tells in another [Protocol], or makes no sense, is dropped and told to OnError. A slow
// h holds up nobody but itself; what finds the queue of its node full, by number or beyond 16 MB,
// is lost, counted and told to OnError as ErrLost. There is one h, and it may not close the Client.
// Hear returns when the broker knows of it.
func Hear[T any](c *Client, kind string, h func(node string, event T)) error {
	arrivals := make(chan *nats.Msg, 1<<14)
	if err := c.hear(kind, arrivals, func(x hostEvent) {
		var event T
		if err := SubjectSwitch.decode(x.data, &event); err != nil {
			c.nonsense(fmt.Errorf("%s of switch %q: %w", kind, x.node, err))
			return
		}
		h(x.node, event)
	}); err != nil {
		return fmt.Errorf("bus: hear the hosts of fabric %q: %w", c.cfg.Fabric, c.conn.closedErr(err))
	}
	return nil
}

func (c *Client) hear(kind string, arrivals chan *nats.Msg, h func(hostEvent)) error {
	t := &c.hostEvents
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.ctx.Err() != nil {
		return wire.ErrClosed
	}
	if t.sub != nil {
		return errors.New("they are heard already")
	}
	sub, err := c.conn.ChanSubscribe(allHostEvents(c.cfg.Fabric), arrivals)
	if err != nil {
		return err
	}
	t.sub = sub
	c.wg.Go(func() { c.sort(kind, arrivals) })
	c.wg.Go(func() { c.hearAll(h) })
	return c.conn.FlushTimeout(connectTimeout)
}

// nonsense counts events that are none, and tells of some.
func (c *Client) nonsense(why error) {
	if n := c.bogus.Add(1); bits.OnesCount64(n) == 1 {
		c.cfg.OnError(fmt.Errorf("bus: %d events that cannot be read, the last: %w", n, why))
	}
}

// sort puts arrivals into the queues of their nodes, and never blocks.
func (c *Client) sort(kind string, arrivals <-chan *nats.Msg) {
	for {
		select {
		case <-c.ctx.Done():
			return
		case msg := <-arrivals:
			s, err := ParseSubject(msg.Subject)
			if err == nil && s.Verb != kind { // a process may tell kinds that are no words
				err = fmt.Errorf("%s of %s: %w", s.Verb, s.who(), wire.ErrName)
			}
			if b := requesterIn(msg.Header).Build; err == nil && b.Protocol != c.cfg.Build.Protocol {
				err = c.cfg.Build.Fits(s.who(), b)
			}
			if err != nil {
				c.nonsense(err)
				continue
			}
			if n := c.enqueue(hostEvent{s.Node, msg.Data}, c.cfg.Waiting); n > 0 && bits.OnesCount64(n) == 1 {
				c.cfg.OnError(fmt.Errorf("bus: switch %q of fabric %q: %d so far: %w", s.Node, c.cfg.Fabric, n, ErrLost))
			}
		}
	}
}

// enqueue returns 0, or how many of this node were lost in a row when there is no room.
func (t *hostEvents) enqueue(x hostEvent, limit int) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[x.node]
	if q == nil {
		q = &eventQueue{}
		t.queues[x.node] = q
		t.turns = append(t.turns, q)
	}
	if n := len(q.waiting); n >= limit || n > 0 && q.bytes+len(x.data) > maxEventBytes {
		t.lost.Add(1)
		q.lost++
		return q.lost
	}
	q.waiting = append(q.waiting, x)
	q.bytes += len(x.data)
	select {
	case t.more <- struct{}{}:
	default:
	}
	return 0
}

// dequeue takes the next event of the node whose turn it is.
func (t *hostEvents) dequeue() (hostEvent, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.turns) == 0 {
		return hostEvent{}, false
	}
	q := t.turns[0]
	t.turns = t.turns[1:]
	x := q.waiting[0]
	q.waiting[0] = hostEvent{}
	q.waiting = q.waiting[1:]
	if q.bytes -= len(x.data); len(q.waiting) > 0 {
		t.turns = append(t.turns, q)
	} else {
		delete(t.queues, x.node)
	}
	return x, true
}

// hearAll calls h with what waits.
func (c *Client) hearAll(h func(hostEvent)) {
	for c.ctx.Err() == nil {
		if x, ok := c.dequeue(); ok {
			h(x)
			continue
		}
		select {
		case <-c.ctx.Done():
		case <-c.more:
		}
	}
}
