package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weft-fabric/weft/fabricd/document/plain"
)

// What a request comes back with.
var (
	// ErrNoFabric means that nobody answers for the fabric.
	ErrNoFabric = errors.New("the fabric does not answer")
	// ErrDenied means that the role of the client may not do this.
	ErrDenied = errors.New("not permitted")
	// ErrEnded means that the fabric has said that it ends, or that its process is gone.
	ErrEnded = errors.New("the fabric has ended")
	// ErrRefused means that the fabric answered with an error, whose text follows.
	ErrRefused = errors.New("the fabric refuses")
)

// streamEnd is the kind of the event that is the last of a fabric.
const streamEnd = "end"

// requestTimeout bounds requests whose context has no deadline.
const requestTimeout = 10 * time.Second

// ClientConfig says how to reach a fabric. Fabric and URL are required.
type ClientConfig struct {
	Fabric      string
	URL         string // of the broker
	Credentials Credentials
	Program     string // names the connection, weft-<program>; "client" when empty
	// Gone reports whether the process of the fabric is gone; it is asked whenever the connection is lost, or cannot be had back. nil: nobody knows.
	Gone func() bool
}

// Client is a tool's side of the control plane. Its methods may be called concurrently.
type Client struct {
	cfg     ClientConfig
	conn    *conn
	closedc chan struct{} // closed by nats.go after its last callback
	once    sync.Once
	ended   chan struct{} // closed when the fabric has ended
	ending  sync.Once

	mu      sync.Mutex
	waiting map[*waiter]struct{} // requests under way
}

type waiter struct {
	subject string
	fail    context.CancelCauseFunc
}

// Dial connects to the broker of a fabric. The caller closes the client. The fabric itself need not answer yet.
func Dial(cfg ClientConfig) (*Client, error) {
	if err := ValidateFabric(cfg.Fabric); err != nil {
		return nil, err
	}
	if cfg.URL == "" {
		return nil, fmt.Errorf("bus: dial fabric %q: no address of its broker", cfg.Fabric)
	}
	if cfg.Program == "" {
		cfg.Program = "client"
	}
	c := &Client{cfg: cfg, closedc: make(chan struct{}), ended: make(chan struct{}), waiting: make(map[*waiter]struct{})}
	conn, err := connect(nil, cfg.URL, cfg.Credentials, []nats.Option{
		nats.Name(root + "-" + cfg.Program),
		nats.MaxReconnects(-1),
		nats.ErrorHandler(c.asyncError),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { c.lost() }),
		nats.ReconnectErrHandler(func(*nats.Conn, error) { c.lost() }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closedc) }),
	})
	if err != nil {
		return nil, fmt.Errorf("bus: dial fabric %q: %w", cfg.Fabric, err)
	}
	c.conn = conn
	// Who may hear no events is denied this, and told nothing.
	if _, err := conn.Subscribe(Subject{Kind: SubjectEvent, Fabric: cfg.Fabric, Verb: streamEnd}.String(), func(*nats.Msg) { c.end() }); err != nil {
		return nil, errors.Join(fmt.Errorf("bus: dial fabric %q: %w", cfg.Fabric, conn.closedErr(err)), c.Close())
	}
	return c, nil
}

// lost is called by nats.go when there is no connection.
func (c *Client) lost() {
	if c.cfg.Gone != nil && c.cfg.Gone() {
		c.end()
	}
}

// end tells all who wait that the fabric has ended.
func (c *Client) end() {
	c.ending.Do(func() { close(c.ended) })
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.waiting {
		w.fail(ErrEnded)
	}
}

// Ended reports whether the fabric has ended.
func (c *Client) Ended() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// asyncError is called by nats.go. The broker denies a request without answering it, so the one who waits is told here.
func (c *Client) asyncError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return // a lagging Events counts its losses itself
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.waiting {
		if strings.Contains(err.Error(), `"`+w.subject+`"`) {
			w.fail(ErrDenied)
		}
	}
}

// Request asks the fabric: in travels as JSON (nothing when nil), the answer is decoded into out (dropped when nil). It
// ends with ctx, or after 10 s when ctx has no deadline. Errors wrap ErrNoFabric, ErrDenied or ErrRefused.
func (c *Client) Request(ctx context.Context, verb string, in, out any) error {
	return c.request(ctx, Subject{Kind: SubjectControl, Fabric: c.cfg.Fabric, Verb: verb}, in, out)
}

// Manage is Request for what the subnet manager alone may ask.
func (c *Client) Manage(ctx context.Context, verb string, in, out any) error {
	return c.request(ctx, Subject{Kind: SubjectManage, Fabric: c.cfg.Fabric, Verb: verb}, in, out)
}

func (c *Client) request(ctx context.Context, subject Subject, in, out any) error {
	verb := subject.Verb
	if err := subject.Validate(); err != nil {
		return err
	}
	req, err := encodeRequest(in)
	if err != nil {
		return fmt.Errorf("bus: request %s: %w", verb, err)
	}
	reply, err := c.roundTrip(ctx, subject.String(), req)
	if err != nil {
		return fmt.Errorf("bus: request %s to fabric %q: %w", verb, c.cfg.Fabric, err)
	}
	err = decodeReply(plain.JSON(reply), out, ErrRefused)
	switch {
	case errors.Is(err, ErrRefused):
		return err // the text of the fabric says what was asked
	case err != nil:
		return fmt.Errorf("bus: answer to %s: %w", verb, err)
	}
	return nil
}

// encodeRequest gives nothing for nil.
func encodeRequest(in any) ([]byte, error) {
	if in == nil {
		return nil, nil
	}
	return json.Marshal(in)
}

// decodeReply undoes encodeReply: an error that travelled wraps refused. out may be nil.
func decodeReply(reply []byte, out any, refused error) error {
	var f failure
	if json.Unmarshal(reply, &f) == nil && f.Error != "" { // other answers need not be objects
		return fmt.Errorf("%w: %s", refused, f.Error)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(reply, out)
}

func (c *Client) roundTrip(ctx context.Context, subject string, req []byte) ([]byte, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	w := &waiter{subject, fail}
	c.mu.Lock()
	c.waiting[w] = struct{}{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, w)
	}()

	if c.Ended() {
		return nil, ErrEnded
	}
	began := time.Now()
	msg, err := c.conn.RequestWithContext(ctx, subject, req)
	switch {
	case err == nil:
		return msg.Data, nil
	case errors.Is(context.Cause(ctx), ErrEnded):
		return nil, ErrEnded
	case errors.Is(context.Cause(ctx), ErrDenied):
		return nil, fmt.Errorf("%v: %w", c.cfg.Credentials, ErrDenied)
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("%w: the broker at %s is up, but no fabric of this name serves this request there", ErrNoFabric, redact(c.cfg.URL))
	case errors.Is(err, context.DeadlineExceeded):
		return nil, lateError{fmt.Errorf("%w in %v", ErrNoFabric, time.Since(began).Round(time.Millisecond)), err}
	}
	return nil, c.conn.closedErr(err)
}

// Notice is one event of the fabric.
type Notice struct {
	Kind string
	Data json.RawMessage // owned by the receiver
}

// Events is a stream of events. It is for one goroutine.
type Events struct {
	client *Client
	sub    *nats.Subscription
	queue  chan *nats.Msg // filled by nats.go, which drops when it is full; cap = the buffer of Subscribe
}

// Subscribe listens to one kind of event, or to all when kind is empty. At most buffer of them (at least 1) wait for Next;
// further ones are lost, and counted by Lost. It returns when the broker knows of it.
func (c *Client) Subscribe(kind string, buffer int) (*Events, error) {
	subject := allEvents(c.cfg.Fabric)
	if kind != "" {
		s := Subject{Kind: SubjectEvent, Fabric: c.cfg.Fabric, Verb: kind}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		subject = s.String()
	}
	e := &Events{client: c, queue: make(chan *nats.Msg, max(buffer, 1))}
	var err error
	if e.sub, err = c.conn.ChanSubscribe(subject, e.queue); err == nil {
		err = c.conn.FlushTimeout(connectTimeout)
	}
	if err != nil {
		return nil, fmt.Errorf("bus: subscribe to events %s: %w", subject, c.conn.closedErr(err))
	}
	return e, nil
}

// Next waits for the next event. The error wraps ErrEnded once the fabric has ended and no event is left, ErrClosed after Close of
// the client, ErrNoAccess when the broker lets us in no more, and is that of ctx otherwise.
func (e *Events) Next(ctx context.Context) (Notice, error) {
	ended := e.client.ended
	for {
		if e.client.Ended() && len(e.queue) == 0 {
			return Notice{}, ErrEnded
		}
		select {
		case msg := <-e.queue:
			s, err := ParseSubject(msg.Subject)
			if err != nil {
				continue // somebody with full rights publishes nonsense; it is no event
			}
			return Notice{s.Verb, plain.JSON(msg.Data)}, nil
		case <-ended:
			ended = nil // what is left comes first
		case <-e.client.closedc:
			return Notice{}, fmt.Errorf("bus: events of fabric %q: %w", e.client.cfg.Fabric, e.client.conn.closedErr(nats.ErrConnectionClosed))
		case <-ctx.Done():
			return Notice{}, ctx.Err()
		}
	}
}

// Lost is how many events found the buffer full.
func (e *Events) Lost() (uint64, error) {
	n, err := e.sub.Dropped()
	return uint64(max(n, 0)), err
}

// Close ends the stream.
func (e *Events) Close() error { return e.client.conn.closedErr(e.sub.Unsubscribe()) }

// Close ends the client, its requests and streams, and waits for its goroutines.
func (c *Client) Close() error {
	c.once.Do(func() {
		c.conn.Close()
		<-c.closedc
	})
	return nil
}
