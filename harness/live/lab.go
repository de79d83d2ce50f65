package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/wire"
)

// Name is that of a fabric here that is given none. They do not meet: each has a broker of its own.
const Name = bustest.Name

// Config says which fabric.
type Config struct {
	Name, Topology, Routing string            // without a routing it is as Harness says, or adaptive-link
	URL                     string            // of a broker that is not ours; else there is one in this process
	Credentials             bus.Credentials   // for URL
	Authorizer              remote.Authorizer // of processes at URL; nil: they have credentials of their own
	Store                   bool              // that one keeps what managers write down
	InMemory                bool              // the links are, and not subjects
	Harness                 []harness.Option
	Options                 []func(*fabric.Options)
	Serve                   func(*fabric.Fabric, *bus.Server) // when the fabric runs
}

func (c *Config) routing() string { return cmp.Or(c.Routing, "adaptive-link") }

// Lab is a fabric that runs and that others can join, watch and command over its broker. Its
// methods fail the test when they cannot do what they say.
type Lab struct {
	*testing.T
	*harness.Harness
	Fabric *fabric.Fabric
	Broker *bus.Broker // nil: not ours
	Server *api.Server

	config Config
}

// Start starts a fabric, which ends with the test.
func Start(t *testing.T, c Config) *Lab {
	t.Helper()
	c.Name = cmp.Or(c.Name, Name)
	l := &Lab{T: t, config: c}
	if c.URL == "" {
		broker := bus.BrokerConfig{Fabric: c.Name}
		if c.Store {
			broker.StoreDir = t.TempDir()
		}
		l.Broker = bustest.Broker(t, broker)
	}
	control := bustest.Server(t, bus.ServerConfig{
		Fabric: c.Name, Broker: l.Broker, URL: c.URL,
		Credentials: c.Credentials,
	})
	l.Begin()
	var err error
	l.Server, err = api.NewServer(l.Fabric, control, api.Info{Name: c.Name, Routing: c.routing(), Started: time.Now()})
	require.NoError(t, err)
	if c.Serve != nil {
		c.Serve(l.Fabric, control)
	}
	t.Cleanup(func() {
		if t.Failed() {
			l.tell()
		}
	})
	return l
}

// Begin starts a fabric in the place of the one that was, if any, with connections of its own.
func (l *Lab) Begin(more ...func(*fabric.Options)) {
	l.Helper()
	c := l.config
	options := []harness.Option{
		harness.Seed(1), harness.Patience(rig.Patience),
		harness.NICs(settings.NIC{QueueBytes: 16 << 10}),
	}
	if !c.InMemory {
		options = append(options, harness.Transport(func(t testing.TB) wire.Transport {
			return bustest.Links(t, bus.NATSConfig{
				Fabric: c.Name, Broker: l.Broker, URL: c.URL,
				Credentials: c.Credentials,
			})
		}))
	}
	options = append(options, harness.Links(settings.Link{Rate: 1_000_000}),
		harness.Configure(func(o *fabric.Options) {
			peers := bustest.Client(l, bus.ClientConfig{
				Leads: true, Fabric: c.Name, Broker: l.Broker, URL: c.URL,
				Credentials: c.Credentials,
			})
			hosts := remote.Hosts{Peers: peers, Authorizer: c.Authorizer}
			if l.Broker != nil {
				hosts.Authorizer = l.Broker
			}
			o.Record, o.TransportEvent = nil, nil
			o.Processes = &fabric.ProcessOptions{Fabric: c.Name, Routing: c.routing(), Hosts: hosts}
			if c.Routing != "" {
				var err error
				o.Firmware, o.Switch.VCs, err = subnet.Firmware(l.Context(), c.Routing, o.Topology)
				require.NoError(l, err)
			}
		}))
	options = append(options, c.Harness...)
	for _, change := range append(c.Options, more...) {
		options = append(options, harness.Configure(change))
	}
	l.Harness = harness.New(l.T, c.Topology, options...)
	l.Fabric = l.Harness.Fabric()
}

// Answer has the fabric answer and publish what happens, as fabricd up does.
func (l *Lab) Answer() {
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { l.Server.Run(ctx, nil) })
	l.Cleanup(func() { stop(); serving.Wait() })
}

// tell logs what has happened.
func (l *Lab) tell() {
	for _, e := range l.Fabric.Events().Since(0) {
		if s := e.Summary(); s != "" {
			l.Logf("%.3f %s", e.At, s)
		} else {
			l.Logf("%.3f %s %s %s %s %s", e.At, e.Kind, e.Switch, e.Link, e.Node, e.Detail)
		}
	}
}

// Do applies faults, or repairs them.
func (l *Lab) Do(specs ...fault.Spec) []fabric.Outcome {
	l.Helper()
	out, err := l.Fabric.Apply(l.Context(), specs...)
	require.NoError(l, err)
	return out
}

// Settle stops the traffic, and requires that every packet is accounted for.
func (l *Lab) Settle() fabric.Ledger {
	l.Helper()
	require.NoError(l, l.Fabric.StopTraffic())
	ctx, cancel := context.WithTimeout(l.Context(), rig.Patience)
	defer cancel()
	ledger, err := l.Fabric.Quiesce(ctx)
	for ctx.Err() == nil && err != nil {
		stuck, is := errors.AsType[*fabric.StuckError](err)
		require.True(l, is && len(stuck.Cycle) == 0, "%v", err)
		ledger, err = l.Fabric.Quiesce(ctx) // so loaded is this machine at times that nothing moves for a moment
	}
	require.NoError(l, err, "%v", l.Fabric.CreditsHome())
	require.True(l, ledger.Balanced, "%+v", ledger)
	require.Zero(l, ledger.InFlight)
	return ledger
}

// Load has all NICs send, as "uniform:0.2" of the link rate.
func (l *Lab) Load(traffic string) {
	l.Helper()
	l.SetTraffic(traffic)
}

// More waits until n more packets are delivered.
func (l *Lab) More(n uint64) {
	l.Helper()
	before := l.Fabric.Totals().Delivered
	rig.Until(l, func() bool { return l.Fabric.Totals().Delivered >= before+n }, "%d more packets are delivered", n)
}

// Fresh waits until every register of every switch is zero: re-route vectors have expired.
func (l *Lab) Fresh() {
	l.Helper()
	rig.Until(l, func() bool {
		for _, s := range l.Fabric.Topology().Switches {
			if slices.ContainsFunc(l.Fabric.Switch(s.ID).Registers,
				func(r switching.RegisterSnapshot) bool { return r.Value != 0 }) {
				return false
			}
		}
		return true
	}, "registers are zero")
}

// AllUp waits until every link is up.
func (l *Lab) AllUp() {
	l.Helper()
	rig.Until(l, func() bool { return len(l.Fabric.LinksDown()) == 0 }, "all links are up")
}

// AllPairs sends a packet from every NIC to every other, and requires that all arrive. It settles
// before and after. A host that is too busy to answer is asked again, and may send twice.
func (l *Lab) AllPairs(settle func() fabric.Ledger) {
	l.Helper()
	before := settle()
	nics := weft.NICID(len(l.Fabric.Topology().NICs))
	for src := range nics {
		for dst := range nics {
			if src != dst {
				var why struct{ error }
				rig.Until(l, func() bool {
					_, why.error = l.Fabric.Send(src, dst, true)
					return why.error == nil
				}, "%v", &why)
			}
		}
	}
	after := settle()
	require.GreaterOrEqual(l, after.Injected-before.Injected, uint64(nics*(nics-1)), "%+v", after)
	require.Equal(l, after.Injected-before.Injected, after.Delivered-before.Delivered, "%+v", after)
}
