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
	"github.com/nats-io/nats.go/micro"

	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/switch/wire"
)

// AgentService is the name of the service that the agents of all hosts are, as "nats micro ls" lists it.
const AgentService = root + "-" + agents

// ServiceConfig configures the agent of a host. Name, URL and Version are required.
type ServiceConfig struct {
	Name        string // of the host
	URL         string // of the broker
	Credentials Credentials
	Version     string            // as 1.0.0+abc
	Metadata    map[string]string // what others should know before they ask
	// OnError is told of requests that cannot be answered, and of errors of the connection. It must not block. Nil ignores them.
	OnError func(error)
}

// Service is the agent of a host as others find and ask it: a NATS micro service with one endpoint for each verb. It has a connection of its own.
type Service struct {
	cfg     ServiceConfig
	conn    *conn
	micro   micro.Service
	closedc chan struct{} // closed by nats.go after its last callback
	ctx     context.Context
	cancel  context.CancelFunc
	once    sync.Once

	mu   sync.Mutex     // wg.Add against Close
	wg   sync.WaitGroup // the goroutines of Serve
	seen map[string]bool
}

// NewService connects and announces the agent. The caller closes it.
func NewService(cfg ServiceConfig) (*Service, error) {
	if err := ValidateAgent(cfg.Name); err != nil {
		return nil, err
	}
	if cfg.OnError == nil {
		cfg.OnError = func(error) {}
	}
	s := &Service{cfg: cfg, closedc: make(chan struct{}), seen: make(map[string]bool)}
	fail := func(err error) error { return fmt.Errorf("bus: agent %q: %w", cfg.Name, err) }
	conn, err := connect(nil, cfg.URL, cfg.Credentials, []nats.Option{
		nats.Name(AgentService + "-" + cfg.Name), nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { cfg.OnError(fail(err)) }),
		nats.ClosedHandler(func(*nats.Conn) { close(s.closedc) }),
	})
	if err != nil {
		return nil, fail(err)
	}
	s.conn = conn
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.micro, err = micro.AddService(conn.Conn, micro.Config{
		Name: AgentService, Version: cfg.Version, Description: "runs switches and NICs of Weft fabrics on its host", Metadata: cfg.Metadata,
	})
	if err == nil {
		err = conn.FlushTimeout(connectTimeout)
	}
	if err != nil {
		return nil, errors.Join(fail(err), s.Close())
	}
	return s, nil
}

// ID tells this agent from any other, though it have the same name.
func (s *Service) ID() string { return s.micro.Info().ID }

// Keeps reports whether the server that it is connected to runs JetStream. Another of its cluster may.
func (s *Service) Keeps() bool {
	on, _ := s.conn.ConnectedServerJetStream()
	return on
}

// Done is closed when the connection has ended for good: after Close, or when the broker lets us in no more.
func (s *Service) Done() <-chan struct{} { return s.closedc }

// Err says, once Done is closed, why the broker lets us in no more; it wraps [ErrNoAccess]. nil: after Close.
func (s *Service) Err() error { return s.conn.gone() }

// Serve answers the requests of a verb, one at a time, until Close. It returns when the broker knows of it.
func (s *Service) Serve(verb string, h Handler) error {
	subject := Subject{Kind: SubjectAgent, Node: s.cfg.Name, Verb: verb}
	if err := subject.Validate(); err != nil {
		return err
	}
	requests := make(chan micro.Request, maxWaiting)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return fmt.Errorf("bus: agent %q: serve %s: %w", s.cfg.Name, verb, wire.ErrClosed)
	}
	if s.seen[verb] {
		return fmt.Errorf("bus: agent %q: serve %s: it is served already", s.cfg.Name, verb)
	}
	// nats.go waits for the handler: one that is full is told so, and asks again.
	full := func(r micro.Request) {
		select {
		case requests <- r:
		default:
			s.answer(verb, r, encodeReply(nil, fmt.Errorf("agent %s is busy with %d requests of this kind: ask again", s.cfg.Name, maxWaiting)))
		}
	}
	err := s.micro.AddEndpoint(verb, micro.HandlerFunc(full), micro.WithEndpointSubject(subject.String()), micro.WithEndpointQueueGroupDisabled())
	if err != nil {
		return fmt.Errorf("bus: agent %q: serve %s: %w", s.cfg.Name, verb, err)
	}
	s.seen[verb] = true
	s.wg.Go(func() {
		for {
			select {
			case <-s.ctx.Done():
				return
			case r := <-requests:
				s.answer(verb, r, encodeReply(h(s.ctx, r.Data())))
			}
		}
	})
	if err := s.conn.FlushTimeout(connectTimeout); err != nil {
		return fmt.Errorf("bus: agent %q: serve %s: the broker does not confirm it: %w", s.cfg.Name, verb, err)
	}
	return nil
}

func (s *Service) answer(verb string, r micro.Request, answer []byte) {
	// We may publish where the requester may not, on a link, say: see Control.
	if !strings.HasPrefix(r.Reply(), inboxes) {
		s.cfg.OnError(fmt.Errorf("bus: agent %q: request %s: the reply subject %.128q is no inbox: %w", s.cfg.Name, verb, r.Reply(), wire.ErrName))
		return
	}
	if limit := s.conn.MaxPayload(); int64(len(answer)) > limit {
		answer = encodeReply(nil, fmt.Errorf("the answer has %d bytes, the broker takes %d: raise its max_payload", len(answer), limit))
	}
	if err := r.Respond(answer); err != nil {
		s.cfg.OnError(fmt.Errorf("bus: agent %q: answer %s: %w", s.cfg.Name, verb, err))
	}
}

// byeTime is far more than a broker takes to hear that we go.
const byeTime = time.Second

// Close ends all answering, and waits for the handlers that are running, whose ctx it cancels.
func (s *Service) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		s.cancel()
		s.mu.Unlock()
		s.wg.Wait()
		if s.micro != nil {
			_ = s.micro.Stop()               // so that who asks from now on is told at once that nobody is here,
			_ = s.conn.FlushTimeout(byeTime) // if the broker hears it
		}
		s.conn.Close() // after the last answer
		<-s.closedc
	})
	return nil
}

// AgentFound is an agent that has answered.
type AgentFound struct {
	ID, Version string
	Metadata    map[string]string
}

func decodeInfo(data []byte) (AgentFound, error) {
	var i micro.Info
	if err := json.Unmarshal(plain.JSON(data), &i); err != nil {
		return AgentFound{}, fmt.Errorf("bus: answer of an agent: %w", err)
	}
	return AgentFound{ID: i.ID, Version: i.Version, Metadata: i.Metadata}, nil
}
