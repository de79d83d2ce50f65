package manager

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/switch/tables"
)

// Verbs that a fabric serves for its manager alone.
const (
	verbCharter  = "charter"
	verbBegin    = "begin"
	verbPorts    = "ports"
	verbVersions = "versions"
	verbLoad     = "load"
	verbHold     = "hold"
	verbResume   = "resume"
	verbReport   = "report"
	verbSettle   = "settle"
)

// streamEvent is the kind under which a fabric publishes its events.
const streamEvent = "event"

type settleRequest struct{ Version uint64 }

// asked is what a manager asks in its term, which the fabric has given to it.
type asked[T any] struct {
	Term string
	What T
}

// ErrSuperseded means that another manager has begun since, or the fabric was started again.
var ErrSuperseded = bus.Code{Name: "superseded", Text: "the term of this manager is over: another has begun, or the fabric was started again"}

// terms knows who manages. A manager that was stopped for a while and goes on would hold NICs for ever.
type terms struct{ now atomic.Pointer[string] }

func (t *terms) begin(context.Context, struct{}) (string, error) {
	term := rand.Text()
	t.now.Store(&term)
	return term, nil
}

// serve answers what is asked in the term of now, so many requests at once.
func serve[Req, Resp any](s *bus.Server, t *terms, verb string, atOnce int, do func(ctx context.Context, in Req) (Resp, error)) error {
	return bus.HandleMany(s, to(verb), atOnce, func(ctx context.Context, a asked[Req]) (resp Resp, err error) {
		if now := t.now.Load(); now == nil || a.Term != *now {
			return resp, ErrSuperseded
		}
		return do(ctx, a.What)
	})
}

func to(verb string) bus.Subject { return bus.Subject{Kind: bus.SubjectManage, Verb: verb} }

// none is for questions that say no more than what they are.
type none = struct{}

// Serve answers what managers ask of f over control, until that is closed.
func Serve(control *bus.Server, f Fabric) error {
	var t terms
	return errors.Join(
		serve(control, &t, verbPorts, 1, func(ctx context.Context, _ none) (fabric.Ports, error) { return f.Ports(ctx) }),
		serve(control, &t, verbVersions, 1, func(ctx context.Context, _ none) ([]uint64, error) { return f.Versions(ctx) }),
		serve(control, &t, verbHold, 1, func(ctx context.Context, _ none) (none, error) { return none{}, f.Hold(ctx) }),
		serve(control, &t, verbResume, 1, func(ctx context.Context, _ none) (none, error) { return none{}, f.Resume(ctx) }),
		serve(control, &t, verbReport, 1, f.Report),
		serve(control, &t, verbSettle, atOnce, func(ctx context.Context, r settleRequest) (none, error) { return none{}, f.Settle(ctx, r.Version) }),
		serve(control, &t, verbLoad, atOnce, func(ctx context.Context, p tables.Patch) (weft.Time, error) { return f.Load(ctx, &p) }),
		bus.Handle(control, to(verbBegin), t.begin),
		bus.Handle(control, to(verbCharter), func(ctx context.Context, _ none) (Charter, error) { return f.Charter(ctx) }),
	)
}

// Remote is a fabric reached over its broker, as its manager.
type Remote struct {
	client *bus.Client
	term   atomic.Pointer[string]
}

// Dial connects. The caller closes it.
func Dial(cfg bus.ClientConfig) (*Remote, error) {
	c, err := bus.Dial(cfg)
	if err != nil {
		return nil, err
	}
	return &Remote{client: c}, nil
}

// Close ends the connection.
func (r *Remote) Close() error { return r.client.Close() }

// Ended reports whether the fabric has ended.
func (r *Remote) Ended() bool { return r.client.Ended() }

// Charter implements [Fabric].
func (r *Remote) Charter(ctx context.Context) (Charter, error) {
	return bus.Call[Charter](ctx, r.client, to(verbCharter), nil)
}

// Begin implements [Fabric].
func (r *Remote) Begin(ctx context.Context) error {
	term, err := bus.Call[string](ctx, r.client, to(verbBegin), nil)
	if err == nil {
		r.term.Store(&term)
	}
	return err
}

// ask is for all that needs a term.
func ask[Resp, Req any](ctx context.Context, r *Remote, verb string, in Req) (Resp, error) {
	a := asked[Req]{What: in}
	if term := r.term.Load(); term != nil {
		a.Term = *term
	}
	return bus.Call[Resp](ctx, r.client, to(verb), a)
}

// Ports implements [Fabric].
func (r *Remote) Ports(ctx context.Context) (fabric.Ports, error) {
	return ask[fabric.Ports](ctx, r, verbPorts, none{})
}

// Versions implements [Fabric].
func (r *Remote) Versions(ctx context.Context) ([]uint64, error) {
	return ask[[]uint64](ctx, r, verbVersions, none{})
}

// Load implements [Fabric].
func (r *Remote) Load(ctx context.Context, p *tables.Patch) (weft.Time, error) {
	return ask[weft.Time](ctx, r, verbLoad, p)
}

// Hold implements [Fabric].
func (r *Remote) Hold(ctx context.Context) error { return r.order(ctx, verbHold, none{}) }

// Resume implements [Fabric].
func (r *Remote) Resume(ctx context.Context) error { return r.order(ctx, verbResume, none{}) }

// Report implements [Fabric].
func (r *Remote) Report(ctx context.Context, round fabric.Round) (fault.Reconfiguration, error) {
	return ask[fault.Reconfiguration](ctx, r, verbReport, round)
}

// Settle implements [Fabric].
func (r *Remote) Settle(ctx context.Context, version uint64) error {
	return r.order(ctx, verbSettle, settleRequest{version})
}

func (r *Remote) order(ctx context.Context, verb string, in any) error {
	_, err := ask[none](ctx, r, verb, in)
	return err
}

const (
	// eventBuffer bounds the events that wait to be looked at. One that is lost is no harm while another follows: events say when to ask, and the
	// answer says what is so.
	eventBuffer = 4096
	// quietTime is how long nothing may be heard before the fabric is asked whether it is still there. Chosen by us.
	quietTime = time.Second
)

// Watch implements [Fabric].
func (r *Remote) Watch(ctx context.Context, heard func()) error {
	events, err := r.client.Subscribe(streamEvent, eventBuffer)
	if err != nil {
		return err
	}
	defer func() { _ = events.Close() }() // the connection ends it in any case
	heard()                               // what happened before
	silent := 0
	for {
		wait, cancel := context.WithTimeout(ctx, quietTime)
		n, err := events.Next(wait)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			if _, err := r.Ports(ctx); err != nil && ctx.Err() == nil {
				if silent++; silent > 2 || errors.Is(err, ErrSuperseded) || errors.Is(err, bus.ErrEnded) {
					return err
				}
				continue
			}
			silent = 0
			heard() // should an event have been lost
			continue
		case err != nil:
			return err
		}
		var e struct {
			Kind string `json:"kind"`
		}
		if json.Unmarshal(n.Data, &e) == nil && (e.Kind == fabric.EventLinkDown || e.Kind == fabric.EventLinkUp) {
			heard()
		}
	}
}

var (
	_ Fabric = (*Remote)(nil)
	_ Fabric = Local{}
)
