package bus

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// maxPending is how many bytes the broker queues for one connection before it closes it. The
	// credits bound what is in flight far below; closing a connection of the fabric would cut a
	// shard.
	maxPending = 1 << 30
	// maxPayload lets one answer list the links of the largest fabrics, some 200 bytes each.
	maxPayload = 8 << 20
)

// embedded is what a Broker does with the NATS server of this process. It names no type of
// nats-server: every package that imports one whose types lead to server.Server compiles the
// generic code of nats-server once more, which takes half a second.
type embedded interface {
	InProcessConn() (net.Conn, error)
	ReadyForConnections(patience time.Duration) bool
	ClientURL() string
	Running() bool
	Shutdown()
	WaitForShutdown()

	// add lets the holder of the credentials do what is granted, and hear its inbox.
	add(c Credentials, g grant, revocable bool)
	// remove says whether there was a user to remove that was added as revocable.
	remove(user string) bool
	// connections are those of a user that are open now; none of the user "".
	connections(user string) []connected
	DisconnectClientByID(id uint64) error

	// drop makes the server forward nothing that is published on the subject from now on; forward
	// ends that. mapToItself changes nothing for the subject, and makes the server look for mappings.
	drop(subject string) error
	forward(subject string)
	mapToItself(subject string) error
}

// connected is one connection of a client.
type connected struct {
	id      uint64
	pending int // bytes that wait to be read by the client
}

// natsServer implements embedded.
type natsServer struct {
	*server.Server
	account *server.Account // of all users
	users   *users
}

// newNATSServer makes a server that has not been started.
func newNATSServer(cfg BrokerConfig, log *serverLog) (*natsServer, error) {
	opts, err := optionsOf(cfg)
	if err != nil {
		return nil, err
	}
	s := &natsServer{users: newUsers()}
	opts.Accounts = []*server.Account{server.NewAccount(root)}
	// a table of ours: changing the server's own needs a reload, which drops all cuts
	opts.CustomClientAuthentication = s.users
	if s.Server, err = server.NewServer(opts); err != nil {
		return nil, fmt.Errorf("bus: broker of fabric %q: %w", cfg.Fabric, err)
	}
	if s.account, err = s.LookupAccount(root); err != nil { // the server's copy of ours
		return nil, fmt.Errorf("bus: broker of fabric %q: account: %w", cfg.Fabric, err)
	}
	s.SetLogger(log, false, false)
	return s, nil
}

// optionsOf is what a server is started with. It is no method of the configuration, whose type is
// exported: server.Options leads to server.Server.
func optionsOf(c BrokerConfig) (*server.Options, error) {
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

func (s *natsServer) enableStore() error {
	return s.account.EnableJetStream(map[string]server.JetStreamAccountLimits{"": {
		MaxMemory: maxStore, MaxStore: maxStore, MaxStreams: 1,
		MaxConsumers: 1,
	}}, nil)
}

func (s *natsServer) add(c Credentials, g grant, revocable bool) {
	g = g.withInbox(c.InboxPrefix)
	s.users.add(c, &server.User{Username: c.User, Account: s.account, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: g.publish},
		Subscribe: &server.SubjectPermission{Allow: g.subscribe},
	}}, revocable)
}

func (s *natsServer) remove(user string) bool { return s.users.remove(user) }

// Connections of the account are authenticated.
func (s *natsServer) connections(user string) []connected {
	if user == "" {
		return nil // the server would list those of all users
	}
	list, err := s.Connz(&server.ConnzOptions{Username: true, User: user, Account: root, Limit: math.MaxInt32})
	if err != nil {
		return nil // the server is being shut down
	}
	open := make([]connected, len(list.Conns))
	for i, c := range list.Conns {
		open[i] = connected{c.Cid, c.Pending}
	}
	return open
}

// Mapped to itself with weight 0: no message is mapped to anything, so none goes anywhere.
func (s *natsServer) drop(subject string) error {
	return s.account.AddWeightedMappings(subject, server.NewMapDest(subject, 0))
}

func (s *natsServer) forward(subject string)           { s.account.RemoveMapping(subject) }
func (s *natsServer) mapToItself(subject string) error { return s.account.AddMapping(subject, subject) }

// users are those whose connections the broker accepts.
type users struct {
	mu     sync.RWMutex // a connection is registered under it, so that Revoke sees all that passed
	byName map[string]user
}

type user struct {
	password  [sha256.Size]byte // its hash, so that comparing does not tell the length either
	as        *server.User
	revocable bool
}

var _ server.Authentication = (*users)(nil)

func newUsers() *users { return &users{byName: make(map[string]user)} }

func (u *users) add(c Credentials, as *server.User, revocable bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.byName[c.User] = user{password: sha256.Sum256([]byte(c.Password)), as: as, revocable: revocable}
}

// remove says whether there was one to remove.
func (u *users) remove(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.byName[name].revocable {
		return false
	}
	delete(u.byName, name)
	return true
}

// Check implements server.Authentication: it lets a client in, as the user it is, or refuses it.
func (u *users) Check(c server.ClientAuthentication) bool {
	opts := c.GetOpts()
	if c.Kind() != server.CLIENT || opts.Nkey != "" {
		return false // the server would list the connection by its nkey, out of Revoke's sight
	}
	given := sha256.Sum256([]byte(opts.Password))
	u.mu.RLock()
	defer u.mu.RUnlock()
	who, ok := u.byName[opts.Username]
	if same := subtle.ConstantTimeCompare(given[:], who.password[:]) == 1; !ok || !same {
		return false
	}
	c.RegisterUser(who.as)
	return true
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
