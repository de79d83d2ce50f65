package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/weft-fabric/weft/switch/wire"
)

// Control payloads are JSON, where frames are msgpack: they are rare, and so `nats req weft.lab.ctl.get.status` and
// `nats sub 'weft.lab.ev.>'` show something a human can read.

// maxWaiting bounds the requests of one verb that wait while one is being handled.
const maxWaiting = 64

// presence is a verb that every switch process serves.
const presence = "presence"

// Handler answers one request. req is the request's JSON, empty when there was none, and may not be kept. The result
// travels as JSON; it must be an object without a member "error", or no object at all. An error travels as its text in
// {"error": "..."}. ctx ends with the Control.
type Handler func(ctx context.Context, req []byte) (any, error)

// ControlConfig configures the answering side of the control plane. Fabric, and Broker or URL, are required.
type ControlConfig struct {
	Fabric string
	// Node makes it the side of a switch that is a process of its own: Serve answers what the fabric asks that switch, and
	// Publish tells the fabric. Empty is the fabric's side.
	Node        string
	Broker      *Broker     // ours, in this process; or nil and
	URL         string      // the address of another,
	Credentials Credentials // with these
	// OnError is told of requests that cannot be answered, and of errors of the connection. It must not block. Nil
	// ignores them.
	OnError func(error)
}

// Control is the answering side of the control plane, that of the fabric or of a switch process: it answers requests and
// publishes events. It has a connection of its own, so that a slow viewer never holds up a link.
type Control struct {
	cfg     ControlConfig
	conn    *conn
	closedc chan struct{} // closed by nats.go after its last callback
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup // the goroutines of Serve
	once    sync.Once
	mu      sync.Mutex // verbs, and wg.Add against Close
	verbs   map[string]struct{}
}

// NewControl connects. The caller closes it, before the broker.
func NewControl(cfg ControlConfig) (*Control, error) {
	if err := ValidateFabric(cfg.Fabric); err != nil {
		return nil, err
	}
	if cfg.Broker == nil && cfg.URL == "" {
		return nil, errors.New("bus: control: neither a broker nor the URL of one")
	}
	name := "control of fabric " + strconv.Quote(cfg.Fabric)
	conName := root + "-fabric-" + cfg.Fabric + "-control"
	if cfg.Node != "" {
		if err := wire.ValidateNode(cfg.Node); err != nil {
			return nil, err
		}
		name = fmt.Sprintf("control of switch %q of fabric %q", cfg.Node, cfg.Fabric)
		conName = root + "-switch-" + cfg.Fabric + "-" + cfg.Node + "-control"
	}
	if cfg.OnError == nil {
		cfg.OnError = func(error) {}
	}
	c := &Control{cfg: cfg, closedc: make(chan struct{}), verbs: make(map[string]struct{})}
	conn, err := connect(cfg.Broker, cfg.URL, cfg.Credentials, []nats.Option{
		nats.Name(conName),
		nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			cfg.OnError(fmt.Errorf("bus: %s: %w", name, err))
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closedc) }),
	})
	if err != nil {
		return nil, fmt.Errorf("bus: %s: %w", name, err)
	}
	c.conn = conn
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if cfg.Node != "" {
		// So that those who wait for an answer can see whether there is still somebody to give it.
		if err := c.Serve(presence, func(context.Context, []byte) (any, error) { return nil, nil }); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Done is closed when the connection has ended for good: after Close, or when the broker lets us in no more, as it does when the credentials
// are revoked. OnError hears the refusals. A broker that is gone is tried again for ever.
func (c *Control) Done() <-chan struct{} { return c.closedc }

// Err says, once Done is closed, why the broker lets us in no more; it wraps [ErrNoAccess]. nil: after Close.
func (c *Control) Err() error { return c.conn.gone() }

// Serve answers the requests of a verb, one at a time, until Close. Read verbs, which viewers may use, begin with "get.".
// It returns when the broker knows of it. Requests of one verb are answered in order, those of several at once.
func (c *Control) Serve(verb string, h Handler) error {
	subject := Subject{Kind: SubjectControl, Fabric: c.cfg.Fabric, Verb: verb}
	if c.cfg.Node != "" {
		subject.Kind, subject.Node = SubjectSwitch, c.cfg.Node
	}
	return c.serveOn(subject, 1, h)
}

// ServeManager is Serve for what the subnet manager alone may ask. So many requests are answered at once.
func (c *Control) ServeManager(verb string, atOnce int, h Handler) error {
	return c.serveOn(Subject{Kind: SubjectManage, Fabric: c.cfg.Fabric, Verb: verb}, atOnce, h)
}

func (c *Control) serveOn(subject Subject, atOnce int, h Handler) error {
	verb := subject.Verb
	if err := subject.Validate(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return fmt.Errorf("bus: serve %s: %w", verb, wire.ErrClosed)
	}
	if _, ok := c.verbs[subject.String()]; ok {
		return fmt.Errorf("bus: serve %s: it is served already", verb)
	}
	requests := make(chan *nats.Msg, maxWaiting)
	if _, err := c.conn.ChanSubscribe(subject.String(), requests); err != nil {
		return fmt.Errorf("bus: serve %s: %w", verb, err)
	}
	c.verbs[subject.String()] = struct{}{}
	for range atOnce {
		c.wg.Go(func() { c.serve(verb, h, requests) })
	}
	if err := c.conn.FlushTimeout(connectTimeout); err != nil {
		return fmt.Errorf("bus: serve %s: the broker does not confirm it: %w", verb, err)
	}
	return nil
}

func (c *Control) serve(verb string, h Handler, requests <-chan *nats.Msg) {
	for {
		select {
		case <-c.ctx.Done():
			return
		case msg := <-requests:
			// We may publish anywhere, the requester may not: answering on a subject of its choice would lend it our
			// rights, to speak on a link, say.
			if !strings.HasPrefix(msg.Reply, inboxes) {
				c.cfg.OnError(fmt.Errorf("bus: request %s: the reply subject %.128q is no inbox: %w", verb, msg.Reply, wire.ErrName))
				continue
			}
			answer := encodeReply(h(c.ctx, msg.Data))
			if limit := c.conn.MaxPayload(); int64(len(answer)) > limit { // else the requester would wait for nothing
				answer = encodeReply(nil, fmt.Errorf("the answer has %d bytes, the broker takes %d: raise its max_payload", len(answer), limit))
			}
			if err := msg.Respond(answer); err != nil {
				c.cfg.OnError(fmt.Errorf("bus: answer %s: %w", verb, err))
			}
		}
	}
}

// failure is how an error travels.
type failure struct {
	Error string `json:"error"`
}

func encodeReply(v any, err error) []byte {
	if err == nil {
		var data []byte
		if data, err = json.Marshal(v); err == nil {
			return data
		}
		err = fmt.Errorf("encode the answer: %w", err)
	}
	data, err := json.Marshal(failure{err.Error()})
	if err != nil {
		panic("bus: BUG: a string does not encode: " + err.Error())
	}
	return data
}

// Publish tells an event to whoever listens: operators, viewers, web pages; the fabric alone when this is the side of a
// switch process. v travels as JSON. Events arrive in the order in which they were published.
func (c *Control) Publish(kind string, v any) error {
	subject := Subject{Kind: SubjectEvent, Fabric: c.cfg.Fabric, Verb: kind}
	if c.cfg.Node != "" {
		subject.Kind, subject.Node, subject.Tell = SubjectSwitch, c.cfg.Node, true
	}
	if err := subject.Validate(); err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("bus: event %s: %w", kind, err)
	}
	if err := c.conn.Publish(subject.String(), data); err != nil {
		return fmt.Errorf("bus: event %s: %w", kind, c.conn.closedErr(err))
	}
	return nil
}

// End tells all clients of the fabric that it has ended.
func (c *Control) End() error {
	if err := c.Publish(streamEnd, struct{}{}); err != nil {
		return err
	}
	return c.conn.closedErr(c.conn.FlushTimeout(connectTimeout))
}

// Close ends all answering, and waits for the handlers that are running, whose ctx it cancels.
func (c *Control) Close() error {
	c.once.Do(func() {
		c.mu.Lock()
		c.cancel()
		c.mu.Unlock()
		c.wg.Wait()
		c.conn.Close() // after the last answer
		<-c.closedc
	})
	return nil
}
