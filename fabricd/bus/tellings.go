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

// maxTellingBytes bounds what waits of one process, in bytes.
const maxTellingBytes = 16 << 20

// ErrLost means that a process told more than was heard in time.
var ErrLost = errors.New("tellings lost: the process tells faster than the fabric hears")

// tellings is the hearing half of Peers. Each process has a queue of its own, so that one which babbles loses its own
// tellings and nobody else's; the queues are heard in turn.
type tellings struct {
	more        chan struct{} // cap 1: something waits
	lost, bogus atomic.Uint64

	mu     sync.Mutex
	sub    *nats.Subscription // nil until Hear
	queues map[string]*tellQueue
	turns  []*tellQueue // those that are not empty, in turn
}

type tellQueue struct {
	waiting []telling
	bytes   int
	lost    uint64 // since it was last empty
}

type telling struct {
	node, kind string
	data       []byte
}

func newTellings() tellings {
	return tellings{more: make(chan struct{}, 1), queues: make(map[string]*tellQueue)}
}

// Hear calls h with what the processes tell, from one goroutine until Close: in order for each node, whatever data they
// send. h owns data. A slow h holds up nobody but itself; what finds the queue of its node full, by number or beyond 16 MB,
// is lost, counted by Lost and told to OnError as ErrLost. There is one h, and it may not close the Peers. Hear returns
// when the broker knows of it.
func (p *Peers) Hear(h func(node, kind string, data []byte)) error {
	arrivals := make(chan *nats.Msg, 1<<14)
	if err := p.hear(arrivals, h); err != nil {
		return fmt.Errorf("bus: hear the switch processes of fabric %q: %w", p.cfg.Fabric, p.conn.closedErr(err))
	}
	return nil
}

func (p *Peers) hear(arrivals chan *nats.Msg, h func(node, kind string, data []byte)) error {
	t := &p.tellings
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.ctx.Err() != nil {
		return wire.ErrClosed
	}
	if t.sub != nil {
		return errors.New("they are heard already")
	}
	sub, err := p.conn.ChanSubscribe(allTellings(p.cfg.Fabric), arrivals)
	if err != nil {
		return err
	}
	t.sub = sub
	p.wg.Go(func() { p.sort(arrivals) })
	p.wg.Go(func() { p.tell(h) })
	return p.conn.FlushTimeout(connectTimeout)
}

// Lost is how many tellings were lost here.
func (p *Peers) Lost() uint64 {
	t := &p.tellings
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.lost.Load()
	if t.sub != nil {
		if dropped, err := t.sub.Dropped(); err == nil { // nats.go's own, when even sort is too slow
			n += uint64(max(dropped, 0))
		}
	}
	return n
}

// sort puts arrivals into the queues of their nodes, and never blocks.
func (p *Peers) sort(arrivals <-chan *nats.Msg) {
	for {
		select {
		case <-p.ctx.Done():
			return
		case msg := <-arrivals:
			s, err := ParseSubject(msg.Subject)
			if err != nil { // a process may tell kinds that are no words
				if n := p.bogus.Add(1); bits.OnesCount64(n) == 1 {
					p.cfg.OnError(fmt.Errorf("bus: %d tellings of no kind, the last: %w", n, err))
				}
				continue
			}
			if n := p.enqueue(telling{s.Node, s.Verb, msg.Data}, p.cfg.Waiting); n > 0 && bits.OnesCount64(n) == 1 {
				p.cfg.OnError(fmt.Errorf("bus: switch %q of fabric %q: %d so far, %s now: %w", s.Node, p.cfg.Fabric, n, s.Verb, ErrLost))
			}
		}
	}
}

// enqueue returns 0, or how many of this node were lost in a row when there is no room.
func (t *tellings) enqueue(x telling, limit int) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[x.node]
	if q == nil {
		q = &tellQueue{}
		t.queues[x.node] = q
		t.turns = append(t.turns, q)
	}
	if n := len(q.waiting); n >= limit || n > 0 && q.bytes+len(x.data) > maxTellingBytes {
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

// dequeue takes the next telling of the node whose turn it is.
func (t *tellings) dequeue() (telling, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.turns) == 0 {
		return telling{}, false
	}
	q := t.turns[0]
	t.turns = t.turns[1:]
	x := q.waiting[0]
	q.waiting[0] = telling{}
	q.waiting = q.waiting[1:]
	if q.bytes -= len(x.data); len(q.waiting) > 0 {
		t.turns = append(t.turns, q)
	} else {
		delete(t.queues, x.node)
	}
	return x, true
}

// tell calls h with what waits.
func (p *Peers) tell(h func(node, kind string, data []byte)) {
	for p.ctx.Err() == nil {
		if x, ok := p.dequeue(); ok {
			h(x.node, x.kind, x.data)
			continue
		}
		select {
		case <-p.ctx.Done():
		case <-p.more:
		}
	}
}
