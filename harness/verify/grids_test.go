package verify

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Every pair of a whole mesh or torus is connected over a shortest path, and no channels can wait
// for each other in a circle.
func TestDimensionOrderCannotDeadlockInMeshesAndTori(t *testing.T) {
	t.Parallel()
	for spec, hops := range map[string]int{
		"mesh:8x8": 15, "mesh:3x4x5": 10, "torus:4x4": 5, "torus:5x5": 5, "torus:4x4x4": 7, "torus:2x3x4": 5, "ring:8": 5,
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			r := ran(t, Config{
				Graph: topologytest.Parse(t, spec), Firmware: firmware.DimensionOrder(),
				Sets: Sets{Kind: Links},
			})
			assert.True(t, r.Pass)
			assert.True(t, r.CDGAcyclic)
			require.NotNil(t, r.Numbering)
			assert.True(t, *r.Numbering)
			assert.Zero(t, r.Unconnected)
			assert.Equal(t, hops, r.MaxHops)
			assert.Equal(t, 1, int(r.FaultSets))
		})
	}
}

// One dead link disconnects the pairs whose path it is on, and makes no circle.
func TestDimensionOrderDiscardsAtADeadLinkAndStillCannotDeadlock(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"mesh:4x4", "torus:4x4", "torus:5x5"} {
		r := ran(t, Config{
			Graph: topologytest.Parse(t, spec), Firmware: firmware.DimensionOrder(),
			Sets: Sets{Kind: Links, Min: 1, Max: 1},
		})
		assert.False(t, r.Pass)
		assert.True(t, r.CDGAcyclic, spec)
		assert.Equal(t, r.FaultSets, r.BadSets, spec)
		assert.Zero(t, r.Livelocks, spec)
	}
}

// oneChannel is dimension order without the second virtual channel.
func oneChannel() firmware.Firmware {
	real := firmware.DimensionOrder()
	fw := routed(real, func(pkt *weft.Header, at firmware.Arrival, sw firmware.View) firmware.Decision {
		d := real.Route(pkt, at, sw)
		for i := range d.Candidates {
			d.Candidates[i].VC = 0
		}
		return d
	})
	fw.Check = nil
	return fw
}

// With a radix of four it would not: no two packets meet half way round.
func TestDimensionOrderInATorusNeedsItsSecondVirtualChannel(t *testing.T) {
	t.Parallel()
	r := ran(t, Config{
		Graph: topologytest.Parse(t, "torus:5x5"), Firmware: oneChannel(), VCs: 1,
		Sets: Sets{Kind: Links},
	})
	assert.False(t, r.CDGAcyclic)
	require.NotNil(t, r.Counter)
	assert.Equal(t, Deadlock, r.Counter.What)
}
