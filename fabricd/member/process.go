package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Errors that end a process before it leaves.
var (
	// ErrEnded means that the fabric has ended, and has said so.
	ErrEnded = errors.New("told to end")
	// ErrGone means that the fabric does not ask for the switch any more.
	ErrGone = errors.New("the fabric is gone")
)

// Times chosen by us.
const (
	joinTime   = 15 * time.Second
	attachTime = 20 * time.Second
	leaveTime  = 15 * time.Second // the fabric may be waiting for a repair
	againTime  = 3 * time.Second  // how long it asks a fabric that does not answer
)

// Config of a switch process. Fabric, URL, Credentials and Switch are required.
type Config struct {
	Fabric      string
	URL         string          // of the broker
	Credentials bus.Credentials // of an operator of the fabric
	Switch      string
	Log         *slog.Logger      // nil: discarded
	Attached    func(c host.Spec) // called once the links are up; nil: nobody
}

// Run is one switch of a running fabric until ctx ends; then it leaves in order and returns nil.
// Other errors say why the fabric does not take it, or wrap ErrEnded or ErrGone.
func Run(ctx context.Context, cfg Config) error {
	machine, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("switch %s: name of this host: %w", cfg.Switch, err)
	}
	c, err := request[host.Spec](ctx, cfg, joinTime, VerbJoin,
		host.JoinRequest{Switch: cfg.Switch, PID: os.Getpid(), Host: machine})
	if err != nil {
		return fmt.Errorf("switch %s joins fabric %s: %w", cfg.Switch, cfg.Fabric, err)
	}
	p, err := remote.Open(ctx, remote.Config{
		Spec: c, URL: cfg.URL, Credentials: cfg.Credentials, Log: cfg.Log,
		Alone: remote.GoneAfter,
	})
	if err != nil {
		// The fabric waits for us; tell it that nobody comes.
		return errors.Join(fmt.Errorf("switch %s: %w", cfg.Switch, err), cfg.leave(c))
	}
	return errors.Join(cfg.run(ctx, p, c), p.Close())
}

// request has a connection of its own: hours may pass between two, in which the credentials that it
// was opened with are replaced.
func request[Resp any](ctx context.Context, cfg Config, d time.Duration, verb string, in any) (resp Resp, err error) {
	client, err := bus.Dial(bus.ClientConfig{
		Fabric: cfg.Fabric, URL: cfg.URL, Credentials: cfg.Credentials,
		Program: "switch-" + cfg.Fabric,
	})
	if err != nil {
		return resp, err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return bus.Call[Resp](ctx, client, bus.Subject{Kind: bus.SubjectControl, Verb: verb}, in)
}

// run attaches the switch and lets it work until it is to end.
func (cfg Config) run(ctx context.Context, p *remote.Server, c host.Spec) error {
	if err := cfg.attach(ctx, c); err != nil {
		if ctx.Err() != nil {
			return cfg.leave(c)
		}
		return errors.Join(fmt.Errorf("switch %s attaches to fabric %s: %w", cfg.Switch, cfg.Fabric, err), cfg.leave(c))
	}
	if cfg.Attached != nil {
		cfg.Attached(c)
	}
	switch why, err := p.Wait(ctx); {
	case err == nil:
		return fmt.Errorf("switch %s: %w: %s", cfg.Switch, ErrEnded, why)
	case errors.Is(err, remote.ErrAlone):
		return fmt.Errorf("switch %s: %w: it has asked nothing for %d s: start it again, then this switch", cfg.Switch,
			ErrGone, remote.GoneAfter)
	case errors.Is(err, remote.ErrLater):
		return fmt.Errorf("switch %s: %w: %w: another process is this switch now", cfg.Switch, ErrGone, remote.ErrLater)
	case errors.Is(err, remote.ErrRefused):
		return fmt.Errorf("switch %s: %w: %w: another process may be this switch now", cfg.Switch, ErrGone,
			remote.ErrRefused)
	}
	return cfg.leave(c) // ctx has ended
}

// attach asks for signal on all links, again where the fabric did not hear the process in time: on
// a busy machine.
func (cfg Config) attach(ctx context.Context, c host.Spec) error {
	for began := time.Now(); ; {
		_, err := request[struct{}](ctx, cfg, attachTime, VerbAttach,
			host.AttachRequest{Switch: cfg.Switch, Number: c.Number})
		if !errors.Is(err, host.ErrUnreached) || time.Since(began) > attachTime/2 {
			return err
		}
	}
}

// leave hands the switch back. It asks again while nobody answers: for a moment a fabric whose keys
// have been rotated has no connection.
func (cfg Config) leave(c host.Spec) error {
	for began := time.Now(); ; <-time.After(againTime / 30) {
		_, err := request[struct{}](context.Background(), cfg, leaveTime, VerbLeave,
			host.AttachRequest{Switch: cfg.Switch, Number: c.Number})
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, reply.ErrNobody) || time.Since(began) > againTime:
			return fmt.Errorf("switch %s leaves fabric %s: %w", cfg.Switch, cfg.Fabric, err)
		}
	}
}
