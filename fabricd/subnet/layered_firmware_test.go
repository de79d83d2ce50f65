package subnet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func TestEachKindOfRoutingHasItsFirmware(t *testing.T) {
	g := topologytest.Parse(t, "irregular:8,16,1")
	for name, kind := range map[string]layered.Kind{
		"lash":                   layered.Deterministic,
		"updn-adaptive:layers=2": layered.Adaptive, "escape": layered.Escape,
	} {
		r, err := Routes(t.Context(), name, g)
		require.NoError(t, err)
		require.Equal(t, kind, r.Kind)
		fw := FirmwareOf(r)
		require.Equal(t, map[layered.Kind]string{
			layered.Deterministic: "layered", layered.Adaptive: "layered-adaptive", layered.Escape: "escaping",
		}[kind], fw.Name)
		for _, s := range g.Switches {
			require.NoError(t, fw.Fits(g.Place(s.ID), r.Layers))
		}
		require.Equal(t, r.Assignment.Addresses(1, 2), fw.Addresses(g.Place(1), 0, 2))
		r.Tables = nil
		fw = FirmwareOf(r)
		require.ErrorContains(t, fw.Fits(g.Place(0), 16), "has no forwarding tables")
	}
}
