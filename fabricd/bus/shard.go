package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/switch/wire"
)

// shard carries some of the links: by one connection at a time, and a goroutine that hands out the
// frames that arrive.
type shard struct {
	index      int        // of the connections of the transport; constant
	number     int        // of the shards of the fabric; constant
	cfg        NATSConfig // constant
	notify     func(wire.Event)
	arrivals   chan *nats.Msg // filled by nats.go, which drops when it is full; cap = NATSConfig.Pending
	done       chan struct{}  // closed by demux when it ends
	supervised chan struct{}  // closed by supervise when it ends
	ctx        context.Context
	cancel     context.CancelFunc // ends connections and tries to connect, without grace
	leaving    atomic.Bool        // close has begun
	refused    *refusals          // by the broker, whatever the connection

	current atomic.Pointer[connection] // nil while disconnected
	limit   atomic.Int64               // bytes of a message, says the broker

	subMu sync.Mutex // what the broker knows of us; before mu
	on    *nats.Conn // to subscribe on; nil while disconnected
	subs  map[*natsLink]*nats.Subscription

	mu    sync.RWMutex // links and their inboxes; demux holds it for reading over each hand-over, so that cuts are exact
	links map[string]*natsLink
	ended bool // close has begun: deliver nothing more

	unknown, dropped, oversized, unauthorized, connErrors, losses atomic.Uint64
}

// openShard connects. The caller closes the shard.
func openShard(cfg NATSConfig, index int, notify func(wire.Event)) (*shard, error) {
	first, _ := cfg.Layout.Own()
	s := &shard{
		index: index, number: first + index, cfg: cfg, notify: func(e wire.Event) {
			if e.Kind != 0 {
				notify(e)
			}
		},
		arrivals: make(chan *nats.Msg, cfg.Pending), done: make(chan struct{}), supervised: make(chan struct{}),
		subs: make(map[*natsLink]*nats.Subscription), links: make(map[string]*natsLink),
	}
	s.refused = &refusals{creds: cfg.Credentials, where: s.where()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	w, err := s.open(cfg.URL)
	if err == nil && wire.Batch(s.maxFrame(), weft.MaxVCs) < 1 {
		w.close()
		err = fmt.Errorf("bus: %s takes messages of %d bytes, a frame needs %d: raise its max_payload, best to %d: %w",
			s.where(), s.limit.Load(), wire.SmallestFrame, wire.MaxFrame, wire.ErrTooLarge)
	}
	if err != nil {
		s.cancel()
		return nil, err
	}
	go s.demux()      // close waits for it
	go s.supervise(w) // and for this
	return s, nil
}

// maxFrame is how many bytes a frame may have on this shard.
func (s *shard) maxFrame() int { return int(min(s.limit.Load(), wire.MaxFrame)) }

func (s *shard) closing() bool { return s.leaving.Load() }

// exact reports whether each direction has a subscription of its own.
func (s *shard) exact() bool { return s.cfg.Subscription == PerDirection }

// listen gives l an inbox. While disconnected, the subscription comes with the next connection.
func (s *shard) listen(l *natsLink, inbox chan<- wire.Message) error {
	s.subMu.Lock()
	defer s.subMu.Unlock()
	if !s.setInbox(l, inbox) {
		return fmt.Errorf("bus: listen to %v: %w", l.d, wire.ErrListening)
	}
	if !s.exact() || s.on == nil {
		return nil
	}
	if err := s.subscribe(l); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.setInbox(nil)
		delete(s.links, l.subject)
		return fmt.Errorf("bus: listen to %v: %w", l.d, err)
	}
	return nil
}

// setInbox reports whether l had none.
func (s *shard) setInbox(l *natsLink, inbox chan<- wire.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.inbox != nil {
		return false
	}
	l.setInbox(inbox)
	s.links[l.subject] = l
	return true
}

// setInbox is called with in.mu held.
func (l *natsLink) setInbox(inbox chan<- wire.Message) {
	l.inbox = inbox
	l.here.Store(inbox != nil)
}

// unlisten takes the inbox of l away and remembers that somebody else has one.
func (s *shard) unlisten(l *natsLink) error {
	s.subMu.Lock()
	defer s.subMu.Unlock()
	s.mu.Lock() // waits for a delivery under way
	l.setInbox(nil)
	s.links[l.subject] = l
	s.mu.Unlock()
	sub := s.subs[l]
	delete(s.subs, l)
	if sub == nil {
		return nil
	}
	if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) &&
		!errors.Is(err, nats.ErrBadSubscription) {
		return fmt.Errorf("bus: listen no more to %v: %w", l.d, err)
	}
	return nil
}

// subscribe asks for the frames of l. subMu must be held. All directions share the channel: nats.go
// fills it from one goroutine, in the order of arrival.
func (s *shard) subscribe(l *natsLink) error {
	sub, err := s.on.ChanSubscribe(l.subject, s.arrivals)
	if err == nil {
		s.subs[l] = sub
	}
	return err
}

// subscribeAll asks for all that is listened to, and returns when the broker has confirmed it.
func (s *shard) subscribeAll(w *connection) error {
	s.subMu.Lock()
	s.on = w.conn.Conn
	var err error
	if !s.exact() {
		_, err = w.conn.ChanSubscribe(allToShard(s.cfg.Fabric, s.number), s.arrivals)
	} else {
		for _, l := range s.heard() {
			err = errors.Join(err, s.subscribe(l))
		}
	}
	s.subMu.Unlock() // before the flush: who listens meanwhile subscribes by itself
	if err == nil {
		err = w.conn.FlushTimeout(connectTimeout)
	}
	if err != nil {
		return fmt.Errorf("bus: subscribe to the links of fabric %q at %s: %w", s.cfg.Fabric, s.where(), err)
	}
	return nil
}

// heard is the links that have an inbox.
func (s *shard) heard() []*natsLink {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var links []*natsLink
	for _, l := range s.links {
		if l.inbox != nil {
			links = append(links, l)
		}
	}
	return links
}

// unsubscribed forgets what a connection that is gone had subscribed.
func (s *shard) unsubscribed() {
	s.subMu.Lock()
	defer s.subMu.Unlock()
	s.on = nil
	clear(s.subs)
}

// flush returns when the broker has seen all that was subscribed.
func (s *shard) flush(ctx context.Context) error {
	w := s.current.Load()
	if w == nil {
		return wire.ErrDisconnected
	}
	if err := w.conn.FlushWithContext(ctx); err != nil {
		if errors.Is(err, nats.ErrConnectionClosed) {
			err = wire.ErrDisconnected
		}
		return err
	}
	// The library tells of a denial by the event only, too late for who waits here.
	if err := w.conn.LastError(); err != nil && deniedSubscription(err) {
		return fmt.Errorf("%s lets %v not listen to %s: allow it to subscribe: %w", s.where(), s.cfg.Credentials,
			deniedSubject(err), reply.ErrDenied)
	}
	return nil
}

// publish sends one frame of l.
func (s *shard) publish(l *natsLink, frame []byte) error {
	w := s.current.Load()
	if w == nil {
		return wire.ErrDisconnected
	}
	if w.direct != nil && len(frame) <= s.maxFrame() {
		if w.direct.publishTo(l.subject, frame) != nil {
			return wire.ErrDisconnected
		}
		return nil
	}
	err := w.conn.Publish(l.subject, frame)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrConnectionClosed):
		return wire.ErrDisconnected
	case errors.Is(err, nats.ErrMaxPayload):
		s.limit.Store(w.conn.MaxPayload())
		s.tellTooLarge(l.subject, len(frame))
		return fmt.Errorf("%w: %d bytes at most", wire.ErrTooLarge, s.limit.Load())
	case brokenPipe(err):
		w.giveUp(err)
	}
	return err
}

// demux hands the frames of the shard to the inboxes of their ports. It never blocks on one, so it
// keeps up with the connection, and ends when close sends nil.
func (s *shard) demux() {
	defer close(s.done)
	for msg := range s.arrivals {
		if msg == nil {
			return
		}
		s.notify(s.deliverMsg(msg))
	}
}

// deliverMsg returns what went wrong, and nothing if that need not be told.
func (s *shard) deliverMsg(msg *nats.Msg) wire.Event {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.links[msg.Subject]
	if e, ok := s.takes(l, msg.Subject, msg.Data); !ok {
		return e
	}
	return l.put(wire.Message{Data: msg.Data}) // nats.go made a copy for us, so there is nothing to release
}

// deliver hands out a frame that a direct connection has read.
func (s *shard) deliver(subject, frame []byte) {
	if prefix, ok := bytes.CutSuffix(subject, anyHello); ok {
		s.deliverHellos(prefix, frame)
		return
	}
	s.notify(s.deliverCopy(subject, frame))
}

func (s *shard) deliverCopy(subject, frame []byte) wire.Event {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.links[string(subject)]
	if l == nil {
		e, _ := s.takes(nil, string(subject), frame)
		return e
	}
	if e, ok := s.takes(l, l.subject, frame); !ok {
		return e
	}
	return l.put(wire.NewMessage(frame))
}

// takes reports whether there is an inbox for a frame of l, which is nil for an unknown subject,
// else what went wrong. s.mu is held.
func (s *shard) takes(l *natsLink, subject string, frame []byte) (e wire.Event, ok bool) {
	switch {
	case s.ended:
	case l == nil:
		n := s.unknown.Add(1)
		e = rare(wire.Event{Kind: wire.EventUnknown, Shard: s.index, Subject: subject, Count: n, Err: errUnknown})
	case l.inbox == nil:
		l.elsewhere.Add(1)
	case l.cut.Load():
		l.recvCut.Add(1)
	case wire.Crowded(l.inbox, l.sum, frame):
		l.full.Add(1)
	default:
		return e, true
	}
	return e, false
}

// put puts a frame into the inbox, and returns what went wrong. The mutex of the shard is held.
func (l *natsLink) put(m wire.Message) wire.Event {
	select {
	case l.inbox <- m:
		l.delivered.Add(1)
		return wire.Event{}
	default:
		m.Release()
		n := l.full.Add(1)
		return rare(wire.Event{Kind: wire.EventFull, Shard: l.in.index, Subject: l.subject, Count: n, Err: errFull})
	}
}

// close ends the connection and waits for the last event and for demux. What is still in arrivals
// is lost.
func (s *shard) close() {
	s.leaving.Store(true)
	if w := s.current.Load(); w != nil {
		w.close()
	}
	s.cancel()
	<-s.supervised
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.arrivals <- nil // nats.go sends nothing after Close, and demux makes room
	<-s.done
}
