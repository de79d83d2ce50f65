package remote_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/hosttest"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
)

// Access is where a broker is, and how everybody comes in.
type Access struct {
	URL            string
	Authorizer     remote.Authorizer // of hosts; nil: they have the credentials of their agents
	Leader, Agents bus.Credentials
}

// embedded is the access to a broker in this process, which it starts.
func embedded(t testing.TB) Access {
	t.Helper()
	b := bustest.Broker(t, bus.BrokerConfig{})
	return Access{URL: b.ClientURL(), Authorizer: b, Leader: b.Credentials(bus.RoleFabric)}
}

// Fabric is one of hosts that the test leads.
type Fabric struct {
	testing.TB
	Access
	Graph *topology.Graph
	Peers *bus.Client        // of the leader
	Hosts map[string]*Remote // the latest of each name
}

// Remote is a host that is reached over the broker.
type Remote struct {
	hosttest.Host
	Server *remote.Server
	Relay  *rig.Relay // to the broker, of all that have had its name
}

// newFabric hosts a topology, see [hosttest.Divide]. Change changes the spec of each host; nil: it
// stays.
func newFabric(t testing.TB, at Access, topology, routing string, change func(c *host.Spec), hosts ...string) *Fabric {
	t.Helper()
	f := &Fabric{TB: t, Access: at, Graph: topologytest.Parse(t, topology), Hosts: map[string]*Remote{}}
	f.Peers = bustest.Client(t, bus.ClientConfig{Leads: true, Fabric: bustest.Name, URL: at.URL, Credentials: at.Leader})
	c := hosttest.Spec(t, f.Graph, routing)
	c.Placements = hosttest.Divide(f.Graph, hosts...)
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

// Admission is how the leader lets hosts in.
func (f *Fabric) Admission() remote.Hosts {
	return remote.Hosts{Peers: f.Peers, Authorizer: f.Authorizer}
}

// Open makes a host, with credentials of its own.
func (f *Fabric) Open(c host.Spec) *Remote {
	f.Helper()
	_, err := f.Admission().Admit(&c, f.Graph)
	require.NoError(f, err)
	r := &Remote{Host: hosttest.Host{Host: remote.NewClient(f.Peers, c.Host), Spec: c, Graph: f.Graph, T: f.TB}}
	if before := f.Hosts[c.Host]; before != nil {
		r.Relay = before.Relay
	} else {
		r.Relay = rig.NewRelay(f, strings.TrimPrefix(f.URL, scheme))
	}
	r.Server, err = remote.Open(f.Context(), remote.Config{Spec: c, URL: scheme + r.Relay.Address, Credentials: f.Agents})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, r.Server.Close()) })
	f.Hosts[c.Host] = r
	return r
}

const scheme = "nats://"
