// Package remote is a fabric as its subnet manager reaches it over the broker, and what answers it
// there.
package remote

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
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/switch/tables"
)

// Verbs that a fabric serves for its manager alone.
const (
	verbSpec     = "spec"
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

// terms knows who manages. A manager that was stopped for a while and goes on would hold NICs for
// ever.
type terms struct{ now atomic.Pointer[string] }

func (t *terms) begin(context.Context, struct{}) (string, error) {
	term := rand.Text()
	t.now.Store(&term)
	return term, nil
}

// serve answers what is asked in the term of now, so many requests at once.
func serve[Req, Resp any](s *bus.Server, t *terms, verb string, atOnce int,
	do func(ctx context.Context, in Req) (Resp, error),
) error {
	return bus.HandleMany(s, to(verb), atOnce, func(ctx context.Context, a asked[Req]) (resp Resp, err error) {
		if now := t.now.Load(); now == nil || a.Term != *now {
			return resp, manager.ErrSuperseded
		}
		return do(ctx, a.What)
	})
}

func to(verb string) bus.Subject { return bus.Subject{Kind: bus.SubjectManage, Verb: verb} }

// none is for questions that say no more than what they are.
type none = struct{}

// Serve answers what managers ask of f over control, until that is closed.
func Serve(control *bus.Server, f manager.Fabric) error {
	var t terms
	return errors.Join(
		serve(control, &t, verbPorts, 1, func(ctx context.Context, _ none) (fabric.Ports, error) { return f.Ports(ctx) }),
		serve(control, &t, verbVersions, 1, func(ctx context.Context, _ none) ([]uint64, error) { return f.Versions(ctx) }),
		serve(control, &t, verbHold, 1, func(ctx context.Context, _ none) (none, error) { return none{}, f.Hold(ctx) }),
		serve(control, &t, verbResume, 1, func(ctx context.Context, _ none) (none, error) { return none{}, f.Resume(ctx) }),
		serve(control, &t, verbReport, 1, f.Report),
		serve(control, &t, verbSettle, manager.AtOnce,
			func(ctx context.Context, r settleRequest) (none, error) { return none{}, f.Settle(ctx, r.Version) }),
		serve(control, &t, verbLoad, manager.AtOnce,
			func(ctx context.Context, p tables.Patch) (weft.Time, error) { return f.Load(ctx, &p) }),
		bus.Handle(control, to(verbBegin), t.begin),
		bus.Handle(control, to(verbSpec), func(ctx context.Context, _ none) (manager.Spec,
			error,
		) {
			return f.Spec(ctx)
		}),
	)
}

// Fabric is one reached over its broker, as its manager.
type Fabric struct {
	client *bus.Client
	term   atomic.Pointer[string]
}

// Dial connects. The caller closes it.
func Dial(cfg bus.ClientConfig) (*Fabric, error) {
	c, err := bus.Dial(cfg)
	if err != nil {
		return nil, err
	}
	return &Fabric{client: c}, nil
}

// Close ends the connection.
func (r *Fabric) Close() error { return r.client.Close() }

// Ended reports whether the fabric has ended.
func (r *Fabric) Ended() bool { return r.client.Ended() }

// Spec implements [manager.Fabric].
func (r *Fabric) Spec(ctx context.Context) (manager.Spec, error) {
	return bus.Call[manager.Spec](ctx, r.client, to(verbSpec), nil)
}

// Begin implements [manager.Fabric].
func (r *Fabric) Begin(ctx context.Context) error {
	term, err := bus.Call[string](ctx, r.client, to(verbBegin), nil)
	if err == nil {
		r.term.Store(&term)
	}
	return err
}

// ask is for all that needs a term.
func ask[Resp, Req any](ctx context.Context, r *Fabric, verb string, in Req) (Resp, error) {
	a := asked[Req]{What: in}
	if term := r.term.Load(); term != nil {
		a.Term = *term
	}
	return bus.Call[Resp](ctx, r.client, to(verb), a)
}

// Ports implements [manager.Fabric].
func (r *Fabric) Ports(ctx context.Context) (fabric.Ports, error) {
	return ask[fabric.Ports](ctx, r, verbPorts, none{})
}

// Versions implements [manager.Fabric].
func (r *Fabric) Versions(ctx context.Context) ([]uint64, error) {
	return ask[[]uint64](ctx, r, verbVersions, none{})
}

// Load implements [manager.Fabric].
func (r *Fabric) Load(ctx context.Context, p *tables.Patch) (weft.Time, error) {
	return ask[weft.Time](ctx, r, verbLoad, p)
}

// Hold implements [manager.Fabric].
func (r *Fabric) Hold(ctx context.Context) error { return r.order(ctx, verbHold, none{}) }

// Resume implements [manager.Fabric].
func (r *Fabric) Resume(ctx context.Context) error { return r.order(ctx, verbResume, none{}) }

// Report implements [manager.Fabric].
func (r *Fabric) Report(ctx context.Context, round fabric.Round) (fault.Reconfiguration, error) {
	return ask[fault.Reconfiguration](ctx, r, verbReport, round)
}

// Settle implements [manager.Fabric].
func (r *Fabric) Settle(ctx context.Context, version uint64) error {
	return r.order(ctx, verbSettle, settleRequest{version})
}

func (r *Fabric) order(ctx context.Context, verb string, in any) error {
	_, err := ask[none](ctx, r, verb, in)
	return err
}

const (
	// eventBuffer bounds the events that wait to be looked at. One that is lost is no harm while
	// another follows: events say when to ask, and the answer says what is so.
	eventBuffer = 4096
	// quietTime is how long nothing may be heard before the fabric is asked whether it is still
	// there. Chosen by us.
	quietTime = time.Second
)

// Watch implements [manager.Fabric].
func (r *Fabric) Watch(ctx context.Context, heard func()) error {
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
				if silent++; silent > 2 || errors.Is(err, manager.ErrSuperseded) || errors.Is(err, reply.ErrEnded) {
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

var _ manager.Fabric = (*Fabric)(nil)
