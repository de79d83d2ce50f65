package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/manager/remote"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
)

// managedConfig of a managed fabric.
type managedConfig struct {
	Graph   *topology.Graph
	Routing string
	// empty or manage.None: nobody manages, but somebody listens in its stead, so that the fabric has
	// the same company
	Method  string
	Link    settings.Link
	Traffic nic.Traffic
	Seed    uint64

	Patience time.Duration // of the manager with a switch, see [manager.Config]
}

// managedFabric is a live fabric over a broker of its own, with a subnet manager beside it. The
// manager reaches it over that broker alone: with the credentials of its role, over a connection
// and with a store there, as `fabricd manage` does.
type managedFabric struct {
	*fabric.Fabric
	rounds  chan fabric.Round // capacity 16: those that the manager has reported
	running sync.WaitGroup
	closers []func() error // from last to first
	failed  chan error     // capacity 1: the manager has ended
}

// managedPoll is how often it is looked whether something has come about.
const managedPoll = 2 * time.Millisecond

// startManaged starts one and returns when its manager, if any, manages. Close ends it.
func startManaged(ctx context.Context, c managedConfig) (f *managedFabric, err error) {
	f = &managedFabric{rounds: make(chan fabric.Round, 16), failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	name := "live"
	folder, err := os.MkdirTemp("", "weft-live")
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, func() error { return os.RemoveAll(folder) })
	broker, err := bus.StartBroker(bus.BrokerConfig{Fabric: name, StoreDir: folder})
	if err != nil {
		return f, err
	}
	f.closers = append(f.closers, func() error { broker.Shutdown(); return nil })
	transport, err := bus.NewNATS(bus.NATSConfig{Fabric: name, Broker: broker})
	if err != nil {
		return f, err
	}
	f.closers = append(f.closers, transport.Close)

	entry, err := subnet.ByName(c.Routing)
	if err != nil {
		return f, err
	}
	fw, vcs, err := entry.New(ctx, c.Graph)
	if err != nil {
		return f, err
	}
	vcs = max(vcs, 1)
	o := fabric.Options{
		Topology: c.Graph, Firmware: fw, Transport: transport, Link: c.Link, Traffic: c.Traffic,
		Seed: c.Seed,
	}
	o.Switch.VCs = vcs
	if f.Fabric, err = fabric.New(o); err != nil {
		return f, err
	}
	if err := f.Fabric.Start(ctx); err != nil {
		return f, err
	}
	f.closers = append(f.closers, func() error { f.Stop(); return nil })
	return f, f.manage(ctx, broker, c, vcs)
}

// manage puts a subnet manager beside the fabric, or who listens in its stead.
func (f *managedFabric) manage(ctx context.Context, broker *bus.Broker, c managedConfig, vcs int) error {
	name := broker.Fabric()
	control, err := bus.NewServer(bus.ServerConfig{Fabric: name, Broker: broker})
	if err != nil {
		return err
	}
	f.closers = append(f.closers, control.Close)
	server, err := api.NewServer(f.Fabric, control, api.Info{Name: name, Routing: c.Routing, Started: time.Now()})
	if err != nil {
		return err
	}
	if err := remote.Serve(control,
		manager.Local{Fabric: f.Fabric, Instance: name, Routing: c.Routing, VCs: vcs}); err != nil {
		return err
	}
	as := broker.Credentials(bus.RoleManager)
	remote,
		err := remote.Dial(bus.ClientConfig{Fabric: name, URL: broker.ClientURL(), Credentials: as, Program: "manager"})
	if err != nil {
		return err
	}
	f.closers = append(f.closers, remote.Close)
	store, err := bus.OpenStore(ctx, bus.StoreConfig{Fabric: name, URL: broker.ClientURL(), Credentials: as})
	if err != nil {
		return err
	}
	f.closers = append(f.closers, func() error { store.Close(); return nil })
	life, stop := context.WithCancel(ctx)
	f.closers = append(f.closers, func() error { stop(); f.running.Wait(); return nil })
	f.running.Go(func() { server.Run(life, nil) })
	if c.Method == "" || c.Method == manage.None {
		f.running.Go(func() {
			// The fabric ends after who listens.
			_ = remote.Watch(life, func() { _, _ = remote.Ports(life) })
		})
		return nil
	}
	ready := make(chan struct{}, 1)
	m := manager.New(manager.Config{
		Fabric: remote, State: store, Method: c.Method, Patience: c.Patience,
		Tell: func(n manager.Note) {
			switch n.Kind {
			case manager.NoteManages:
				ready <- struct{}{}
			case manager.NoteRound:
				select {
				case f.rounds <- n.Round:
				default: // nobody waits for them
				}
			}
		},
	})
	f.running.Go(func() {
		if err := m.Run(life); err != nil {
			f.failed <- fmt.Errorf("the subnet manager: %w", err)
		}
	})
	select {
	case <-ready:
		return nil
	case err := <-f.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends all of it.
func (f *managedFabric) Close() (err error) {
	for i := len(f.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, f.closers[i]())
	}
	f.closers = nil
	return err
}

// CutManaged cuts a link and returns its report once new tables are in force.
func (f *managedFabric) CutManaged(ctx context.Context, id weft.LinkID) (fault.Report, error) {
	r, _, err := f.Cut(id)
	if err != nil {
		return r, err
	}
	for {
		if r, ok := f.Report(r.ID); ok && r.Reconfiguration != nil {
			if why := r.Reconfiguration.Error; why != "" {
				return r, fmt.Errorf("%s: %s", r.What, why)
			}
			return r, nil
		}
		if err := f.wait(ctx); err != nil {
			return r, fmt.Errorf("%s: no new tables: %w", r.What, err)
		}
	}
}

// RestoreManaged restores a link and returns when tables that count on it are in force.
func (f *managedFabric) RestoreManaged(ctx context.Context, id weft.LinkID) error {
	for { // of earlier rounds
		select {
		case <-f.rounds:
			continue
		default:
		}
		break
	}
	if _, err := f.Restore(ctx, id); err != nil {
		return err
	}
	select {
	case <-f.rounds:
		return nil
	case err := <-f.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Report is the report of a fault.
func (f *managedFabric) Report(id int) (fault.Report, bool) {
	for _, r := range f.Faults() {
		if r.ID == id {
			return r, true
		}
	}
	return fault.Report{}, false
}

func (f *managedFabric) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-f.failed:
		return err
	case <-time.After(managedPoll):
		return nil
	}
}
