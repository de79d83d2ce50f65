package lead

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// process is what a leader is in this process, whether it leads or stands by.
type process struct {
	Config           // the settings: with what was chosen
	named     string // topology that was given; empty: none
	unmanaged error  // why there is no manager though one was to be chosen; nil: there is, or needs none
	up        func(*Term)
}

func newProcess(c Config, up func(*Term)) *process {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Page.Log = cmp.Or(c.Page.Log, c.Log)
	if c.Load == nil {
		c.Load = topology.Parse
	}
	c.Drain = cmp.Or(c.Drain, DrainTime)
	orNot(&c.Note)
	orNot(&c.Existing)
	orNot(&c.Standby)
	orNot(&c.Event)
	orNot(&c.Sample)
	orNot(&c.Ended)
	if c.Progress == nil {
		c.Progress = func(fabric.Stage, int, int) {}
	}
	if c.Up == nil {
		c.Up = func(*Term) error { return nil }
	}
	if c.Draining == nil {
		c.Draining = func() {}
	}
	return &process{Config: c, named: c.Settings.Topology, up: up}
}

// orNot has nobody hear what nobody asks for.
func orNot[T any](hear *func(T)) {
	if *hear == nil {
		*hear = func(T) {}
	}
}

func (p *process) notef(format string, args ...any) { p.Note(fmt.Sprintf(format, args...)) }

// run leads until ctx ends, and ends the fabric then.
func (p *process) run(ctx context.Context) error {
	if err := bus.ValidateFabric(p.Name); err != nil {
		return err
	}
	on, err := p.onAgents(ctx)
	if err != nil {
		return err
	}
	if on != nil {
		defer on.close()
		return on.run(ctx)
	}
	return p.local(ctx)
}

// local leads a fabric that runs in this process.
func (p *process) local(ctx context.Context) error {
	o, err := p.options(ctx)
	if err != nil {
		return err
	}
	claim, err := registry.Take(p.Name)
	if err != nil {
		return err
	}
	defer func() { _ = claim.Release() }() // the lock goes with the process in any case

	keeps := ""
	if o.Firmware.Programmed != nil {
		if keeps, err = claim.Store(); err != nil {
			return err
		}
	}
	var lost <-chan struct{}
	if p.Server.URL != "" {
		name, err := p.takeName(ctx, false)
		if err != nil {
			return err
		}
		defer name.close()
		lost = name.lost
	}
	b, err := BrokerConfig{Name: p.Name, Listen: p.Listen, Keeps: keeps, Server: p.Server, Log: p.Log}.Open(p.Note)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }() // it all goes with the process
	o.Transport = b.Transport
	return term{process: p, broker: b, claim: claim, lost: lost, progress: p.Progress}.run(ctx, o)
}
