package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// A cut is measured with OpenSM and without anybody: OpenSM has new tables in force, and what was
// lost was lost before the window ended.
func TestACutIsMeasuredWithOpenSMAndWithout(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	testenv.Need(t, "opensm", "packages opensm and libumad2sim0")
	g := topologytest.Parse(t, "kary-ntree:2,3")
	var results [][]ibCut
	for _, r := range repairers {
		list, err := ibCutsOf(t.Context(), g, r, drawnLinks(g, 1))
		require.NoError(t, err, r.name)
		require.Len(t, list, 1)
		require.Equal(t, r.args+r.method != "", list[0].inForce > 0, r.name)
		require.Equal(t, list[0].lost+list[0].dropped > 0, list[0].last > 0, r.name)
		results = append(results, list)
	}
	text := ibCutsReport(results)
	for _, r := range repairers {
		require.Contains(t, text, "| "+r.name+" |")
	}
}
