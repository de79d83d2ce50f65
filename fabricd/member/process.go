package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// What ends a process before it is told to leave.
var (
	// ErrEnded means that the fabric has ended, and has said so.
	ErrEnded = errors.New("told to end")
	// ErrGone means that the fabric does not ask for the switch any more.
	ErrGone = errors.New("the fabric is gone")
)

// Chosen by us. A fabric asks ten times a second; one that asks nothing for so many seconds is gone, or has given us up.
const (
	goneAfter   = 10
	attachTime  = 20 * time.Second
	leaveTime   = 15 * time.Second // the fabric may be waiting for a repair
	requestTime = 15 * time.Second
)

// Config of a switch process. All but Log and Attached are required.
type Config struct {
	Fabric      string
	URL         string          // of the broker
	Credentials bus.Credentials // of an operator of the fabric
	Switch      string
	Log         *slog.Logger    // nil: discarded
	Attached    func(c Charter) // called once the links are up
}

// Run is one switch of a running fabric until ctx ends; then it leaves in order and returns nil. Other errors say why the
// fabric does not take it, or wrap ErrEnded or ErrGone.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	client, err := bus.Dial(bus.ClientConfig{Fabric: cfg.Fabric, URL: cfg.URL, Credentials: cfg.Credentials, Program: "switch-" + cfg.Fabric})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("switch %s: name of this host: %w", cfg.Switch, err)
	}
	var c Charter
	if err := request(ctx, client, requestTime, VerbJoin, JoinRequest{Switch: cfg.Switch, PID: os.Getpid(), Host: host}, &c); err != nil {
		return fmt.Errorf("switch %s joins fabric %s: %w", cfg.Switch, cfg.Fabric, err)
	}
	cfg.Log.Info("joined", "switch", cfg.Switch, "number", c.Number, "firmware", c.Firmware)
	p := process{cfg: cfg, charter: c, client: client, ended: make(chan string, 1), asked: make(chan struct{}, 1)}
	if err := p.open(); err != nil {
		// The fabric waits for us; tell it that nobody comes.
		return errors.Join(fmt.Errorf("switch %s: %w", cfg.Switch, err), p.leave())
	}
	return p.run(ctx)
}

func request(ctx context.Context, client *bus.Client, d time.Duration, verb string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return client.Request(ctx, verb, in, out)
}

// process is a switch process that has a charter.
type process struct {
	cfg     Config
	charter Charter
	client  *bus.Client
	links   *bus.NATS
	control *bus.Control
	sw      *pipeline
	teller  *teller
	loader  loader

	ended chan string   // capacity 1: the fabric has ended, and why
	asked chan struct{} // capacity 1: the fabric asks
}

// open makes the switch and serves it. It carries nothing yet, for its links have no signal.
func (p *process) open() (err error) {
	c, creds := p.charter, p.charter.Credentials
	if creds == (bus.Credentials{}) {
		creds = p.cfg.Credentials
	}
	p.links, err = bus.NewNATS(bus.NATSConfig{
		Fabric: c.Fabric, URL: p.cfg.URL, Credentials: creds, Shards: c.Shards, Subscription: bus.PerDirection,
	})
	if err != nil {
		return err
	}
	p.links.Watch(func(e bus.Event) { p.cfg.Log.Warn("links", "event", e.String()) })
	p.teller = newTeller(c, func(s Seen) error { return p.control.Publish(TellSeen, s) })
	if p.sw, err = build(c, p.cfg.Switch, p.links, p.teller); err != nil {
		return errors.Join(err, p.close())
	}
	if err = p.links.Ready(context.Background()); err != nil {
		return errors.Join(err, p.close())
	}
	p.control, err = bus.NewControl(bus.ControlConfig{
		Fabric: c.Fabric, Node: p.cfg.Switch, URL: p.cfg.URL, Credentials: creds,
		OnError: func(err error) { p.cfg.Log.Warn("control", "err", err) },
	})
	if err != nil {
		return errors.Join(err, p.close())
	}
	for verb, h := range map[string]func(req []byte) error{
		AskState: func([]byte) error { return nil },
		AskPort:  p.port,
		AskCut:   p.cut,
		AskCrash: func([]byte) error { p.sw.crash(); return nil },
		AskLoad:  p.load,
		AskEnd:   p.end,
	} {
		if err := p.control.Serve(verb, func(_ context.Context, req []byte) (any, error) {
			select {
			case p.asked <- struct{}{}:
			default:
			}
			if err := h(req); err != nil {
				return nil, err
			}
			return p.sw.state(), nil
		}); err != nil {
			return errors.Join(err, p.close())
		}
	}
	return nil
}

// close ends what open began.
func (p *process) close() (err error) {
	if p.control != nil {
		err = p.control.Close()
	}
	return errors.Join(err, p.links.Close())
}

func (p *process) port(req []byte) error {
	var o PortOrder
	if err := json.Unmarshal(req, &o); err != nil {
		return err
	}
	if int(o.Port) >= p.sw.core.Ports() {
		return fmt.Errorf("port %d of switch %s: there are %d", o.Port, p.cfg.Switch, p.sw.core.Ports())
	}
	if o.Impair != nil {
		p.sw.Impair(o.Port, *o.Impair)
	}
	if o.Signal != nil {
		p.sw.Signal(o.Port, *o.Signal)
	}
	return nil
}

func (p *process) cut(req []byte) error {
	var o CutOrder
	if err := json.Unmarshal(req, &o); err != nil {
		return err
	}
	return errors.Join(p.links.Cut(o.Cut...), p.links.Restore(o.Restored...))
}

func (p *process) end(req []byte) error {
	var o EndOrder
	if err := json.Unmarshal(req, &o); err != nil {
		return err
	}
	select {
	case p.ended <- o.Why:
	default:
	}
	return nil
}

// run attaches the switch and lets it work until it is to end.
func (p *process) run(ctx context.Context) (err error) {
	work, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.sw.Run(work) })
	running.Go(func() { p.teller.run(work) })
	defer func() {
		stop()
		running.Wait()
		err = errors.Join(err, p.close())
	}()
	if err := request(ctx, p.client, attachTime, VerbAttach, AttachRequest{p.cfg.Switch, p.charter.Number}, nil); err != nil {
		if ctx.Err() != nil {
			return p.leave()
		}
		return errors.Join(fmt.Errorf("switch %s attaches to fabric %s: %w", p.cfg.Switch, p.cfg.Fabric, err), p.leave())
	}
	if p.cfg.Attached != nil {
		p.cfg.Attached(p.charter)
	}
	return p.serve(ctx)
}

// serve returns why the switch is to end, after it has left when it was for us to do so.
func (p *process) serve(ctx context.Context) error {
	// Ticks are counted, not time: a process that was stopped has missed them, and that says nothing about the fabric.
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	silent := 0
	for {
		select {
		case <-ctx.Done():
			return p.leave()
		case why := <-p.ended:
			return fmt.Errorf("switch %s: %w: %s", p.cfg.Switch, ErrEnded, why)
		case <-p.control.Done():
			return fmt.Errorf("switch %s: %w: its broker takes our credentials no more: another process may be this switch now", p.cfg.Switch, ErrGone)
		case <-p.asked:
			silent = 0
		case <-tick.C:
			if silent++; silent > goneAfter {
				return fmt.Errorf("switch %s: %w: it has asked nothing for %d s: start it again, then this switch", p.cfg.Switch, ErrGone, goneAfter)
			}
		}
	}
}

// leave hands the switch back.
func (p *process) leave() error {
	err := request(context.Background(), p.client, leaveTime, VerbLeave, AttachRequest{p.cfg.Switch, p.charter.Number}, nil)
	if err != nil {
		return fmt.Errorf("switch %s leaves fabric %s: %w", p.cfg.Switch, p.cfg.Fabric, err)
	}
	return nil
}
