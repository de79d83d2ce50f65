package bus

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// shard is one connection, and the goroutine that hands out what arrives on it.
type shard struct {
	index    int // constant
	onEvent  func(Event)
	exact    bool // PerDirection
	conn     *nats.Conn
	closedc  chan struct{}  // closed by nats.go when it has told all it had to tell
	arrivals chan *nats.Msg // filled by nats.go, which drops when it is full; cap = NATSConfig.Pending
	done     chan struct{}  // closed by demux when it ends

	mu    sync.RWMutex // links and their inboxes; demux holds it for reading over each hand-over, so that cuts are exact
	links map[string]*natsLink
	ended bool // close has begun: deliver nothing more

	unknown, dropped atomic.Uint64
}

func openShard(cfg NATSConfig, index int) (*shard, error) {
	s := &shard{
		index: index, onEvent: cfg.OnEvent, exact: cfg.Subscription == PerDirection, closedc: make(chan struct{}),
		arrivals: make(chan *nats.Msg, cfg.Pending), done: make(chan struct{}), links: make(map[string]*natsLink),
	}
	opts := []nats.Option{
		nats.Name(fmt.Sprintf("%s-fabric-%s-%d", root, cfg.Fabric, index)),
		nats.SkipSubjectValidation(), // subjects are built by this package
		nats.ReconnectBufSize(-1),    // a frame that cannot be sent now is lost, not late
		nats.MaxReconnects(-1),
		nats.ErrorHandler(s.asyncError),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil is our own Close
				s.onEvent(Event{Kind: EventDisconnected, Shard: index, Err: err})
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { s.onEvent(Event{Kind: EventReconnected, Shard: index}) }),
		nats.ClosedHandler(func(*nats.Conn) { close(s.closedc) }),
	}
	conn, err := connect(cfg.Broker, cfg.URL, cfg.Credentials, opts)
	if err != nil {
		return nil, fmt.Errorf("bus: shard %d of fabric %q: %w", index, cfg.Fabric, err)
	}
	s.conn = conn
	if !s.exact {
		if _, err := conn.ChanSubscribe(allLinksOf(cfg.Fabric, index), s.arrivals); err != nil {
			conn.Close()
			<-s.closedc
			return nil, fmt.Errorf("bus: shard %d of fabric %q: subscribe: %w", index, cfg.Fabric, err)
		}
	}
	go s.demux() // close waits for it
	return s, nil
}

func (s *shard) listen(l *natsLink, inbox chan<- Message) error {
	s.mu.Lock()
	if l.inbox != nil {
		s.mu.Unlock()
		return fmt.Errorf("bus: listen to %v: %w", l.d, ErrListening)
	}
	l.inbox = inbox
	s.links[l.subject] = l
	s.mu.Unlock()
	if !s.exact {
		return nil
	}
	// All directions share the channel: nats.go fills it from one goroutine, in the order of arrival.
	if _, err := s.conn.ChanSubscribe(l.subject, s.arrivals); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.inbox = nil
		delete(s.links, l.subject)
		return fmt.Errorf("bus: listen to %v: %w", l.d, err)
	}
	return nil
}

// demux hands the frames of the shard to the inboxes of their ports. It never blocks on one, so it keeps up with the
// connection, and ends when close sends nil.
func (s *shard) demux() {
	defer close(s.done)
	for msg := range s.arrivals {
		if msg == nil {
			return
		}
		if event := s.deliverOnDemux(msg); event.Kind != 0 {
			s.onEvent(event)
		}
	}
}

// deliverOnDemux returns what went wrong, if it must be told.
func (s *shard) deliverOnDemux(msg *nats.Msg) Event {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.ended {
		return Event{}
	}
	l := s.links[msg.Subject]
	if l == nil {
		n := s.unknown.Add(1)
		return rare(Event{Kind: EventUnknown, Shard: s.index, Subject: msg.Subject, Count: n, Err: errUnknown})
	}
	if l.cut.Load() {
		l.recvCut.Add(1)
		return Event{}
	}
	select {
	case l.inbox <- Message{Data: msg.Data}: // nats.go made a copy for us, so there is nothing to release
		l.delivered.Add(1)
		return Event{}
	default:
		n := l.full.Add(1)
		return rare(Event{Kind: EventFull, Shard: s.index, Subject: msg.Subject, Count: n, Err: errFull})
	}
}

var (
	errUnknown = errors.New("no link of this process has this subject; if another process of the fabric does, listen per direction")
	errFull    = errors.New("more frames than the credits of the link allow: a stranger sends on it, or its inbox is too small")
)

// rare returns e when its count is a power of two, and nothing otherwise.
func rare(e Event) Event {
	if bits.OnesCount64(e.Count) == 1 {
		return e
	}
	return Event{}
}

// asyncError is called by nats.go.
func (s *shard) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `to ""`) {
		return // a frame that met a cut at the broker, which maps it to no subject
	}
	e := Event{Kind: EventConnError, Shard: s.index, Err: err}
	if sub != nil {
		e.Subject = sub.Subject
	}
	if errors.Is(err, nats.ErrSlowConsumer) {
		e.Kind, e.Count = EventSlowConsumer, s.dropped.Add(1)
	}
	s.onEvent(e)
}

// close ends the connection and waits for nats.go's last callback and for demux. What is still in arrivals is lost.
func (s *shard) close() {
	s.conn.Close()
	<-s.closedc
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.arrivals <- nil // nats.go sends nothing after Close, and demux makes room
	<-s.done
}
