package manager

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// acknowledged is the answer to an upload.
type acknowledged struct {
	At weft.Time `json:"at"`
}

// reported is the answer to a report.
type reported struct {
	Told fault.Reconfiguration `json:"told"`
}

type settleRequest struct {
	Version uint64 `json:"version"`
}

// asked is what a manager asks in its term, which the fabric has given to it.
type asked struct {
	Term string          `json:"term"`
	What json.RawMessage `json:"what,omitempty"`
}

// begun is the answer to who begins.
type begun struct {
	Term string `json:"term"`
}

// ErrSuperseded means that another manager has begun since, or the fabric was started again.
var ErrSuperseded = errors.New("the term of this manager is over: another has begun, or the fabric was started again")

// terms knows who manages. A manager that was stopped for a while and goes on would hold NICs for ever.
type terms struct{ now atomic.Pointer[string] }

func (t *terms) begin(context.Context, []byte) (any, error) {
	term := rand.Text()
	t.now.Store(&term)
	return begun{term}, nil
}

// only lets those through that are asked in the term of now.
func (t *terms) only(h bus.Handler) bus.Handler {
	return handler(func(ctx context.Context, a asked) (any, error) {
		if now := t.now.Load(); now == nil || a.Term != *now {
			return nil, ErrSuperseded
		}
		return h(ctx, a.What)
	})
}

// Serve answers what managers ask of f over control, until that is closed.
func Serve(control *bus.Control, f Fabric) error {
	var t terms
	for verb, h := range map[string]bus.Handler{
		verbPorts:    func(ctx context.Context, _ []byte) (any, error) { return f.Ports(ctx) },
		verbVersions: func(ctx context.Context, _ []byte) (any, error) { return f.Versions(ctx) },
		verbHold:     func(ctx context.Context, _ []byte) (any, error) { return nil, f.Hold(ctx) },
		verbResume:   func(ctx context.Context, _ []byte) (any, error) { return nil, f.Resume(ctx) },
		verbReport: handler(func(ctx context.Context, r fabric.Round) (any, error) {
			told, err := f.Report(ctx, r)
			return reported{told}, err
		}),
		verbSettle: handler(func(ctx context.Context, r settleRequest) (any, error) { return nil, f.Settle(ctx, r.Version) }),
		verbLoad: handler(func(ctx context.Context, p tables.Patch) (any, error) {
			at, err := f.Load(ctx, &p)
			return acknowledged{at}, err
		}),
	} {
		at := 1
		if verb == verbLoad || verb == verbSettle {
			at = atOnce
		}
		if err := control.ServeManager(verb, at, t.only(h)); err != nil {
			return err
		}
	}
	if err := control.ServeManager(verbBegin, 1, t.begin); err != nil {
		return err
	}
	return control.ServeManager(verbCharter, 1, func(ctx context.Context, _ []byte) (any, error) { return f.Charter(ctx) })
}

// handler decodes what is asked.
func handler[T any](do func(ctx context.Context, in T) (any, error)) bus.Handler {
	return func(ctx context.Context, req []byte) (any, error) {
		var in T
		if err := json.Unmarshal(req, &in); err != nil {
			return nil, fmt.Errorf("malformed request: %w", err)
		}
		return do(ctx, in)
	}
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
func (r *Remote) Charter(ctx context.Context) (c Charter, err error) {
	return c, r.client.Manage(ctx, verbCharter, nil, &c)
}

// Begin implements [Fabric].
func (r *Remote) Begin(ctx context.Context) error {
	var b begun
	err := r.client.Manage(ctx, verbBegin, nil, &b)
	if err == nil {
		r.term.Store(&b.Term)
	}
	return err
}

// ask is for all that needs a term.
func (r *Remote) ask(ctx context.Context, verb string, in, out any) error {
	var a asked
	if term := r.term.Load(); term != nil {
		a.Term = *term
	}
	if in != nil {
		var err error
		if a.What, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
	err := r.client.Manage(ctx, verb, a, out)
	if errors.Is(err, bus.ErrRefused) && strings.HasSuffix(err.Error(), ErrSuperseded.Error()) {
		return fmt.Errorf("%s: %w", verb, ErrSuperseded)
	}
	return err
}

// Ports implements [Fabric].
func (r *Remote) Ports(ctx context.Context) (p fabric.Ports, err error) {
	return p, r.ask(ctx, verbPorts, nil, &p)
}

// Versions implements [Fabric].
func (r *Remote) Versions(ctx context.Context) (v []uint64, err error) {
	return v, r.ask(ctx, verbVersions, nil, &v)
}

// Load implements [Fabric].
func (r *Remote) Load(ctx context.Context, p *tables.Patch) (weft.Time, error) {
	var a acknowledged
	err := r.ask(ctx, verbLoad, p, &a)
	return a.At, err
}

// Hold implements [Fabric].
func (r *Remote) Hold(ctx context.Context) error { return r.ask(ctx, verbHold, nil, nil) }

// Resume implements [Fabric].
func (r *Remote) Resume(ctx context.Context) error { return r.ask(ctx, verbResume, nil, nil) }

// Report implements [Fabric].
func (r *Remote) Report(ctx context.Context, round fabric.Round) (told fault.Reconfiguration, err error) {
	var answer reported
	err = r.ask(ctx, verbReport, round, &answer)
	return answer.Told, err
}

// Settle implements [Fabric].
func (r *Remote) Settle(ctx context.Context, version uint64) error {
	return r.ask(ctx, verbSettle, settleRequest{version}, nil)
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
