// Package remote has hosts in other processes, over NATS: the process, which serves a [host.Local],
// and its leader, which admits and reaches it.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic/nicd"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// GoneAfter is [Config].Alone of a host that is one switch alone. Chosen by us: a leader asks ten
// times a second, so one that has asked nothing for so long is gone, or takes the host for dead.
const GoneAfter = 10

// Config of a host. Spec and URL are required.
type Config struct {
	Spec        host.Spec
	URL         string          // of the broker
	Credentials bus.Credentials // for when the spec has none
	Log         *slog.Logger    // nil: discarded
	Ready       func()          // called once when the host answers; nil: nobody
	Alone       int             // seconds in which nobody asks after which it ends; 0: it goes on, for another leader
	// Elapsed returns what has passed by the machine's clock since some moment; nil: by the
	// process's. Tests have clocks that drift.
	Elapsed func() time.Duration
	// Programs lets programs of this machine have the NICs of the host, by its clock, until they are
	// closed; nil: none can. Without it the host runs all the same.
	Programs func(g *topology.Graph, nic func(weft.NICID) *nicd.NIC, now func() weft.Time) (Programs, error)
}

// Programs are those that have the NICs of a host.
type Programs interface {
	Report() report.Report
	io.Closer
}

// Run runs a host of a running fabric. It returns nil when the host was told to end, and the error
// of ctx when that ends. Other errors say why the host cannot be made, or that the broker no longer
// takes its credentials. Nothing of the host is left then.
func Run(ctx context.Context, cfg Config) error {
	p, err := Open(ctx, cfg)
	if err != nil {
		return err
	}
	if cfg.Ready != nil {
		cfg.Ready()
	}
	_, err = p.Wait(ctx)
	return errors.Join(err, p.Close())
}

// Server serves a [host.Local] over NATS. Its methods are safe for any goroutine.
type Server struct {
	spec            host.Spec
	log             *slog.Logger
	host            *host.Local
	runtime         *host.Live
	links           *bus.NATS
	publisher       *publisher
	notices         chan weft.Notice // bound: maxNotices; for NICs of the host
	control         *bus.Server
	transportEvents *host.TransportEvents

	mu       sync.Mutex         // serialises orders
	term     atomic.Uint64      // of the leader
	ended    chan host.EndOrder // capacity 2: it was told to end, and before perhaps to stay
	queried  chan struct{}      // capacity 1: somebody asks
	later    chan error         // capacity 1: see [ErrLater]
	alone    int                // see Config
	running  sync.WaitGroup
	programs Programs // nil: there are none
	stop     context.CancelFunc
	halt     func()        // ends the machine, and returns when it has; its nodes can be read all the same
	halted   chan struct{} // closed when the machine has ended
	once     sync.Once
	failed   error // of Close
}

// Open makes a host and serves it. Its links have no signal yet, so it sends nothing. The caller
// closes it.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	c := cfg.Spec
	p := &Server{
		spec: c, log: cfg.Log, ended: make(chan host.EndOrder, 2), halted: make(chan struct{}),
		notices: make(chan weft.Notice, maxNotices),
		queried: make(chan struct{}, 1), later: make(chan error, 1), alone: cfg.Alone,
		transportEvents: host.NewTransportEvents(),
	}
	p.term.Store(c.Term)
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if err := p.open(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("host %s of fabric %s: %w", c.Host, c.Fabric, err), p.Close())
	}
	return p, nil
}

func (p *Server) open(ctx context.Context, cfg Config) error {
	c := &p.spec
	g, err := c.Graph()
	if err != nil {
		return err
	}
	if err := c.Check(g); err != nil {
		return err
	}
	layout, err := layoutOf(c, g)
	if err != nil {
		return err
	}
	fw, err := c.Firmware(ctx, g)
	if err != nil {
		return err
	}
	creds, identity, err := identityOf(c, cfg.Credentials)
	if err != nil {
		return err
	}
	links := bus.NATSConfig{Fabric: c.Fabric, URL: cfg.URL, Credentials: creds, Layout: layout}
	if c.Placement.Shared {
		links.Layout, links.Subscription = layout.Only(g.Switches[c.Placement.Switches[0].First].Name), bus.PerDirection
	}
	if p.links, err = bus.NewNATS(links); err != nil {
		return err
	}
	p.links.Watch(p.transportEvents.Add)
	p.publisher = newPublisher(c, p.carry, func(s host.EventBatch) error {
		return p.control.Publish(host.TellEvents,
			s)
	})
	clock := host.NewClock(c.Now, cfg.Elapsed)
	p.runtime = &host.Live{Transport: p.links, Clock: clock, Incarnation: c.Number, NoSelfProbe: c.Placement.Shared}
	spec := *c
	if fits := wire.Batch(p.links.MaxFrame(), c.Switch.VCs); c.Switch.Batch == 0 || fits < c.Switch.Batch {
		spec.Switch.Batch = min(fits, switchd.DefaultBatch)
	}
	p.host, err = host.NewLocal(host.LocalConfig{
		Spec: spec, Graph: g, Firmware: fw, Runtime: p.runtime, Steer: clock.Steer, Factor: p.runtime.SetFactor,
		Observed: p.publisher.counts,
		Halt:     func() { p.halt() },
		Panicked: func(f switching.RoutePanic) {
			what := host.Panicked(g, p.host.Routing(f.Switch), &f)
			p.log.Error(what, "switch", g.Switches[f.Switch].Name)
			p.publisher.failed(f.Switch, clock.Now(), what)
		},
		Watch: func(n weft.Node) switchd.Observer { return &watch{p.publisher, n} },
	})
	if err != nil {
		return err
	}
	if err := p.links.Ready(context.Background()); err != nil {
		return err
	}
	p.control, err = bus.NewServer(bus.ServerConfig{
		Fabric: c.Fabric, Node: c.Host, URL: cfg.URL, Credentials: creds,
		OnError: func(err error) { p.log.Warn("control", "host", c.Host, "err", err) }, Log: p.log,
	})
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(context.Background())
	p.stop = stop
	driving, halt := context.WithCancel(work)
	p.halt = func() { halt(); <-p.halted }
	p.running.Go(func() { defer close(p.halted); p.runtime.NodeRuntime.Run(driving) })
	p.running.Go(func() { p.publisher.run(work) })
	p.running.Go(func() { p.carryNotices(work) })
	p.running.Go(func() { p.carryTransportEvents(work) })
	if cfg.Programs != nil {
		if p.programs, err = cfg.Programs(g, p.host.NIC, clock.Now); err != nil {
			p.log.Warn("programs", "host", c.Host, "err", err)
		}
	}
	return errors.Join(identity.Serve(p.control), p.serve())
}

// stayTime is how long a host stays that was told to end and stay. Chosen by us: a leader that dies
// is replaced before.
const stayTime = 10 * time.Second

// Wait waits until the host is told to end, and returns why. The error is that of ctx when that
// ends first, or wraps [ErrAlone], [ErrLater] or [ErrRefused].
func (p *Server) Wait(ctx context.Context) (why string, err error) {
	var tick <-chan time.Time
	if p.alone > 0 {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		tick = t.C
	}
	var stayed <-chan time.Time // nil: it was not told to end and stay
	// This counts ticks and not time: a process that was stopped has missed ticks, and that does
	// not mean that nobody leads.
	for silent := 0; ; {
		err = nil
		select {
		case o := <-p.ended:
			if o.Stay {
				why, stayed = o.Why, time.After(stayTime)
				continue
			}
			p.log.Info("host ends", "host", p.spec.Host, "why", o.Why)
			return o.Why, nil
		case <-stayed:
		case <-p.control.Done():
			if len(p.ended) > 0 {
				continue // who has told it to end has taken its credentials since
			}
			err = fmt.Errorf("host %s of fabric %s: %w; another process may be this host now", p.spec.Host,
				p.spec.Fabric, p.refused())
		case err = <-p.later:
			err = fmt.Errorf("host %s of fabric %s: %w", p.spec.Host, p.spec.Fabric, err)
		case <-p.queried:
			silent = 0
			continue
		case <-tick:
			if silent++; silent <= p.alone {
				continue
			}
			err = fmt.Errorf("host %s of fabric %s: %w: %d s have passed", p.spec.Host, p.spec.Fabric,
				ErrAlone, p.alone)
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if stayed != nil {
			return why, nil
		}
		return "", err
	}
}

// refused is why the broker no longer lets the host in.
func (p *Server) refused() error {
	if err := p.control.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return ErrRefused // a password of an embedded broker
}

// Close ends the host without telling anybody, and returns when nothing of it is left. A second
// call does nothing.
func (p *Server) Close() error {
	p.once.Do(func() {
		if p.programs != nil {
			p.failed = p.programs.Close()
		}
		if p.stop != nil {
			p.stop()
			p.running.Wait() // the publisher tells the last
		}
		if p.control != nil {
			p.failed = errors.Join(p.failed, p.control.Close())
		}
		if p.links != nil {
			p.failed = errors.Join(p.failed, p.links.Close())
		}
	})
	return p.failed
}
