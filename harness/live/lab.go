package live

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/link"
)

// Name is that of every fabric here. They do not meet: each has a broker of its own.
const Name = "lab"

// patient is more so than the default, for processes under the race detector on a machine that is shared.
var patient = link.Liveness{Interval: 200 * weft.Millisecond, Multiplier: 5}

// Config says which fabric.
type Config struct {
	Topology, Routing string
	URL               string            // of a broker that is not ours; else there is one in this process
	Credentials       bus.Credentials   // for URL
	Admitter          remote.Authorizer // of processes at URL; nil: they have credentials of their own
	Store             bool              // that one keeps what managers write down
	Options           []func(*fabric.Options)
	Serve             func(*fabric.Fabric, *bus.Server) // before the fabric starts
}

// Lab is a running fabric that others can join. Its methods fail the test when they cannot do what they say.
type Lab struct {
	*testing.T
	Fabric *fabric.Fabric
	Broker *bus.Broker // nil: not ours
	Server *api.Server
}

// Start starts a fabric, which ends with the test.
func Start(t *testing.T, c Config) *Lab {
	t.Helper()
	l := &Lab{T: t}
	if c.URL == "" {
		broker := bus.BrokerConfig{Fabric: Name}
		if c.Store {
			broker.StoreDir = t.TempDir()
		}
		var err error
		l.Broker, err = bus.StartBroker(broker)
		require.NoError(t, err)
		t.Cleanup(l.Broker.Shutdown)
	}
	transport, err := bus.NewNATS(bus.NATSConfig{Fabric: Name, Broker: l.Broker, URL: c.URL, Credentials: c.Credentials})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, transport.Close()) })
	peers, err := bus.Dial(bus.ClientConfig{Leads: true, Fabric: Name, Broker: l.Broker, URL: c.URL, Credentials: c.Credentials})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, peers.Close()) })
	control, err := bus.NewServer(bus.ServerConfig{Fabric: Name, Broker: l.Broker, URL: c.URL, Credentials: c.Credentials})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	g, err := topology.Parse(c.Topology)
	require.NoError(t, err)
	o := fabric.Options{
		Topology: g, Transport: transport, Seed: 1, Link: fabric.LinkOptions{Rate: 1_000_000, Liveness: patient},
		NIC:       fabric.NICOptions{QueueBytes: 16 << 10},
		Processes: &fabric.ProcessOptions{Fabric: Name, Firmware: c.Routing},
	}
	hosts := remote.Hosts{Peers: peers, Admitter: c.Admitter}
	if l.Broker != nil {
		hosts.Admitter = l.Broker
	}
	o.Processes.Hosts = hosts
	o.Firmware, o.Switch.VCs, err = subnet.Firmware(c.Routing, g)
	require.NoError(t, err)
	for _, change := range c.Options {
		change(&o)
	}
	l.Fabric, err = fabric.New(o)
	require.NoError(t, err)
	l.Server, err = api.NewServer(l.Fabric, control, api.Info{Name: Name})
	require.NoError(t, err)
	if c.Serve != nil {
		c.Serve(l.Fabric, control)
	}
	require.NoError(t, l.Fabric.Start(t.Context()))
	t.Cleanup(l.Fabric.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			l.tell()
		}
	})
	return l
}

// tell logs what has happened.
func (l *Lab) tell() {
	for _, e := range l.Fabric.Events().Kept(0) {
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

// AllPairs sends a packet from every NIC to every other, and requires that all arrive. It settles before and after.
func (l *Lab) AllPairs(settle func() fabric.Ledger) {
	l.Helper()
	before := settle()
	nics := weft.NICID(len(l.Fabric.Topology().NICs))
	for src := range nics {
		for dst := range nics {
			if src != dst {
				_, err := l.Fabric.Send(src, dst, true)
				require.NoError(l, err)
			}
		}
	}
	after := settle()
	require.EqualValues(l, nics*(nics-1), after.Delivered-before.Delivered, "%+v", after)
}
