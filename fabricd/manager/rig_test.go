package manager_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/linkmon/fault"
	"github.com/weft-fabric/weft/linkmon/liveness"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
)

const (
	patience  = 30 * time.Second // for what must happen; only a failing test waits so long
	configEnv = "WEFT_TEST_MANAGER"
)

// The test binary is also a process that manages: it is one when it is given a configuration.
func TestMain(m *testing.M) {
	if text := os.Getenv(configEnv); text != "" {
		os.Exit(beManager(text))
	}
	goleak.VerifyTestMain(m)
}

// identity is how a test tells a process what to be.
type identity struct {
	URL, Method, Holder string
	Switch              string // it is a switch, and no manager
	Patience            time.Duration
	Credentials         bus.Credentials
}

func beManager(text string) int {
	var as identity
	if err := json.Unmarshal([]byte(text), &as); err != nil {
		fmt.Println(err)
		return 3
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if as.Switch != "" {
		if err := member.Run(ctx, member.Config{Fabric: "lab", URL: as.URL, Switch: as.Switch, Credentials: as.Credentials}); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	if err := managing(ctx, as, nil); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// quick makes a lease of a dead process run out soon.
const quickLease = 600 * time.Millisecond

func managing(ctx context.Context, as identity, tell func(manager.Note)) error {
	r, err := manager.Dial(bus.ClientConfig{Fabric: "lab", URL: as.URL, Credentials: as.Credentials, Program: "manage"})
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := bus.OpenStore(ctx, bus.StoreConfig{Fabric: "lab", URL: as.URL, Credentials: as.Credentials})
	if err != nil {
		return err
	}
	defer s.Close()
	return manager.New(manager.Config{Fabric: r, State: s, Method: as.Method, Holder: as.Holder, Lease: max(quickLease, as.Patience), Patience: as.Patience, Tell: tell}).Run(ctx)
}

// lab is a running fabric that can be managed over its broker.
type lab struct {
	*testing.T
	fabric *fabric.Fabric
	broker *bus.Broker
	gate   *gate

	patience time.Duration // of its managers, for a switch and for their lease; 0: as others
}

var patient = liveness.Config{Interval: 200 * weft.Millisecond, Multiplier: 5}

func start(t *testing.T, spec, routing string, options ...func(*manager.Local)) *lab {
	t.Helper()
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: "lab", StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(b.Shutdown)
	transport, err := bus.NewNATS(bus.NATSConfig{Fabric: "lab", Broker: b})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, transport.Close()) })
	peers, err := bus.NewPeers(bus.PeersConfig{Fabric: "lab", Broker: b})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, peers.Close()) })
	control, err := bus.NewControl(bus.ControlConfig{Fabric: "lab", Broker: b})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	g, err := topology.Parse(spec)
	require.NoError(t, err)
	o := fabric.Options{
		Topology: g, Transport: transport, Seed: 1, Link: fabric.LinkOptions{Rate: 1_000_000, Liveness: patient}, NIC: fabric.NICOptions{QueueBytes: 16 << 10},
		Processes: &fabric.ProcessOptions{Fabric: "lab", Peers: peers, Broker: b, Firmware: routing},
	}
	o.Firmware, o.Switch.VCs, err = subnet.Firmware(routing, g)
	require.NoError(t, err)
	f, err := fabric.New(o)
	require.NoError(t, err)
	server, err := api.NewServer(f, control, api.Info{Name: "lab"})
	require.NoError(t, err)
	local := manager.Local{Fabric: f, Instance: "first", Routing: routing, VCs: o.Switch.VCs}
	for _, set := range options {
		set(&local)
	}
	l := &lab{T: t, fabric: f, broker: b, gate: &gate{Fabric: local}}
	l.gate.open = through
	require.NoError(t, manager.Serve(control, l.gate))
	require.NoError(t, f.Start(t.Context()))
	t.Cleanup(f.Stop)
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { server.Run(ctx, nil) })
	t.Cleanup(func() { stop(); serving.Wait() })
	t.Cleanup(func() {
		if t.Failed() {
			for _, e := range f.Events().Kept(0) {
				t.Logf("%.3f %s %s %s %s %s", e.At, e.Kind, e.Switch, e.Link, e.Node, e.Detail)
			}
		}
	})
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

func (g *gate) Load(ctx context.Context, p *firmware.Patch) (weft.Time, error) {
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
	return identity{URL: l.broker.ClientURL(), Method: method, Credentials: l.broker.Credentials(bus.RoleManager), Patience: l.patience}
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
	late := time.After(patience)
	for {
		select {
		case n := <-notes:
			if n.Kind == kind {
				return n
			}
		case <-late:
			require.FailNow(l, "no note of kind "+kind)
		}
	}
}

// launch starts a process that manages, or is a switch. It is killed with the test.
func (l *lab) launch(as identity) *os.Process {
	l.Helper()
	text, err := json.Marshal(as)
	require.NoError(l, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), configEnv+"="+string(text))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	require.NoError(l, cmd.Start())
	l.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process
}

// begun waits until a manager has written down that it manages.
func (l *lab) begun() {
	l.Helper()
	state, err := bus.OpenStore(l.Context(), bus.StoreConfig{Fabric: "lab", URL: l.broker.ClientURL(), Credentials: l.broker.Credentials(bus.RoleManager)})
	require.NoError(l, err)
	l.Cleanup(state.Close)
	require.Eventually(l, func() bool {
		_, _, err := state.Get(l.Context(), "head")
		return err == nil
	}, patience, time.Millisecond)
}

func (l *lab) do(spec fault.Spec) {
	l.Helper()
	_, err := l.fabric.Apply(l.Context(), spec)
	require.NoError(l, err)
}

func (l *lab) load() { l.Helper(); l.generate("uniform:0.2") }

func (l *lab) generate(traffic string) {
	l.Helper()
	t, err := nic.ParseTraffic(traffic)
	require.NoError(l, err)
	require.NoError(l, l.fabric.SetTraffic(t))
}

// settle stops the traffic and checks that every packet is accounted for.
func (l *lab) settle() fabric.Ledger {
	l.Helper()
	require.NoError(l, l.fabric.StopTraffic())
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	ledger, err := l.fabric.Quiesce(ctx)
	require.NoError(l, err)
	require.True(l, ledger.Balanced, "%+v", ledger)
	return ledger
}

// allPairs sends a packet between every two NICs and requires that every one arrives.
func (l *lab) allPairs() {
	l.Helper()
	before := l.fabric.Ledger()
	n := len(l.fabric.Topology().NICs)
	for src := range weft.NICID(n) {
		for dst := range weft.NICID(n) {
			if src != dst {
				_, err := l.fabric.Send(src, dst, false)
				require.NoError(l, err)
			}
		}
	}
	after := l.settle()
	require.Equal(l, before.Delivered+uint64(n*(n-1)), after.Delivered, "%+v", after)
}
