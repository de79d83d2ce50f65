package dqr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Each layer of e-cube is a mesh, so the plug-in does there what it does in one.
func TestThePluginToleratesEverySingleFaultOfATorusUnderECube(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"torus:5x5", "torus:8x8"}[:testenv.N(2, 1)] {
		g := topologytest.Parse(t, spec)
		r := begin(t, eCube(t, g), dqr.Options{Plugin: dqr.Mesh{}, Layers: dqr.SameLayer})
		for _, l := range between(g) {
			res := fail(t, r.Clone(), l)
			assert.True(t, res.Tolerated(), "%s %s: %+v", spec, g.Links[l].Name, res)
		}
	}
}

// LASH packs paths into as few layers as it can, which leaves little room in the layer of a path,
// but others have some.
func TestInATorusUnderLASHOtherLayersHaveRoom(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	stride := map[int]int{5: 1, 10: 1, 15: 9, 20: 25}
	least := map[int]float64{5: 1, 10: 0.98, 15: 1, 20: 1} // of the faults that are tolerated
	most := testenv.Levels(20, 15, 10)
	for _, n := range []int{5, 10, 15, 20} {
		if n > most {
			break
		}
		g := topologytest.Parse(t, fmt.Sprintf("torus:%dx%d", n, n))
		routing, err := layered.LASH(t.Context(), g, layered.Options{})
		require.NoError(t, err)
		tolerated, faults := map[dqr.LayerSearch]int{}, 0
		for _, layers := range []dqr.LayerSearch{dqr.AllLayers, dqr.SameLayer} {
			r := begin(t, routing, dqr.Options{Layers: layers})
			faults = 0
			for i, l := range between(g) {
				if i%stride[n] != 0 {
					continue
				}
				faults++
				if fail(t, r.Clone(), l).Tolerated() {
					tolerated[layers]++
				}
			}
		}
		t.Logf("%dx%d, %d layers, %d faults: tolerated in all layers %d, in the same %d", n, n, routing.Layers, faults,
			tolerated[dqr.AllLayers], tolerated[dqr.SameLayer])
		assert.GreaterOrEqual(t, float64(tolerated[dqr.AllLayers]), least[n]*float64(faults))
		assert.Less(t, tolerated[dqr.SameLayer], tolerated[dqr.AllLayers])
	}
}
