package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// ErrPortInUse means that another process listens where the broker was told to.
var ErrPortInUse = errors.New("address already in use")

// maxCuts bounds the cuts that the broker enforces at a time; further ones are enforced at the ends
// of the links. All in force cost about 1 us per message; chosen by us because it holds the links
// of a 16-port switch, both ways.
const maxCuts = 32

// BrokerConfig configures an embedded broker. Fabric is required.
type BrokerConfig struct {
	Fabric string
	// Listen is the host:port for clients, "127.0.0.1:0" when empty: loopback, a free port.
	// Passwords travel in the clear, so anything but loopback is for networks that are trusted.
	Listen string
	// NoListen takes connections from this process only.
	NoListen bool
	// StoreDir is a folder of the fabric's own for what its subnet manager keeps, see [Store];
	// empty: the broker keeps nothing.
	StoreDir string
	// Log hears the server's notices at debug level and its warnings and errors at theirs; nil is
	// silence.
	Log *slog.Logger
}

// Broker is a NATS server in this process that serves one fabric, with credentials of its own for
// each role and for each switch process that was admitted.
type Broker struct {
	fabric  string
	server  embedded
	creds   map[Role]Credentials // constant
	listens bool

	ending   chan struct{}  // closed by Shutdown
	ended    sync.Once      // closes it
	watching sync.WaitGroup // dropSlow

	mu   sync.Mutex
	cuts map[string]struct{} // mappings in force, without the dummy
}

// StartBroker starts a broker. The caller calls Shutdown, after the transports and clients have
// been closed.
func StartBroker(cfg BrokerConfig) (*Broker, error) {
	log := &serverLog{log: cfg.Log, fatal: make(chan string, 1)}
	if log.log == nil {
		log.log = slog.New(slog.DiscardHandler)
	}
	s, err := newNATSServer(cfg, log)
	if err != nil {
		return nil, err
	}
	b := &Broker{
		fabric: cfg.Fabric, server: s, creds: make(map[Role]Credentials),
		listens: !cfg.NoListen, cuts: make(map[string]struct{}), ending: make(chan struct{}),
	}
	for _, r := range []Role{RoleFabric, RoleOperator, RoleViewer, RoleManager} {
		b.creds[r] = newCredentials(r.String())
		g := grantOf(r, cfg.Fabric, "")
		if r == RoleFabric {
			// anything: the broker is its own, and looking at the subject of each frame takes a tenth of the
			// time
			g.publish = nil
		}
		s.add(b.creds[r], g, false)
	}
	s.Start()
	if err := b.awaitStart(cfg.Listen, log); err != nil {
		b.Shutdown()
		return nil, err
	}
	b.watching.Go(b.dropSlow)
	if cfg.StoreDir != "" {
		if err := s.enableStore(); err != nil {
			b.Shutdown()
			return nil, fmt.Errorf("bus: broker of fabric %q: keep things in %s: %w", cfg.Fabric, cfg.StoreDir, err)
		}
	}
	return b, nil
}

// awaitStart returns when the started server takes connections.
func (b *Broker) awaitStart(listen string, log *serverLog) error {
	select {
	case why := <-log.fatal:
		if log.inUse {
			return fmt.Errorf("bus: broker of fabric %q listens at %s: %w: stop what runs there or give another port",
				b.fabric,
				listen, ErrPortInUse)
		}
		return fmt.Errorf("bus: broker of fabric %q: %s", b.fabric, why)
	default:
	}
	if !b.server.ReadyForConnections(connectTimeout) {
		return fmt.Errorf("bus: broker of fabric %q: not ready for connections after %v", b.fabric, connectTimeout)
	}
	// Connections notice mappings only when there were some when they last read from their socket.
	// With one from the start they always look, and a cut holds from the next message on.
	if err := b.server.mapToItself(noLink(b.fabric)); err != nil {
		return fmt.Errorf("bus: broker of fabric %q: first mapping: %w", b.fabric, err)
	}
	return nil
}

// ClientURL is the address for clients, such as nats://127.0.0.1:34567, and empty when it takes
// none.
func (b *Broker) ClientURL() string {
	if !b.listens {
		return ""
	}
	return b.server.ClientURL()
}

// Fabric is the name of the fabric it serves.
func (b *Broker) Fabric() string { return b.fabric }

// Credentials returns what opens a connection in a role; nothing for a role that does not exist.
func (b *Broker) Credentials(r Role) Credentials { return b.creds[r] }

// Shutdown ends the broker and all connections to it, and waits for its goroutines. Shutting down
// twice is fine.
func (b *Broker) Shutdown() {
	b.ended.Do(func() { close(b.ending) })
	b.watching.Wait()
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// cut drops everything published on subject, which may end in '>', from the next message on.
func (b *Broker) cut(subject string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.cuts[subject]; ok {
		return nil
	}
	if err := b.server.drop(subject); err != nil {
		return fmt.Errorf("bus: broker of fabric %q: cut %s: %w", b.fabric, subject, err)
	}
	b.cuts[subject] = struct{}{}
	return nil
}

// restore undoes cut.
func (b *Broker) restore(subject string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.cuts[subject]; ok {
		b.server.forward(subject)
		delete(b.cuts, subject)
	}
}
