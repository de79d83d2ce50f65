package subnet_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
)

// torus5 is a 5-ary 2-cube as ibsim has it, with the tables that OpenSM computed for it by LASH.
const (
	torus5     = "opensm/testdata/torus5.net"
	torus5LFTs = "tables:opensm/testdata/torus5-lfts.dump.gz"
	torus5SLs  = ",sl2vl=opensm/testdata/torus5-sl2vl.dump.gz,path-sl=opensm/testdata/torus5-path-sl.txt"
)

func TestTablesOfFilesAreARouting(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, torus5)
	r, err := subnet.Routes(t.Context(), torus5LFTs+torus5SLs, g)
	require.NoError(t, err)
	assert.Nil(t, r.Dependencies(t.Context()).Cycle())
	fw, vcs, err := subnet.Firmware(t.Context(), torus5LFTs+torus5SLs, g)
	require.NoError(t, err)
	assert.Equal(t, r.Layers, vcs)
	assert.IsType(t, firmware.Layered{}.Firmware(), fw)
	assert.True(t, subnet.Known(torus5LFTs))

	r, err = subnet.Routes(t.Context(), torus5LFTs, g) // all in one layer
	require.NoError(t, err)
	assert.Len(t, r.Dependencies(t.Context()).Cycle(), 5)
}

func TestTablesOfFilesThatAreNotThereAreRefused(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	for name, want := range map[string]string{
		"tables":                        "tables: no file, expected FILE[,sl2vl=FILE]",
		"tables:":                       "tables: no file, expected FILE[,sl2vl=FILE]",
		"tables:none.dump":              "open none.dump: no such file",
		torus5LFTs:                      "torus5-lfts.dump.gz",
		torus5LFTs + ",sl2v=x":          `did you mean "sl2vl"?`,
		torus5LFTs + ",sl2vl=none.dump": "open none.dump",
	} {
		_, _, err := subnet.Firmware(t.Context(), name, g)
		assert.ErrorContains(t, err, want, name)
	}
}
