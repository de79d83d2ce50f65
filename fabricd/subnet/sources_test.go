package subnet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// A firmware that names an engine has its tables and NICs that send as the engine's do, also after
// others have been loaded.
func TestAFirmwareForwardsByTheTablesOfAnEngine(t *testing.T) {
	t.Parallel()
	mine := firmware.Firmware{
		Name: "mine", Engine: "lash:layers=2", VCs: 3,
		Programmed: func(p *tables.Program) firmware.Firmware {
			fw := firmware.Static{Tables: p.Tables}.Firmware()
			fw.VCs = 3
			return fw
		},
	}
	e, err := subnet.ByEngine(mine)
	require.NoError(t, err)
	g := topologytest.Parse(t, "ring:6")
	fw, vcs, err := e.New(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, 3, vcs, "more than the engine needs")
	lash, _, err := subnet.Firmware(t.Context(), mine.Engine, g)
	require.NoError(t, err)
	leaf := g.Place(1)
	again, err := fw.Patched(fw.Version(), leaf, 3, tables.Diff(1, tables.Program{}, *lash.Program, 0, 5))
	require.NoError(t, err)
	for _, f := range []firmware.Firmware{fw, again} {
		require.Equal(t, "mine", f.Name)
		require.NotNil(t, f.Route)
		require.NotNil(t, f.Programmed)
		require.Equal(t, lash.MostHops, f.MostHops)
		for d := range weft.NICID(6) {
			require.Equal(t, lash.Addresses(leaf, 2, d), f.Addresses(leaf, 2, d))
			want, _ := lash.Program.Tables.Lookup(1, d, 2, 0)
			got, _ := f.Program.Tables.Lookup(1, d, 2, 0)
			require.Equal(t, want, got)
		}
		require.ErrorContains(t, f.Fits(leaf, 2), "needs 3 virtual channels")
	}
	for engine, want := range map[string]string{
		"lahs":                  `firmware mine: its engine: unknown routing "lahs": did you mean "lash"?`,
		"adaptive-link":         "firmware mine: adaptive-link computes no forwarding tables",
		subnet.FromFiles + ":x": "computes no forwarding tables",
		"lash:layers=none":      "its engine: firmware lash: layers=none",
	} {
		mine.Engine = engine
		_, err := subnet.ByEngine(mine)
		require.ErrorContains(t, err, want)
	}
}
