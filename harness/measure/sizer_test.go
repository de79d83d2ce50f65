package measure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

// sized is a firmware whose packets are longer on the wire.
func sized(g *topology.Graph, bytes int) switching.Firmware {
	fw := clockwise(g)
	fw.HeaderBytes = func(*weft.Fields) int { return bytes }
	return fw
}

// Two NICs at one switch send to each other; links take 128 bytes a cycle.
func TestBytesOfHeadersAreLoad(t *testing.T) {
	t.Parallel()
	for _, expire := range []int{0, 1000} { // with another timer too
		c := config(t, "kary-ntree:2,1", "", 1)
		c.Firmware, c.NIC.PacketBytes, c.RegisterExpire = sized(c.Topology, 64), 128, expire
		r := measured(t, c)
		require.InDelta(t, 2.0, r.Offered, 0.1, "load is of packets without them")
		require.InDelta(t, 2.0*128/(128+64), r.Accepted, 0.05)
		c.Firmware = sized(c.Topology, 0)
		require.InDelta(t, 2, measured(t, c).Accepted, 0.07)
	}
}

func TestBytesOfHeadersTakeTheirTimeOnce(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,1", "", 0.001)
	c.Firmware = sized(c.Topology, 128*3) // the switch cuts through: they delay the tail once
	c.WireDelay, c.RoutingDelay, c.CrossbarDelay = 3*cycle, 2*cycle, 4*cycle
	c.Window, c.Warmup.Skip = 200_000, true
	require.InDelta(t, 2*3+2+4+2+3, measured(t, c).LatencyP50, 0.02)
}

// The header of figure 8 (Gomez, Flich, Lopez, Robles, Duato: A Routing Methodology for Achieving
// Fault Tolerance in Direct Networks) with all mechanisms has 20 bits beside the destination, which
// are three bytes in each packet, though nothing is dead.
func TestMechanismsCostTheirBitsInEveryPacket(t *testing.T) {
	t.Parallel()
	c := config(t, "mesh:2", "duato", 1)
	c.BytesPerCycle, c.NIC.PacketBytes = 8, 24
	plain := measured(t, c).Accepted
	c.Routing = "duato:mechanisms=I+D+M"
	require.InDelta(t, plain*24/(24+3), measured(t, c).Accepted, 0.01*plain)
}
