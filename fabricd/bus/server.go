package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/switch/wire"
)

// Whoever answers on the bus is a NATS micro service, found with "nats micro ls": a fabric, a host
// of it and the agent of a machine. What people ask travels as JSON: "nats req
// weft.lab.ctl.get.status" and "nats sub 'weft.lab.ev.>'" show something that they can read.
const (
	fabricService = root + "-fabric"
	hostService   = root + "-host"
	AgentService  = root + "-" + agents
)

// maxWaiting bounds the requests of one verb that wait while others are being handled. Further
// requests are answered with errBusy.
const maxWaiting = 64

// presence is a verb that hosts and agents serve, so that a client that waits for an answer sees
// whether the process that owes it is still there.
const presence = "presence"

// ServerConfig says who answers, and where. Agent, or Fabric and perhaps Node, are required, and
// Broker or URL.
type ServerConfig struct {
	Fabric string
	// Node makes it a host of the fabric: it answers what the fabric asks, and Publish tells the
	// fabric.
	Node  string
	Agent string // the name of an agent; Fabric and Node are empty
	// User is the name of a user whose credentials in the fabric can be renewed here; it is not
	// listed as a service.
	User        string
	Broker      *Broker           // ours, in this process; or nil and
	URL         string            // the address of another,
	Credentials Credentials       // with these
	Build       Build             // of this program; zero: of this Protocol
	Metadata    map[string]string // what others should know before they ask
	// OnError is told of requests that cannot be answered, and of errors of the connection. It must
	// not block. Nil ignores them.
	OnError func(error)
	// Log hears at debug level of every request that was answered: who asked what, and what came of
	// it. Nil is silence.
	Log *slog.Logger
}

// Server answers requests, those of a fabric, a host or an agent, and publishes events. It has a
// connection of its own, so that a slow viewer never holds up a link.
type Server struct {
	cfg     ServerConfig
	me      Subject // without a verb
	conn    *conn
	micro   micro.Service
	closedc chan struct{} // closed by nats.go after its last callback
	ctx     context.Context
	cancel  context.CancelFunc
	once    sync.Once

	requests, answers transfers
	fetched           chan struct{} // cap 1: a chunk was

	mu        sync.Mutex     // endpoints, and wg.Add against Close
	wg        sync.WaitGroup // the goroutines of endpoints
	endpoints map[string]*endpoint
}

// service is how the server is listed.
func (c ServerConfig) service() (me Subject, cfg micro.Config, err error) {
	cfg = micro.Config{
		Name: fabricService, Description: "leads a Weft fabric",
		Metadata: map[string]string{"fabric": c.Fabric},
	}
	me = Subject{Kind: SubjectControl, Fabric: c.Fabric}
	switch {
	case c.Agent != "":
		me = Subject{Kind: SubjectAgent, Node: c.Agent}
		cfg.Name, cfg.Description, cfg.Metadata = AgentService, "runs switches and NICs of Weft fabrics on its host",
			map[string]string{}
		err = ValidateAgent(c.Agent)
	case c.User != "":
		me.Kind, me.Node = SubjectRenewal, nodeOf(c.User)
		cfg.Name, err = root+"-"+c.User+"-renewal", errors.Join(ValidateFabric(c.Fabric), wire.ValidateNode(me.Node))
	case c.Node != "":
		me.Kind, me.Node = SubjectSwitch, c.Node
		cfg.Name, cfg.Description, cfg.Metadata["host"] = hostService, "runs switches and NICs of a Weft fabric", c.Node
		err = errors.Join(ValidateFabric(c.Fabric), wire.ValidateNode(c.Node))
	default:
		err = ValidateFabric(c.Fabric)
	}
	if err == nil && c.Broker == nil && c.URL == "" {
		err = fmt.Errorf("bus: %s: neither a broker nor the URL of one", me.who())
	}
	cfg.Version = c.Build.String()
	maps.Copy(cfg.Metadata, c.Metadata)
	return me, cfg, err
}

// NewServer connects and announces the server. The caller closes it, before the broker.
func NewServer(cfg ServerConfig) (*Server, error) {
	cfg.Build.Protocol = cmp.Or(cfg.Build.Protocol, Protocol)
	if cfg.OnError == nil {
		cfg.OnError = func(error) {}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	me, service, err := cfg.service()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, me: me, closedc: make(chan struct{}), fetched: make(chan struct{}, 1),
		endpoints: make(map[string]*endpoint),
	}
	fail := func(err error) error { return fmt.Errorf("bus: control of %s: %w", me.who(), err) }
	s.conn, err = connect(cfg.Broker, cfg.URL, cfg.Credentials, []nats.Option{
		nats.Name(strings.Trim(strings.Join([]string{service.Name, me.Fabric, me.Node}, "-"), "-")), nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if strings.Contains(err.Error(), `Subscription to "`+micro.APIPrefix+`.`) {
				return // it answers all the same, and only "nats micro" does not find it
			}
			cfg.OnError(fail(err))
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(s.closedc) }),
	})
	if err != nil {
		return nil, fail(err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	service.StatsHandler = stats
	if cfg.User == "" {
		s.micro, err = micro.AddService(s.conn.Conn, service)
	}
	switch {
	case err != nil:
	case me.Kind == SubjectSwitch || me.Kind == SubjectAgent:
		err = Handle(s, Subject{Kind: me.Kind, Verb: presence},
			func(context.Context, struct{}) (any, error) { return nil, nil })
	default:
		err = s.conn.FlushTimeout(connectTimeout)
	}
	if err != nil {
		return nil, errors.Join(fail(err), s.Close())
	}
	return s, nil
}

// ID tells this server from any other, though it have the same name.
func (s *Server) ID() string { return s.micro.Info().ID }

// JetStream reports whether the server that it is connected to runs JetStream. Another of its
// cluster may.
func (s *Server) JetStream() bool {
	on, _ := s.conn.ConnectedServerJetStream()
	return on
}

// Done is closed when the connection has ended for good: after Close, or when the broker lets us in
// no more, as it does when the credentials are revoked. OnError hears the refusals. A broker that
// is gone is tried again for ever.
func (s *Server) Done() <-chan struct{} { return s.closedc }

// Err says, once Done is closed, why the broker lets us in no more; it wraps [reply.ErrNoAccess].
// nil: after Close.
func (s *Server) Err() error { return s.conn.gone() }

// Publish tells an event to whoever listens: operators, viewers, web pages, as JSON; the fabric
// alone when this is a host, see [Hear]. Events arrive in the order in which they were published.
func (s *Server) Publish(kind string, v any) error {
	subject := Subject{Kind: SubjectEvent, Fabric: s.cfg.Fabric, Verb: kind}
	if s.cfg.Node != "" {
		subject.Kind, subject.Node, subject.Event = SubjectSwitch, s.cfg.Node, true
	}
	if err := subject.Validate(); err != nil {
		return err
	}
	data, err := subject.Kind.encode(v)
	if err != nil {
		return fmt.Errorf("bus: event %s: %w", kind, err)
	}
	msg := &nats.Msg{Subject: subject.String(), Data: data}
	if subject.Event {
		msg.Header = nats.Header{headerBuild: {s.cfg.Build.String()}}
	}
	if err := s.conn.PublishMsg(msg); err != nil {
		return fmt.Errorf("bus: event %s: %w", kind, s.conn.closedErr(err))
	}
	return nil
}

// End tells all clients of the fabric that it has ended.
func (s *Server) End() error {
	if err := s.Publish(streamEnd, struct{}{}); err != nil {
		return err
	}
	return s.conn.closedErr(s.conn.FlushTimeout(connectTimeout))
}

// Times of Close, chosen by us: far more than a broker takes to hear that we go, and for what may
// be fetched of an answer.
const (
	byeTime   = time.Second
	lastWords = 2 * time.Second
)

// Close ends all answering. It waits for the handlers that are running, whose ctx it cancels, and a
// little while for those who have got their last answers in part.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		s.cancel()
		s.mu.Unlock()
		s.wg.Wait()
		s.awaitFetched()
		if s.micro != nil {
			_ = s.micro.Stop()               // so that who asks from now on is told at once that nobody is here,
			_ = s.conn.FlushTimeout(byeTime) // if the broker hears it
		}
		s.conn.Close() // after the last answer
		<-s.closedc
	})
	return nil
}

func (s *Server) awaitFetched() {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	for !s.answers.none() {
		select {
		case <-s.fetched:
		case <-s.closedc:
			return
		case <-timer.C:
			return // whoever asked has gone
		}
	}
}

// Handle answers requests, one at a time and in order, until Close. Those that viewers may ask
// begin with "get.". Requests and answers of [SubjectControl] are JSON, an answer an object without
// a member "error" or no object at all; others are msgpack, and refused unless both sides are of
// one [Protocol]. An error travels as its text, and as its [reply.Code] where it wraps one. ctx
// ends with the Server; [AskerOf] it is who asks. It returns when the broker knows of it.
//
// Of to the kind and verb count: the rest is that of the Server. A request that may be empty is a
// pointer; one that says no more than what it is, struct{}.
func Handle[Req, Resp any](s *Server, to Subject, h func(ctx context.Context, req Req) (Resp, error)) error {
	return HandleMany(s, to, 1, h)
}

// HandleMany is Handle with so many requests answered at once.
func HandleMany[Req, Resp any](s *Server, to Subject, atOnce int,
	h func(ctx context.Context, req Req) (Resp, error),
) error {
	to.Fabric, to.Node = s.me.Fabric, s.me.Node
	return s.serve(to, atOnce, func(ctx context.Context, body []byte) ([]byte, error) {
		var req Req
		if err := to.Kind.decode(body, &req); err != nil {
			return nil, Malformed(err)
		}
		resp, err := h(ctx, req)
		if err != nil {
			return nil, err
		}
		data, err := to.Kind.encode(resp)
		if err != nil {
			err = fmt.Errorf("encode the answer: %w", err)
		}
		return data, err
	})
}

// endpoint answers the requests of one subject.
type endpoint struct {
	server *Server
	to     Subject
	queue  chan arrived
	handle func(ctx context.Context, body []byte) ([]byte, error)

	asked, refused, busy atomic.Uint64
	took                 atomic.Int64 // nanoseconds
}

// arrived is a request that waits.
type arrived struct {
	reply  string
	from   Requester
	body   []byte
	packed bool // the body is compressed
}

func (s *Server) serve(to Subject, atOnce int, handle func(context.Context, []byte) ([]byte, error)) error {
	if err := to.Validate(); err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("bus: serve %s: %w", to.Verb, err) }
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return fail(wire.ErrClosed)
	}
	subject := to.String()
	if s.endpoints[subject] != nil {
		return fail(errors.New("it is served already"))
	}
	e := &endpoint{server: s, to: to, queue: make(chan arrived, maxWaiting), handle: handle}
	var err error
	if s.micro != nil {
		err = s.micro.AddEndpoint(strings.ReplaceAll(to.Verb, ".", "-"), e, micro.WithEndpointSubject(subject),
			micro.WithEndpointQueueGroupDisabled())
	} else {
		_, err = s.conn.Subscribe(subject, func(m *nats.Msg) { e.take(m.Reply, m.Header, m.Data) })
	}
	if err != nil {
		return fail(s.conn.closedErr(err))
	}
	s.endpoints[subject] = e
	for range atOnce {
		s.wg.Go(e.work)
	}
	if err := s.conn.FlushTimeout(connectTimeout); err != nil {
		return fail(fmt.Errorf("the broker does not confirm it: %w", s.conn.closedErr(err)))
	}
	return nil
}

// Handle implements [micro.Handler].
func (e *endpoint) Handle(r micro.Request) { e.take(r.Reply(), nats.Header(r.Headers()), r.Data()) }

// take is called by nats.go for each message, which waits for it.
func (e *endpoint) take(reply string, h nats.Header, body []byte) {
	s := e.server
	// We may publish anywhere, the requester may not: answering on a subject of its choice would
	// lend it our rights, to speak on a link, say.
	if !strings.HasPrefix(reply, inboxes) {
		s.cfg.OnError(fmt.Errorf("bus: request %s: the reply subject %.128q is no inbox: %w", e.to.Verb, reply, wire.ErrName))
		return
	}
	a := arrived{reply: reply, from: requesterIn(h), body: body}
	if !e.to.Kind.text() && a.from.Build.Protocol != s.cfg.Build.Protocol {
		e.answer(a, nil, s.cfg.Build.Fits("who asks "+e.to.who()+" for "+e.to.Verb, a.from.Build))
		return
	}
	if next := h.Get(headerNext); next != "" {
		e.fetch(a, next)
		return
	}
	if text := h.Get(headerChunk); text != "" {
		if err := e.assemble(&a, text); err != nil {
			e.answer(a, nil, err)
			return
		}
		if a.body == nil {
			e.send(a, nats.Header{headerChunk: {text}}, nil)
			return
		}
	}
	select {
	case e.queue <- a:
	default:
		e.busy.Add(1)
		e.answer(a, nil, fmt.Errorf("%s: %d requests of this kind wait: %w", e.to.who(), maxWaiting, errBusy))
	}
}

// assemble puts the body together that a chunk is the last of. Before that it is nil.
func (e *endpoint) assemble(a *arrived, text string) error {
	c, err := parseChunk(text)
	if err == nil {
		a.packed = true
		a.body, err = e.server.requests.add(c, a.body)
	}
	return err
}

// fetch answers with a further chunk of an answer.
func (e *endpoint) fetch(a arrived, text string) {
	c, err := parseChunk(text)
	var data []byte
	if err == nil {
		data, err = e.server.answers.fetch(c)
	}
	if err != nil {
		e.answer(a, nil, err)
		return
	}
	e.send(a, nats.Header{headerChunk: {text}}, data)
	select {
	case e.server.fetched <- struct{}{}:
	default:
	}
}

func (e *endpoint) work() {
	s := e.server
	for {
		select {
		case <-s.ctx.Done():
			return
		case a := <-e.queue:
			began := time.Now()
			data, err := []byte(nil), error(nil)
			if a.packed {
				a.body, err = wire.Decompress(a.body)
			}
			if err == nil {
				data, err = e.handle(context.WithValue(s.ctx, requesterKey{}, a.from), a.body)
			}
			e.answer(a, data, err)
			took := time.Since(began)
			e.asked.Add(1)
			e.took.Add(int64(took))
			s.cfg.Log.Debug("asked", "subject", e.to.String(), "by", a.from.Name, "build", a.from.Build.String(),
				"took", took,
				"err", err)
		}
	}
}

// clip bounds the text of an error in a header; the body has all of it.
const clip = 512

// answer sends data or an error.
func (e *endpoint) answer(a arrived, data []byte, err error) {
	h := nats.Header{}
	if limit := room(e.server.conn); err == nil && int64(len(data)) > limit {
		data, err = e.divide(a, h, data, limit)
	}
	if err != nil {
		e.refused.Add(1)
		code := reply.Code{Name: "refused"}
		errors.As(err, &code)
		text := plain.Text(err.Error())
		h.Set(micro.ErrorCodeHeader, code.Name)
		h.Set(micro.ErrorHeader, text[:min(len(text), clip)])
		if data, err = json.Marshal(failure{err.Error()}); err != nil {
			panic("bus: BUG: a string does not encode: " + err.Error())
		}
	}
	e.send(a, h, data)
}

// divide is the first chunk of an answer that is larger than a message. The others are kept to be
// fetched.
func (e *endpoint) divide(a arrived, h nats.Header, data []byte, limit int64) ([]byte, error) {
	if a.from.Build.Protocol == 0 { // else the requester would wait for nothing
		return nil, fmt.Errorf("the answer has %d bytes, the broker takes %d: raise its max_payload", len(data),
			e.server.conn.MaxPayload())
	}
	id, list, err := pack(data, limit)
	if err != nil {
		return nil, err
	}
	if len(list) > 1 {
		e.server.answers.store(id, list)
	}
	h.Set(headerChunk, chunk{id, 0, len(list)}.String())
	return list[0], nil
}

func (e *endpoint) send(a arrived, h nats.Header, data []byte) {
	h.Set(headerBuild, e.server.cfg.Build.String())
	if err := e.server.conn.PublishMsg(&nats.Msg{Subject: a.reply, Header: h, Data: data}); err != nil {
		e.server.cfg.OnError(fmt.Errorf("bus: answer %s: %w", e.to.Verb, e.server.conn.closedErr(err)))
	}
}

// stats are what "nats micro stats" shows of an endpoint beside what nats.go counts.
func stats(e *micro.Endpoint) any {
	own, ok := e.Handler.(*endpoint)
	if !ok {
		return nil
	}
	return struct {
		Answered uint64  `json:"answered"`
		Refused  uint64  `json:"refused"`
		Busy     uint64  `json:"busy"`
		Seconds  float64 `json:"seconds"` // spent on them
	}{own.asked.Load(), own.refused.Load(), own.busy.Load(), time.Duration(own.took.Load()).Seconds()}
}
