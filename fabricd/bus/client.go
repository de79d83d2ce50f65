package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// streamEnd is the kind of the event that is the last of a fabric.
const streamEnd = "end"

// ClientConfig says how to reach a fabric, its hosts and agents. URL, or Broker, is required, and
// Fabric unless only agents are asked.
type ClientConfig struct {
	Fabric      string
	Broker      *Broker     // ours, in this process; or nil and
	URL         string      // the address of another,
	Credentials Credentials // with these; their inbox, when they name one, must be below _INBOX
	Program     string      // names the connection, weft-<program>, and who asks; "client" when empty
	Build       Build       // of this program; zero: of this Protocol
	// Leads says that this is who leads the fabric: the end of it is not the end of this.
	Leads bool
	// Gone reports whether the process of the fabric is gone; it is asked whenever the connection
	// is lost, or cannot be had back. nil: nobody knows.
	Gone func() bool
	// Waiting is how many events of one host may wait for [Hear], 0 is 1024.
	Waiting int
	// OnError is told of events that were lost or make no sense, and of errors of the connection.
	// It must not block. What a host can cause for each event is told when its count is a power of
	// two. Nil ignores them.
	OnError func(error)
}

// failed is err with the fabric that was to be reached, if there is one.
func (c ClientConfig) failed(err error) error {
	if c.Fabric == "" {
		return fmt.Errorf("bus: %w", err)
	}
	return fmt.Errorf("bus: dial fabric %q: %w", c.Fabric, err)
}

func (c ClientConfig) validate() error {
	fail := func(format string, args ...any) error { return c.failed(fmt.Errorf(format, args...)) }
	if c.Fabric != "" || !c.Leads {
		if err := ValidateFabric(c.Fabric); err != nil {
			return err
		}
	}
	switch {
	case c.Broker == nil && c.URL == "":
		return fail("no address of its broker")
	case c.Broker != nil && c.Broker.fabric != c.Fabric:
		return fail("the broker serves fabric %q, not %q", c.Broker.fabric, c.Fabric)
	case c.Credentials.InboxPrefix != "" && !strings.HasPrefix(c.Credentials.InboxPrefix, inboxes):
		return fail("answers to inbox %q: they only answer below %s", c.Credentials.InboxPrefix, inboxes)
	case c.Waiting < 0:
		return fail("%d events may wait, want at least 1", c.Waiting)
	}
	return nil
}

// Client asks fabrics, hosts and agents, and hears events. It has a connection of its own. On a
// broker that is not ours, who may ask, answer and tell is its owner's business. Its methods may be
// called concurrently.
type Client struct {
	cfg       ClientConfig
	conn      *conn
	from      nats.Header   // of every request
	inbox     string        // prefix of answers
	requester string        // and the token after it, which nobody guesses
	closedc   chan struct{} // closed by nats.go after its last callback
	ctx       context.Context
	cancel    context.CancelFunc
	wg        sync.WaitGroup
	once      sync.Once
	ended     chan struct{} // closed when the fabric has ended
	ending    sync.Once
	number    atomic.Uint64 // of the last ask
	hostEvents

	mu   sync.Mutex
	asks map[string]*request // under way, by the subject of their answer
}

// Dial connects to the broker of a fabric. The caller closes the client, before the broker. The
// fabric itself need not answer yet.
func Dial(cfg ClientConfig) (*Client, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Program = cmp.Or(cfg.Program, "client")
	cfg.Build.Protocol = cmp.Or(cfg.Build.Protocol, Protocol)
	cfg.Waiting = cmp.Or(cfg.Waiting, 1024)
	if cfg.OnError == nil {
		cfg.OnError = func(error) {}
	}
	host, _ := os.Hostname() // that it has none is no reason not to ask
	c := &Client{
		cfg: cfg, inbox: strings.TrimSuffix(inboxes,
			"."), requester: rand.Text(), closedc: make(chan struct{}), ended: make(chan struct{}),
		from: nats.Header{
			headerBuild: {cfg.Build.String()},
			headerFrom:  {fmt.Sprintf("%s, process %d on host %s", cfg.Program, os.Getpid(), host)},
		},
		asks: make(map[string]*request), hostEvents: newHostEvents(),
	}
	creds := cfg.Credentials
	if cfg.Broker != nil {
		creds = cfg.Broker.Credentials(RoleFabric)
	}
	if p := creds.inbox(); p != "" {
		c.inbox = p
	}
	conn, err := connect(cfg.Broker, cfg.URL, cfg.Credentials, []nats.Option{
		nats.Name(root + "-" + cfg.Program),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1), // what could not be asked now has failed; asked later it would surprise
		nats.ErrorHandler(c.asyncError),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { c.notifyLost() }),
		nats.ReconnectErrHandler(func(*nats.Conn, error) { c.notifyLost() }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closedc) }),
	})
	if err != nil {
		return nil, cfg.failed(err)
	}
	c.conn = conn
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.listen(); err != nil {
		return nil, errors.Join(cfg.failed(conn.closedErr(err)), c.Close())
	}
	return c, nil
}

// listen subscribes to answers, and to the end of the fabric.
func (c *Client) listen() error {
	answers := make(chan *nats.Msg, 4096)
	if _, err := c.conn.ChanSubscribe(allAnswers(c.inbox, c.requester), answers); err != nil {
		return err
	}
	c.wg.Go(func() { c.match(answers) })
	if c.cfg.Leads {
		return c.conn.FlushTimeout(connectTimeout)
	}
	// The broker denies this to a user that may hear no events. Nobody is told of that.
	_, err := c.conn.Subscribe(Subject{Kind: SubjectEvent, Fabric: c.cfg.Fabric, Verb: streamEnd}.String(),
		func(*nats.Msg) { c.end() })
	return err
}

// notifyLost is called by nats.go when there is no connection.
func (c *Client) notifyLost() {
	if c.cfg.Gone != nil && c.cfg.Gone() {
		c.end()
	}
}

// end tells all who wait that the fabric has ended.
func (c *Client) end() { c.ending.Do(func() { close(c.ended) }) }

// Ended reports whether the fabric has ended.
func (c *Client) Ended() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// URL is the address of the broker that it is connected to at the moment.
func (c *Client) URL() string { return redact(c.conn.ConnectedUrl()) }

// Close ends the client, its requests and streams, and waits for what hears at the moment. Closing
// twice is closing once.
func (c *Client) Close() error {
	c.once.Do(func() {
		c.hostEvents.mu.Lock() // against Hear's wg.Go
		c.cancel()
		c.hostEvents.mu.Unlock()
		c.conn.Close()
		<-c.closedc
		c.wg.Wait()
	})
	return nil
}
