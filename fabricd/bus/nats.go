package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/switch/wire"
)

// Subscription says how a NATS transport hears the directions it listens to.
type Subscription uint8

const (
	// PerShard subscribes once to everything a shard carries: for the process that hosts the whole
	// fabric, where 57,600 subscriptions would cost a hundred times the memory and three times the
	// time of two.
	PerShard Subscription = iota
	// PerDirection subscribes to each direction by name: for a process that is a host of the
	// fabric.
	PerDirection
)

// NATSConfig configures a NATS transport. Fabric, and Broker or URL, are required.
type NATSConfig struct {
	Fabric string
	// Broker is our own broker in this process: connections are pipes with the credentials of
	// RoleFabric, and cuts are enforced by it.
	Broker *Broker
	// URL is that of a broker that is not in this process, used when Broker is nil.
	URL string
	// Credentials are for URL; those of RoleFabric when the broker is a Broker of ours elsewhere.
	Credentials Credentials
	// Shards is the number of connections, 1 to MaxConnections; 0 is one for every two cores, since
	// fewer connections batch better and each keeps a core busy at either end. The processes of a
	// fabric that spans several must agree.
	Shards int
	// Layout says in which shard every node is, and which shards are ours; it replaces Shards. nil:
	// Hashed(Shards).
	Layout *Layout
	// Pending is how many frames may wait for one shard's demultiplexer, which must cover the
	// credits of the links into it; 0 is 1<<18, which takes 2 MB. More arriving frames are lost
	// with EventSlowConsumer.
	Pending int
	// Subscription is PerShard unless set.
	Subscription Subscription
}

func (c NATSConfig) withDefaults() NATSConfig {
	if c.Layout != nil {
		_, c.Shards = c.Layout.Own()
	}
	if c.Shards == 0 {
		c.Shards = min(max(1, runtime.GOMAXPROCS(0)/2), MaxConnections)
	}
	if c.Layout == nil {
		c.Layout = Hashed(c.Shards)
	}
	c.Pending = cmp.Or(c.Pending, 1<<18)
	return c
}

func (c NATSConfig) validate() error {
	if err := ValidateFabric(c.Fabric); err != nil {
		return err
	}
	switch {
	case c.Shards < 1 || c.Shards > MaxConnections:
		return fmt.Errorf("bus: %d shards, want 1 to %d", c.Shards, MaxConnections)
	case c.Pending < 1 || c.Pending > 1<<24:
		return fmt.Errorf("bus: %d pending frames a shard, want 1 to %d", c.Pending, 1<<24)
	case c.Broker == nil && c.URL == "":
		return errors.New("bus: neither a broker nor the URL of one")
	case c.Broker != nil && c.Broker.fabric != c.Fabric:
		return fmt.Errorf("bus: the broker serves fabric %q, not %q", c.Broker.fabric, c.Fabric)
	}
	return nil
}

// NATS is the transport over a NATS broker: one subject per direction, few connections, batched
// writes.
type NATS struct {
	cfg    NATSConfig // constant
	shards []*shard   // constant
	watch  atomic.Pointer[func(wire.Event)]
	closed atomic.Bool
	once   sync.Once

	mu    sync.Mutex                   // links, and the order of cuts; before shard.mu
	links map[wire.Direction]*natsLink // by Direction.Source
	cuts  cutState
}

var _ wire.Transport = (*NATS)(nil)

// natsLink is one direction, and its Sender.
type natsLink struct {
	// What every frame needs comes first, in one cache line.
	cut       atomic.Bool // for Send; the demultiplexer reads it under in.mu
	here      atomic.Bool // inbox is not nil
	subject   string
	out       *shard              // of the sender; nil: that is in a shard of another process
	inbox     chan<- wire.Message // guarded by in.mu; nil while nobody listens here
	sent      atomic.Uint64       // by senders, as sentBytes
	sentBytes atomic.Uint64
	delivered atomic.Uint64 // by the demultiplexer

	t    *NATS
	d    wire.Direction
	sum  wire.LinkSum // of d
	in   *shard       // of the receiver, as out
	name string       // of the sender in a message of hellos

	sendCut, errors          atomic.Uint64 // by senders
	recvCut, full, elsewhere atomic.Uint64 // by the demultiplexer
}

// NewNATS connects a transport. The caller closes it, before the broker.
func NewNATS(cfg NATSConfig) (*NATS, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	t := &NATS{cfg: cfg, links: make(map[wire.Direction]*natsLink), cuts: newCutState(cfg)}
	for i := range cfg.Shards {
		s, err := openShard(cfg, i, t.notify)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.shards = append(t.shards, s)
	}
	if err := t.Ready(context.Background()); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Watch implements Transport.
func (t *NATS) Watch(f func(wire.Event)) {
	if f == nil {
		t.watch.Store(nil)
		return
	}
	t.watch.Store(&f)
}

func (t *NATS) notify(e wire.Event) {
	if f := t.watch.Load(); f != nil {
		(*f)(e)
	}
}

// Shards implements Transport.
func (t *NATS) Shards() int { return t.cfg.Shards }

// Shard implements Transport.
func (t *NATS) Shard(node string) int {
	first, n := t.cfg.Layout.Own()
	if i := t.cfg.Layout.Shard(node) - first; i >= 0 && i < n {
		return i
	}
	return -1
}

// shard is the connection of a node, nil for one of another process.
func (t *NATS) shard(node string) *shard {
	if i := t.Shard(node); i >= 0 {
		return t.shards[i]
	}
	return nil
}

// MaxFrame implements Transport.
func (t *NATS) MaxFrame() int {
	least := wire.MaxFrame
	for _, s := range t.shards {
		least = min(least, s.maxFrame())
	}
	return least
}

// link returns the direction d, which it makes when it is new. t.mu must be held.
func (t *NATS) link(d wire.Direction) (*natsLink, error) {
	if t.closed.Load() {
		return nil, fmt.Errorf("bus: direction %v: %w", d, wire.ErrClosed)
	}
	if l := t.links[d.Source()]; l != nil && l.d == d {
		return l, nil
	} else if l != nil {
		return nil, fmt.Errorf("bus: direction %v: it is %v: %w", d, l.d, wire.ErrDirection)
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	l := &natsLink{
		t: t, d: d, sum: d.Sum(), subject: t.cfg.Layout.subject(t.cfg.Fabric, d).String(),
		out: t.shard(d.From), in: t.shard(d.To),
	}
	port := strings.LastIndexByte(l.subject, '.')
	l.name = l.subject[strings.LastIndexByte(l.subject[:port], '.')+1:]
	t.links[d.Source()] = l
	t.cuts.known[t.cuts.bundle(d)]++
	return l, nil
}

// Listen implements Transport. A full inbox loses the frame, counted and reported as EventFull.
func (t *NATS) Listen(d wire.Direction, inbox chan<- wire.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, err := t.link(d)
	if err != nil {
		return err
	}
	if l.in == nil {
		return fmt.Errorf("bus: listen to %v: %w", d, ErrElsewhere)
	}
	return l.in.listen(l, inbox)
}

// Unlisten implements Transport.
func (t *NATS) Unlisten(d wire.Direction) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, err := t.link(d)
	if err != nil {
		return err
	}
	if l.in == nil {
		return nil
	}
	return l.in.unlisten(l)
}

// Sender implements Transport.
func (t *NATS) Sender(d wire.Direction) (wire.Sender, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, err := t.link(d)
	if err != nil {
		return nil, err
	}
	if l.out == nil {
		return nil, fmt.Errorf("bus: send on %v: %w", d, ErrElsewhere)
	}
	return l, nil
}

// Send implements Sender. The connection writes by itself, in batches; nothing is flushed here.
// Without a connection it fails at once; a broker that takes nothing holds it up for 3 s, then the
// connection is given up.
func (l *natsLink) Send(frame []byte) error { return l.send(frame, l.out.publish) }

func (l *natsLink) send(frame []byte, publish func(l *natsLink, frame []byte) error) error {
	if l.cut.Load() {
		// Else frames sent before Restore and still on their way to the broker would slip through
		// after it.
		l.sent.Add(1)
		l.sentBytes.Add(uint64(len(frame)))
		l.sendCut.Add(1)
		return nil
	}
	if err := publish(l, frame); err != nil {
		l.errors.Add(1)
		if l.t.closed.Load() {
			err = wire.ErrClosed
		}
		return fmt.Errorf("bus: send %d bytes on %v: %w", len(frame), l.d, err)
	}
	l.sent.Add(1)
	l.sentBytes.Add(uint64(len(frame)))
	return nil
}

// Ready implements Transport. In a cluster of brokers, interest may take longer to reach the
// others.
func (t *NATS) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for _, s := range t.shards {
		if err := s.flush(ctx); err != nil {
			if t.closed.Load() {
				err = wire.ErrClosed
			}
			return fmt.Errorf("bus: shard %d: the broker does not confirm the subscriptions: %w", s.index, err)
		}
	}
	return nil
}

// Stats implements Transport.
func (t *NATS) Stats() wire.Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.cuts.stats()
	for _, l := range t.links {
		s.Add(wire.Stats{
			Sent: l.sent.Load(), SentBytes: l.sentBytes.Load(), Errors: l.errors.Load(), Delivered: l.delivered.Load(),
			Cut: l.sendCut.Load() + l.recvCut.Load(), Full: l.full.Load(), Elsewhere: l.elsewhere.Load(),
		})
	}
	for _, sh := range t.shards {
		s.Unknown += sh.unknown.Load()
		s.Dropped += sh.dropped.Load()
	}
	return s
}

// Close implements Transport. The broker keeps no cut of this transport.
func (t *NATS) Close() (closeErr error) {
	t.once.Do(func() {
		t.closed.Store(true)
		for _, s := range t.shards {
			s.close()
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		closeErr = t.cuts.clear()
	})
	return closeErr
}
