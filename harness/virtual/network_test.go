package virtual_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/virtual"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

const cycle = 512 * weft.Nanosecond

// network is a whole fabric of bare cores.
type network struct {
	*virtual.Engine
	g        *topology.Graph
	switches []*switching.Switch
	nics     []*nic.NIC
	node     map[weft.Node]*virtual.Node
}

func newNetwork(t testing.TB, spec, routing, traffic string) *network {
	return newNetworkThat(t, spec, routing, traffic, 1, link.Liveness{})
}

func newNetworkThat(t testing.TB, spec, routing, traffic string, seed uint64, live link.Liveness) *network {
	t.Helper()
	return newNetworkOf(t, spec, routing, traffic, virtual.Config{Seed: seed}, live, 0)
}

// newNetworkOf is a network whose nodes are dealt out to parts.
func newNetworkOf(t testing.TB, spec, routing, traffic string, cfg virtual.Config, live link.Liveness,
	delay weft.Time,
) *network {
	t.Helper()
	g := topologytest.Parse(t, spec)
	fw, _, err := subnet.Firmware(t.Context(), routing, g)
	require.NoError(t, err)
	n := &network{Engine: virtual.New(cfg), g: g, node: map[weft.Node]*virtual.Node{}}
	nodes := n.node
	for _, s := range g.Switches {
		core, err := switching.New(switching.Config{
			Place: g.Place(s.ID), Firmware: fw, Rand: rand.NewPCG(1, uint64(s.ID)),
			VCs: subnet.LeastVCs(fw, g), Liveness: live,
		})
		require.NoError(t, err)
		n.switches = append(n.switches, core)
		nodes[s.ID.Node()] = n.Add(core, virtual.NodeConfig{CutThrough: true, RoutingDelay: cycle, Part: int(s.ID)})
	}
	tr, err := nic.ParseTraffic(traffic)
	require.NoError(t, err)
	sources, err := tr.Sources(nic.Over{NICs: len(g.NICs), Rate: 250e6, PacketBytes: 256, Rand: rand.NewPCG(1, 99)})
	require.NoError(t, err)
	for _, m := range g.NICs {
		core, err := nic.New(nic.Config{
			ID: m.ID, NICs: len(g.NICs), Rand: rand.NewPCG(2, uint64(m.ID)),
			VCs: subnet.LeastVCs(fw, g), Buffer: 2, Liveness: live,
		})
		require.NoError(t, err)
		n.nics = append(n.nics, core)
		nodes[m.ID.Node()] = n.Add(core, virtual.NodeConfig{Part: int(m.ID)})
	}
	for _, l := range g.Links {
		n.Connect(virtual.Port{Node: nodes[l.A.Node], Port: l.A.Port}, virtual.Port{Node: nodes[l.B.Node], Port: l.B.Port},
			link.Pace{Rate: 250e6, Delay: delay.Duration()})
	}
	for _, l := range g.Links {
		nodes[l.A.Node].Signal(l.A.Port, true)
		nodes[l.B.Node].Signal(l.B.Port, true)
	}
	n.Run(cycle * 100)
	for i, m := range n.nics {
		if !tr.Idle() {
			nodes[g.NICs[i].ID.Node()].Do(func(now weft.Time, out *weft.Actions) {
				require.NoError(t, m.SetSource(now, sources[i], out))
			})
		}
	}
	return n
}

func (n *network) delivered() (d, hops uint64) {
	for _, m := range n.nics {
		d += m.Stats().Delivered
		hops += m.Stats().Hops
	}
	return d, hops
}

func BenchmarkTree(b *testing.B) {
	for _, c := range []struct{ spec, routing, traffic string }{
		{"kary-ntree:4,3", "deterministic-link", "uniform:0.1"},
		{"kary-ntree:4,3", "deterministic-link", "uniform:0.5"},
		{"kary-ntree:4,3", "deterministic-link", "uniform:1"},
		{"kary-ntree:4,3", "updown", "uniform:1"},
		{"kary-ntree:4,3", "adaptive-link", "uniform:1"},
		{"kary-ntree:8,3", "deterministic-link", "uniform:1"},
	} {
		b.Run(fmt.Sprintf("%s/%s/%s", c.spec, c.routing, c.traffic), func(b *testing.B) {
			n := newNetwork(b, c.spec, c.routing, c.traffic)
			n.Run(n.Now() + 5000*cycle)
			d0, h0 := n.delivered()
			e0 := n.Events()
			b.ReportAllocs()
			b.ResetTimer()
			start, cpu0 := n.Now(), testenv.CPU().Seconds()
			for range b.N {
				n.Run(n.Now() + 1000*cycle)
			}
			d, h := n.delivered()
			// other processes have less of a say in it
			b.ReportMetric(float64(h-h0)/(testenv.CPU().Seconds()-cpu0), "hops/cpu-s")
			b.ReportMetric(float64(n.Events()-e0)/float64(h-h0), "events/hop")
			b.ReportMetric(float64(d-d0)*float64(cycle)/float64(n.Now()-start), "packets/cycle")
		})
	}
}
