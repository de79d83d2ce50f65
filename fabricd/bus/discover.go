package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// What asking an agent comes back with, besides ErrDenied, ErrClosed and the errors of the context.
var (
	// ErrNoAgent means that no agent of that name is there.
	ErrNoAgent = errors.New("no agent of this name is there")
	// ErrSilent means that there is one, but it does not answer: it is stopped, or its host is gone and the broker has not noticed yet.
	ErrSilent = errors.New("the agent does not answer")
	// ErrAgentRefused means that the agent answered with an error, whose text follows.
	ErrAgentRefused = errors.New("the agent refuses")
)

// AgentsConfig says how to reach the agents of hosts. URL is required.
type AgentsConfig struct {
	URL         string // of the broker
	Credentials Credentials
	Program     string // names the connection, weft-<program>
}

// Agents asks the agents of hosts. It has a connection of its own. Methods may be called concurrently.
type Agents struct {
	cfg     AgentsConfig
	conn    *conn
	closedc chan struct{} // closed by nats.go after its last callback
	once    sync.Once
	denied  chan struct{} // cap 1: the broker has denied something
}

// DialAgents connects. The caller closes it.
func DialAgents(cfg AgentsConfig) (*Agents, error) {
	a := &Agents{cfg: cfg, closedc: make(chan struct{}), denied: make(chan struct{}, 1)}
	conn, err := connect(nil, cfg.URL, cfg.Credentials, []nats.Option{
		nats.Name(root + "-" + cfg.Program), nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1), // what could not be asked now has failed; asked later it would surprise
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				select {
				case a.denied <- struct{}{}:
				default:
				}
			}
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(a.closedc) }),
	})
	if err != nil {
		return nil, fmt.Errorf("bus: agents: %w", err)
	}
	a.conn = conn
	return a, nil
}

// Close ends the connection. Closing twice is closing once.
func (a *Agents) Close() error {
	a.once.Do(func() {
		a.conn.Close()
		<-a.closedc
	})
	return nil
}

// URL is the address of the broker that it is connected to at the moment.
func (a *Agents) URL() string { return redact(a.conn.ConnectedUrl()) }

// Discovery ends when nobody has answered for so long, or after so long in all. Chosen by us: agents answer in the time of a round trip.
const (
	quiet    = 300 * time.Millisecond
	discover = 3 * time.Second
)

// Discover asks who is there and returns who answers, in the order of the answers. It ends early once enough says so of what has been found.
func (a *Agents) Discover(ctx context.Context, enough func([]AgentFound) bool) ([]AgentFound, error) {
	subject, err := micro.ControlSubject(micro.InfoVerb, AgentService, "")
	if err != nil {
		return nil, fmt.Errorf("bus: agents: %w", err)
	}
	fail := func(err error) ([]AgentFound, error) {
		return nil, fmt.Errorf("bus: look for agents at %s: %w", redact(a.cfg.URL), err)
	}
	answers := make(chan *nats.Msg, 4096)
	inbox := a.conn.NewRespInbox()
	sub, err := a.conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return fail(a.conn.closedErr(err))
	}
	defer func() { _ = sub.Unsubscribe() }() // it goes with the connection
	if err := a.conn.PublishRequest(subject, inbox, nil); err != nil {
		return fail(a.conn.closedErr(err))
	}
	var out []AgentFound
	last, wait := time.NewTimer(discover), time.NewTimer(quiet)
	defer last.Stop()
	defer wait.Stop()
	for {
		select {
		case msg := <-answers:
			if nobody(msg) {
				return nil, nil
			}
			if f, err := decodeInfo(msg.Data); err == nil { // somebody else's service of that name is none of ours
				out = append(out, f)
			}
			if enough(out) {
				return out, nil
			}
			wait.Reset(quiet)
		case <-a.denied:
			return fail(fmt.Errorf("%v: %w", a.cfg.Credentials, ErrDenied))
		case <-wait.C:
			return out, nil
		case <-last.C:
			return out, nil
		case <-a.closedc:
			return fail(a.conn.closedErr(nats.ErrConnectionClosed))
		case <-ctx.Done():
			return fail(ctx.Err())
		}
	}
}

// Ask asks one agent: in travels as JSON (nothing when nil), the answer is decoded into out (dropped when nil). It ends with ctx, or after 10 s when
// ctx has no deadline. Errors wrap ErrNoAgent, ErrSilent, ErrAgentRefused, ErrDenied or ErrClosed.
func (a *Agents) Ask(ctx context.Context, agent, verb string, in, out any) error {
	subject := Subject{Kind: SubjectAgent, Node: agent, Verb: verb}
	if err := subject.Validate(); err != nil {
		return err
	}
	req, err := encodeRequest(in)
	if err != nil {
		return fmt.Errorf("bus: ask %s of agent %s: %w", verb, agent, err)
	}
	if limit := a.conn.MaxPayload(); int64(len(req)) > limit {
		return fmt.Errorf("bus: ask %s of agent %s: it takes %d bytes, the broker takes %d: raise its max_payload", verb, agent, len(req), limit)
	}
	reply, err := a.roundTrip(ctx, subject.String(), req)
	if err != nil {
		return fmt.Errorf("bus: ask %s of agent %s: %w", verb, agent, err)
	}
	if err := decodeReply(reply, out, ErrAgentRefused); err != nil {
		return fmt.Errorf("bus: agent %s: %s: %w", agent, verb, err)
	}
	return nil
}

func (a *Agents) roundTrip(ctx context.Context, subject string, req []byte) ([]byte, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	msg, err := a.conn.RequestWithContext(ctx, subject, req)
	switch {
	case err == nil:
		return msg.Data, nil
	case errors.Is(err, nats.ErrNoResponders):
		return nil, ErrNoAgent
	case errors.Is(err, context.DeadlineExceeded):
		select {
		case <-a.denied:
			return nil, fmt.Errorf("%v: %w", a.cfg.Credentials, ErrDenied)
		default:
		}
		return nil, lateError{ErrSilent, err}
	}
	return nil, a.conn.closedErr(err)
}
