package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// PeersConfig says how the fabric reaches its switch processes. Fabric, and Broker or URL, are required.
type PeersConfig struct {
	Fabric      string
	Broker      *Broker     // ours, in this process; or nil and
	URL         string      // the address of another,
	Credentials Credentials // with these; their inbox, when they name one, must be below _INBOX
	// Waiting is how many tellings of one process may wait for Hear, 0 is 1024.
	Waiting int
	// OnError is told of tellings that were lost or make no sense, and of errors of the connection. It must not block.
	// What a process can cause for each telling is told when its count is a power of two. Nil ignores them.
	OnError func(error)
}

func (c PeersConfig) validate() error {
	if err := ValidateFabric(c.Fabric); err != nil {
		return err
	}
	switch {
	case c.Broker == nil && c.URL == "":
		return errors.New("bus: switch processes: neither a broker nor the URL of one")
	case c.Broker != nil && c.Broker.fabric != c.Fabric:
		return fmt.Errorf("bus: switch processes: the broker serves fabric %q, not %q", c.Broker.fabric, c.Fabric)
	case c.Broker == nil && c.Credentials.InboxPrefix != "" && !strings.HasPrefix(c.Credentials.InboxPrefix, inboxes):
		return fmt.Errorf("bus: switch processes: answers to inbox %q: they only answer below %s", c.Credentials.InboxPrefix, inboxes)
	case c.Waiting < 0:
		return fmt.Errorf("bus: switch processes: %d tellings may wait, want at least 1", c.Waiting)
	}
	return nil
}

// Peers is the fabric's side towards the switches that are processes of their own: it asks them and hears what they tell.
// It has a connection of its own. On a broker that is not ours, who may ask, answer and tell is its owner's business.
// Methods may be called concurrently.
type Peers struct {
	cfg     PeersConfig
	conn    *conn
	inbox   string        // prefix of answers
	asker   string        // and the token after it, which nobody guesses
	closedc chan struct{} // closed by nats.go after its last callback
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	once    sync.Once
	number  atomic.Uint64 // of the last ask
	tellings

	mu   sync.Mutex
	asks map[string]*ask // under way, by the subject of their answer
}

// NewPeers connects. The caller closes it, before the broker.
func NewPeers(cfg PeersConfig) (*Peers, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Waiting == 0 {
		cfg.Waiting = 1024
	}
	if cfg.OnError == nil {
		cfg.OnError = func(error) {}
	}
	p := &Peers{
		cfg: cfg, inbox: strings.TrimSuffix(inboxes, "."), asker: rand.Text(), closedc: make(chan struct{}),
		asks: make(map[string]*ask), tellings: newTellings(),
	}
	switch {
	case cfg.Broker != nil:
		p.inbox = cfg.Broker.Credentials(RoleFabric).InboxPrefix
	case cfg.Credentials.inbox() != "":
		p.inbox = cfg.Credentials.inbox()
	}
	conn, err := connect(cfg.Broker, cfg.URL, cfg.Credentials, []nats.Option{
		nats.Name(root + "-fabric-" + cfg.Fabric + "-peers"),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1), // what could not be asked now has failed; asked later it would surprise
		nats.ErrorHandler(p.asyncError),
		nats.ClosedHandler(func(*nats.Conn) { close(p.closedc) }),
	})
	if err != nil {
		return nil, fmt.Errorf("bus: switch processes of fabric %q: %w", cfg.Fabric, err)
	}
	p.conn = conn
	p.ctx, p.cancel = context.WithCancel(context.Background())
	answers := make(chan *nats.Msg, 1024)
	if _, err = conn.ChanSubscribe(allAnswers(p.inbox, p.asker), answers); err == nil {
		err = conn.FlushTimeout(connectTimeout)
	}
	p.wg.Go(func() { p.match(answers) })
	if err != nil {
		err = fmt.Errorf("bus: switch processes of fabric %q: subscribe: %w", cfg.Fabric, err)
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends asking and hearing, and waits for what hears at the moment. Closing twice is closing once.
func (p *Peers) Close() error {
	p.once.Do(func() {
		p.tellings.mu.Lock() // against Hear's wg.Go
		p.cancel()
		p.tellings.mu.Unlock()
		p.conn.Close()
		<-p.closedc
		p.wg.Wait()
	})
	return nil
}
