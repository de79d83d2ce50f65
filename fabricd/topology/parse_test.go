package topology_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology"
)

func TestAFileThatIsNoTopologyFileIsToldFromAMisspelledSpec(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("fabric.txt", []byte("vendid=0x2c9\nSwitch 1 \"S-0000000000000001\"\n"), 0o600))
	_, err := topology.Parse("fabric.txt")
	require.EqualError(t, err,
		`unknown topology "fabric.txt": known: kary-ntree, mport-tree, leaf-spine, mesh, torus, irregular, ring; `+
			`fabric.txt is there, and a topology file ends in .yaml, .json or .net: rename it, or write ./fabric.txt`)
	g, err := topology.Parse("./fabric.txt")
	require.NoError(t, err)
	require.Len(t, g.Switches, 1, "it is read")
	_, err = topology.Parse("fabric.tyt")
	require.NotContains(t, err.Error(), "is there")
}
