// Package hosttest has what the tests of several packages need of hosts: a spec, a placement, a
// host that a test orders, and hosts that are processes of their own. It is no _test file because
// the tests of many packages use it; nothing but tests imports it.
package hosttest

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// Spec is that of every host of a topology; which host it is of is left open. Buffers and send
// queues are short: what a busy machine does not carry is refused.
func Spec(t testing.TB, g *topology.Graph, routing string) host.Spec {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, g.WriteYAML(&text))
	packed, err := wire.Compress(text.Bytes())
	require.NoError(t, err)
	return host.Spec{
		Fabric: bustest.Name, Topology: packed, Routing: routing,
		Switch:   settings.Switch{VCs: 2, InputBuffer: 2, OutputBuffer: 2},
		NIC:      settings.NIC{PacketBytes: 256, QueueBytes: 4 << 10},
		Link:     settings.Link{Rate: 256_000},
		Liveness: settings.Liveness{Interval: "250ms", Multiplier: 4}, Inbox: 64,
		Seed: 7,
	}
}

// Divide places a topology on hosts: of n, number i has the switches s for which s modulo n is i,
// and their NICs. Each has one shard more than the one before.
func Divide(g *topology.Graph, hosts ...string) []host.Placement {
	list := make([]host.Placement, len(hosts))
	for i, name := range hosts {
		var switches []weft.SwitchID
		var nics []weft.NICID
		for _, s := range g.Switches {
			if int(s.ID)%len(hosts) == i {
				switches = append(switches, s.ID)
			}
		}
		for _, n := range g.NICs {
			if leaf, _ := host.Leaf(g, n.ID); int(leaf.Switch)%len(hosts) == i {
				nics = append(nics, n.ID)
			}
		}
		list[i] = host.Placement{
			Host: name, Switches: host.Spans(switches), NICs: host.Spans(nics), Shard: 10 * i, Shards: 1 + i,
		}
	}
	return list
}

// Host is a host that the test leads.
type Host struct {
	host.Host // how it is reached
	Spec      host.Spec
	Graph     *topology.Graph

	T testing.TB
}

// Do has the host do something.
func (h *Host) Do(o host.Order) host.OrderAnswer {
	h.T.Helper()
	o.Number = h.Spec.Number
	a, err := h.Order(context.Background(), o)
	require.NoError(h.T, err)
	return a
}

// Ends are the ends of links that the host has.
func (h *Host) Ends() []weft.End { return h.Spec.Placement.Ends(h.Graph) }

// Up is how many of them were up when it counted.
func (h *Host) Up(c *host.Counters) (n int) {
	for i := range h.Ends() {
		if host.Bit(c.Up, i) {
			n++
		}
	}
	return n
}
