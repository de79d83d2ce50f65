package measure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

const cycle = DefaultCycle

// config is a short run of uniform traffic.
func config(t testing.TB, spec, routing string, load float64) Config {
	g := topologytest.Parse(t, spec)
	return Config{
		Topology: g, Routing: routing, Traffic: nic.Traffic{Pattern: "uniform", Load: load}, Window: 3000, Seed: 1,
	}
}

// measured is the result of a run that must work.
func measured(t testing.TB, c Config) Result {
	r, err := Run(t.Context(), c)
	require.NoError(t, err)
	return r
}

// clockwise sends every packet on around a ring, in one virtual channel.
func clockwise(g *topology.Graph) switching.Firmware {
	return switching.Firmware{Name: "clockwise", Route: ring{g}.route}
}

type ring struct{ g *topology.Graph }

func (c ring) route(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	at := sw.Place().Switch
	if leaf, p := c.g.SwitchOf(pkt.Dst); leaf == at {
		return switching.To(sw, p, 0, pkt.Fields, "deliver")
	}
	next := weft.SwitchID((int(at) + 1) % len(c.g.Switches))
	for p := range weft.PortID(sw.Place().Ports()) {
		if peer, _, ok := c.g.Peer(weft.End{Node: at.Node(), Port: p}); ok && peer.Node == next.Node() {
			return switching.To(sw, p, 0, pkt.Fields, "clockwise")
		}
	}
	return switching.Discard("no ring")
}

// around is a ring of four, so full that its packets must come to wait for each other.
func around(t testing.TB) Config {
	c := config(t, "ring:4", "", 1)
	c.Firmware = clockwise(c.Topology)
	return c
}
