package hosttest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
)

// Fabric is one of hosts on a broker in this process, led by the test.
type Fabric struct {
	testing.TB
	Graph  *topology.Graph
	Broker *bus.Broker
	Peers  *bus.Client        // of the leader
	Hosts  map[string]*Remote // the latest of each name
}

// Remote is a host that is reached over the broker.
type Remote struct {
	Host
	Server *remote.Server
	Way    *rig.Relay // to the broker, of all that have had its name
}

// NewFabric hosts a topology, see [Divide]. Change changes the spec of each host; nil: it stays.
func NewFabric(t testing.TB, topology, routing string, change func(c *host.Spec), hosts ...string) *Fabric {
	t.Helper()
	f := &Fabric{TB: t, Graph: topologytest.Parse(t, topology), Hosts: map[string]*Remote{}}
	f.Broker = bustest.Broker(t, bus.BrokerConfig{})
	f.Peers = bustest.Client(t, bus.ClientConfig{Leads: true, Fabric: bustest.Name, Broker: f.Broker})
	c := Spec(t, f.Graph, routing)
	c.Placements = Divide(f.Graph, hosts...)
	for i, p := range c.Placements {
		c.Host, c.Number, c.Placement = p.Host, uint64(i+1), p
		one := c
		if change != nil {
			change(&one)
		}
		f.Open(one)
	}
	return f
}

// Open makes a host, with credentials of its own.
func (f *Fabric) Open(c host.Spec) *Remote {
	f.Helper()
	_, err := remote.Hosts{Peers: f.Peers, Authorizer: f.Broker}.Admit(&c, f.Graph)
	require.NoError(f, err)
	r := &Remote{Host: Host{remote.NewClient(f.Peers, c.Host), c, f.Graph, f.TB}}
	if before := f.Hosts[c.Host]; before != nil {
		r.Way = before.Way
	} else {
		r.Way = rig.NewRelay(f, strings.TrimPrefix(f.Broker.ClientURL(), scheme))
	}
	r.Server, err = remote.Open(remote.Config{Spec: c, URL: scheme + r.Way.Address})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, r.Server.Close()) })
	f.Hosts[c.Host] = r
	return r
}

const scheme = "nats://"
