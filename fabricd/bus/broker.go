package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrPortInUse means that another process listens where the broker was told to.
var ErrPortInUse = errors.New("address already in use")

const (
	// maxPending is how many bytes the broker queues for one connection before it closes it. The
	// credits bound what is in flight far below; closing a connection of the fabric would cut a
	// shard.
	maxPending = 1 << 30
	// maxPayload lets one answer list the links of the largest fabrics, some 200 bytes each.
	maxPayload = 8 << 20
	// defaultMaxCuts costs about 1 us per message when all are in force; chosen by us because it
	// holds the links of a 16-port switch, both ways.
	defaultMaxCuts = 32
)

// BrokerConfig configures an embedded broker. Fabric is required.
type BrokerConfig struct {
	Fabric string
	// Listen is the host:port for clients, "127.0.0.1:0" when empty: loopback, a free port.
	// Passwords travel in the clear, so anything but loopback is for networks that are trusted.
	Listen string
	// NoListen takes connections from this process only.
	NoListen bool
	// MaxCuts bounds the cuts that the broker enforces at a time, since each one slows every
	// message; further ones are enforced at the ends of the links. 0 is 32, negative is none.
	MaxCuts int
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
	srv     *server.Server
	acc     *server.Account
	creds   map[Role]Credentials // constant
	users   *users
	maxCuts int
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
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	b := &Broker{
		fabric: cfg.Fabric, creds: make(map[Role]Credentials), users: newUsers(), maxCuts: max(cfg.MaxCuts, 0),
		listens: !cfg.NoListen, cuts: make(map[string]struct{}), ending: make(chan struct{}),
	}
	if cfg.MaxCuts == 0 {
		b.maxCuts = defaultMaxCuts
	}
	opts.Accounts = []*server.Account{server.NewAccount(root)}
	// a table of ours: changing the server's own needs a reload, which drops all cuts
	opts.CustomClientAuthentication = b.users
	if b.srv, err = server.NewServer(opts); err != nil {
		return nil, fmt.Errorf("bus: broker of fabric %q: %w", cfg.Fabric, err)
	}
	if b.acc, err = b.srv.LookupAccount(root); err != nil { // the server's copy of ours
		return nil, fmt.Errorf("bus: broker of fabric %q: account: %w", cfg.Fabric, err)
	}
	for _, r := range []Role{RoleFabric, RoleOperator, RoleViewer, RoleManager} {
		c := newCredentials(r.String())
		b.creds[r] = c
		b.users.add(c, b.acc, permissions(r, cfg.Fabric, c), false)
	}
	log := &serverLog{log: cfg.Log, fatal: make(chan string, 1)}
	if log.log == nil {
		log.log = slog.New(slog.DiscardHandler)
	}
	b.srv.SetLogger(log, false, false)
	b.srv.Start()
	if err := b.awaitStart(cfg.Listen, log); err != nil {
		b.Shutdown()
		return nil, err
	}
	b.watching.Go(b.dropSlow)
	if cfg.StoreDir != "" {
		if err := b.acc.EnableJetStream(storeLimits(), nil); err != nil {
			b.Shutdown()
			return nil, fmt.Errorf("bus: broker of fabric %q: keep things in %s: %w", cfg.Fabric, cfg.StoreDir, err)
		}
	}
	return b, nil
}

func (c BrokerConfig) options() (*server.Options, error) {
	if err := ValidateFabric(c.Fabric); err != nil {
		return nil, err
	}
	opts := &server.Options{
		ServerName: root + "-" + c.Fabric, Host: "127.0.0.1", Port: server.RANDOM_PORT, DontListen: c.NoListen,
		NoSigs: true, NoLog: true, NoSublistCache: true, NoSystemAccount: true, MaxPending: maxPending,
		MaxPayload:  maxPayload,
		AuthTimeout: connectTimeout.Seconds(), WriteDeadline: time.Minute, // a machine that stalls must not cut a shard
	}
	if c.StoreDir != "" {
		// The broker keeps things in the name of an account of its own, which nobody can log into.
		opts.JetStream, opts.StoreDir, opts.NoSystemAccount = true, c.StoreDir, false
		opts.JetStreamMaxStore, opts.JetStreamMaxMemory = maxStore, maxStore
	}
	if c.Listen == "" {
		return opts, nil
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("bus: broker listens at %q: want host:port: %w", c.Listen, err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("bus: broker listens at %q: the port must be 0 to 65535: %w", c.Listen, err)
	}
	if host == "" {
		return nil, fmt.Errorf("bus: broker listens at %q: name the host: 127.0.0.1, or 0.0.0.0 to open it to the network",
			c.Listen)
	}
	if opts.Host = host; n != 0 {
		opts.Port = int(n)
	}
	return opts, nil
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
	if !b.srv.ReadyForConnections(connectTimeout) {
		return fmt.Errorf("bus: broker of fabric %q: not ready for connections after %v", b.fabric, connectTimeout)
	}
	// Connections notice mappings only when there were some when they last read from their socket.
	// With one from the start they always look, and a cut holds from the next message on.
	if err := b.acc.AddMapping(noLink(b.fabric), noLink(b.fabric)); err != nil {
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
	return b.srv.ClientURL()
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
	b.srv.Shutdown()
	b.srv.WaitForShutdown()
}

// cut drops everything published on subject, which may end in '>', from the next message on.
func (b *Broker) cut(subject string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.cuts[subject]; ok {
		return nil
	}
	// To itself with weight 0: no message is mapped to anything, so none goes anywhere.
	if err := b.acc.AddWeightedMappings(subject, server.NewMapDest(subject, 0)); err != nil {
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
		b.acc.RemoveMapping(subject)
		delete(b.cuts, subject)
	}
}

// serverLog hands the server's log to slog, and catches why it cannot start: its own answer to that
// is to exit.
type serverLog struct {
	log   *slog.Logger
	fatal chan string // cap 1: the first reason counts
	inUse bool        // written before fatal is
}

func (l *serverLog) at(level slog.Level, format string, v []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "broker", "says", fmt.Sprintf(format, v...))
	}
}

func (l *serverLog) Noticef(format string, v ...any) { l.at(slog.LevelDebug, format, v) }
func (l *serverLog) Warnf(format string, v ...any)   { l.at(slog.LevelWarn, format, v) }
func (l *serverLog) Errorf(format string, v ...any)  { l.at(slog.LevelError, format, v) }
func (l *serverLog) Debugf(string, ...any)           {}
func (l *serverLog) Tracef(string, ...any)           {}

func (l *serverLog) Fatalf(format string, v ...any) {
	l.at(slog.LevelError, format, v)
	if len(l.fatal) > 0 {
		return
	}
	for _, x := range v {
		if err, ok := x.(error); ok && errors.Is(err, syscall.EADDRINUSE) {
			l.inUse = true
		}
	}
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
}
