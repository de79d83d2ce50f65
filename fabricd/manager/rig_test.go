package manager_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host/hosttest"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/manager/remote"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

// The test binary is also a process that manages, or is a switch.
func TestMain(m *testing.M) {
	rig.Be(func(ctx context.Context, as identity) error {
		if as.Switch != "" {
			return hosttest.RunProcess(ctx, as.Process)
		}
		return managing(ctx, as, nil)
	})
	if !testenv.Race { // under it processes compute more than they wait
		testenv.MostlyWaits()
	}
	goleak.VerifyTestMain(m)
}

// identity is how a test tells a process what to be.
type identity struct {
	hosttest.Process // without a switch it manages
	Method, Holder   string
	Patience, Lease  time.Duration // 0: as others
}

func managing(ctx context.Context, as identity, tell func(manager.Note)) error {
	r, err := remote.Dial(bus.ClientConfig{Fabric: live.Name, URL: as.URL, Credentials: as.Credentials, Program: "manage"})
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := bus.OpenStore(ctx, bus.StoreConfig{Fabric: live.Name, URL: as.URL, Credentials: as.Credentials})
	if err != nil {
		return err
	}
	defer s.Close()
	return manager.New(manager.Config{
		Fabric: r, State: s, Method: as.Method, Holder: as.Holder, Lease: as.Lease,
		Patience: as.Patience, Drain: as.Patience, Tell: tell,
	}).Run(ctx)
}

// lab is a running fabric that can be managed over its broker.
type lab struct {
	*live.Lab
	gate *gate

	patience time.Duration // of its managers, for a switch: what is late is so because the machine is busy
	lease    time.Duration // of its managers; 0: as others
}

func start(t *testing.T, spec, routing string, options ...func(*manager.Local)) *lab {
	t.Helper()
	l := &lab{patience: rig.Patience}
	l.Lab = live.Start(t, live.Config{
		Topology: spec, Routing: routing, Store: true,
		Serve: func(f *fabric.Fabric, control *bus.Server) {
			_, vcs, err := subnet.Firmware(t.Context(), routing, f.Topology())
			require.NoError(t, err)
			local := manager.Local{Fabric: f, Instance: "first", Routing: routing, VCs: vcs}
			for _, set := range options {
				set(&local)
			}
			l.gate = &gate{Fabric: local, open: through}
			require.NoError(t, remote.Serve(control, l.gate))
		},
	})
	l.Answer()
	return l
}

// gate is the fabric as it answers its managers; a test may hold an answer up.
type gate struct {
	manager.Fabric
	mu   sync.Mutex
	open func(verb string) error // guarded by mu; returns when the fabric is to act, or an error when it is not to
}

// errForgotten says that who asked is dead.
var errForgotten = errors.New("who asked is dead")

func (g *gate) pass(verb string) error {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	return open(verb)
}

func through(string) error { return nil }

func (g *gate) set(open func(verb string) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
}

func (g *gate) Ports(ctx context.Context) (fabric.Ports, error) {
	if err := g.pass("ports"); err != nil {
		return fabric.Ports{}, err
	}
	return g.Fabric.Ports(ctx)
}

func (g *gate) Versions(ctx context.Context) ([]uint64, error) {
	if err := g.pass("versions"); err != nil {
		return nil, err
	}
	return g.Fabric.Versions(ctx)
}

func (g *gate) Load(ctx context.Context, p *tables.Patch) (weft.Time, error) {
	if err := g.pass("load"); err != nil {
		return 0, err
	}
	return g.Fabric.Load(ctx, p)
}

func (g *gate) Hold(ctx context.Context) error {
	err := g.Fabric.Hold(ctx)
	if gone := g.pass("held"); gone != nil {
		return gone
	}
	return err
}

func (g *gate) Resume(ctx context.Context) error {
	if err := g.pass("resume"); err != nil {
		return err
	}
	return g.Fabric.Resume(ctx)
}

func (g *gate) Report(ctx context.Context, r fabric.Round) (fault.Reconfiguration, error) {
	if err := g.pass("report"); err != nil {
		return fault.Reconfiguration{}, err
	}
	return g.Fabric.Report(ctx, r)
}

func (l *lab) identity(method string) identity {
	return identity{
		Process: hosttest.Process{
			Fabric: live.Name, URL: l.Broker.ClientURL(), Credentials: l.Broker.Credentials(bus.RoleManager),
		},
		Method: method, Patience: l.patience, Lease: l.lease,
	}
}

// manage runs a manager in this process until the test or stop ends it.
func (l *lab) manage(method string) (notes chan manager.Note, stop func()) {
	l.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	notes = make(chan manager.Note, 1000)
	var running sync.WaitGroup
	running.Go(func() {
		if err := managing(ctx, l.identity(method), func(n manager.Note) { notes <- n }); err != nil {
			l.Errorf("the manager has ended: %v", err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	l.Cleanup(stop)
	return notes, stop
}

// await waits for a note of a kind.
func (l *lab) await(notes chan manager.Note, kind string) manager.Note {
	l.Helper()
	for {
		if n := rig.Next(l, notes, "a note of kind %s", kind); n.Kind == kind {
			return n
		}
	}
}

// begun waits until a manager has written down that it manages.
func (l *lab) begun() {
	l.Helper()
	state := bustest.Store(l, bus.StoreConfig{
		Fabric: live.Name, URL: l.Broker.ClientURL(),
		Credentials: l.Broker.Credentials(bus.RoleManager),
	})
	rig.Until(l, func() bool {
		_, _, err := state.Get(l.Context(), "head")
		return err == nil
	})
}
