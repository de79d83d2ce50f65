package wire

import (
	"context"
	"fmt"
	"sync"
)

// Memory is the transport within one process, without a broker: Send puts a copy of the frame into
// the inbox. It has no goroutines. Frames with packets find room, for each has a credit: an inbox
// full of them is our own bug, since nobody else can send, and panics. Those without packets leave
// room to them, see [Crowded].
type Memory struct {
	mu     sync.RWMutex           // links, closed; the order is mu before memLink.mu
	links  map[Direction]*memLink // by Direction.Source
	closed bool
}

// NewMemory returns an empty transport.
func NewMemory() *Memory { return &Memory{links: make(map[Direction]*memLink)} }

var _ Transport = (*Memory)(nil)

// memLink is one direction, and its Sender.
type memLink struct {
	d   Direction // constant
	sum LinkSum   // of d

	mu     sync.Mutex // the rest; held over the put into inbox, which never blocks, so that Cut and Close are exact
	inbox  chan<- Message
	away   bool // Unlisten has been called, and not Listen after it
	cut    bool
	closed bool
	stats  Stats
}

// link returns the direction d, which it makes when it is new.
func (m *Memory) link(d Direction) (*memLink, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fmt.Errorf("wire: memory transport: direction %v: %w", d, ErrClosed)
	}
	l := m.links[d.Source()]
	if l == nil {
		l = &memLink{d: d, sum: d.Sum()}
		m.links[d.Source()] = l
	}
	if l.d != d {
		return nil, fmt.Errorf("wire: direction %v: it is %v: %w", d, l.d, ErrDirection)
	}
	return l, nil
}

// Listen implements Transport.
func (m *Memory) Listen(d Direction, inbox chan<- Message) error {
	l, err := m.link(d)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inbox != nil {
		return fmt.Errorf("wire: listen to %v: %w", d, ErrListening)
	}
	l.inbox, l.away = inbox, false
	return nil
}

// Unlisten implements Transport.
func (m *Memory) Unlisten(d Direction) error {
	l, err := m.link(d)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox, l.away = nil, true
	return nil
}

// Watch implements Transport: nothing happens to memory.
func (m *Memory) Watch(func(Event)) {}

// Shards implements Transport.
func (m *Memory) Shards() int { return 1 }

// Shard implements Transport.
func (m *Memory) Shard(string) int { return 0 }

// MaxFrame implements Transport.
func (m *Memory) MaxFrame() int { return MaxFrame }

// Sender implements Transport.
func (m *Memory) Sender(d Direction) (Sender, error) {
	l, err := m.link(d)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Send implements Sender. It allocates nothing once buffers have grown.
func (l *memLink) Send(frame []byte) error {
	msg := NewMessage(frame)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		msg.Release()
		l.stats.Errors++
		return fmt.Errorf("wire: send on %v: %w", l.d, ErrClosed)
	}
	l.stats.Sent++
	l.stats.SentBytes += uint64(len(frame))
	switch {
	case l.cut:
		l.stats.Cut++
		msg.Release()
	case l.away:
		l.stats.Elsewhere++
		msg.Release()
	case l.inbox == nil:
		l.stats.Unknown++
		msg.Release()
	case Crowded(l.inbox, l.sum, frame):
		l.stats.Full++
		msg.Release()
	default:
		select {
		case l.inbox <- msg:
			l.stats.Delivered++
		default:
			l.stats.Full++
			if _, err := packetsIn(l.sum, frame); err != nil { // damaged, or garbage: nobody has a credit for it
				msg.Release()
				return nil
			}
			panic(fmt.Sprintf("wire: BUG: %v: inbox of %d frames is full; its capacity must cover the credits of the link", l.d,
				cap(l.inbox)))
		}
	}
	return nil
}

// Ready implements Transport; listening takes effect at once.
func (m *Memory) Ready(context.Context) error { return nil }

// Cut implements Transport.
func (m *Memory) Cut(d ...Direction) error { return m.setCut(true, d) }

// Restore implements Transport.
func (m *Memory) Restore(d ...Direction) error { return m.setCut(false, d) }

func (m *Memory) setCut(cut bool, ds []Direction) error {
	links := make([]*memLink, len(ds))
	for i, d := range ds { // all or nothing
		l, err := m.link(d)
		if err != nil {
			return err
		}
		links[i] = l
	}
	for _, l := range links {
		l.mu.Lock()
		l.cut = cut
		l.mu.Unlock()
	}
	return nil
}

// Enforcement implements Transport.
func (m *Memory) Enforcement() Enforcement { return EnforcedInProcess }

// Stats implements Transport.
func (m *Memory) Stats() Stats {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var s Stats
	for _, l := range m.links {
		l.mu.Lock()
		s.Add(l.stats)
		l.mu.Unlock()
	}
	return s
}

// Close implements Transport.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, l := range m.links {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
	}
	return nil
}
