package subnet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestEachKindOfRoutingHasItsFirmware(t *testing.T) {
	g := topologytest.Parse(t, "irregular:8,16,1")
	for name, kind := range map[string]layered.Kind{"lash": layered.Deterministic, "updn-adaptive:layers=2": layered.Adaptive, "escape": layered.Escape} {
		r, err := Routes(t.Context(), name, g)
		require.NoError(t, err)
		require.Equal(t, kind, r.Kind)
		fw := FirmwareOf(r)
		require.IsType(t, map[layered.Kind]firmware.Firmware{
			layered.Deterministic: firmware.Layered{}, layered.Adaptive: firmware.LayeredAdaptive{}, layered.Escape: firmware.Escaping{},
		}[kind], fw)
		for _, s := range g.Switches {
			require.NoError(t, fw.(firmware.Checker).Check(g.Place(s.ID), r.Layers))
		}
		require.Equal(t, r.Assignment.Addresses(1, 2), fw.(firmware.Assigner).Addresses(g.Place(1), 0, 2))
		r.Tables = nil
		require.ErrorContains(t, FirmwareOf(r).(firmware.Checker).Check(g.Place(0), 16), "has no forwarding tables")
	}
}
