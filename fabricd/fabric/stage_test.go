package fabric_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// Whoever brings a fabric up hears of every stage, in order, and of each from its first piece on.
func TestHowFarAFabricHasComeUpIsTold(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, smallTree)
	tr := wire.NewMemory()
	t.Cleanup(func() { require.NoError(t, tr.Close()) })
	type progress struct{ done, total int }
	var stages []fabric.Stage
	heard := map[fabric.Stage][]progress{}
	f, err := fabric.New(fabric.Options{
		Topology: g, Firmware: firmware.AdaptiveLink{}.Firmware(), Transport: tr, Seed: 1,
		Progress: func(s fabric.Stage, done, total int) {
			if heard[s] == nil {
				stages = append(stages, s)
			}
			heard[s] = append(heard[s], progress{done, total})
		},
	})
	require.NoError(t, err)
	require.NoError(t, f.Start(context.Background()))
	t.Cleanup(f.Stop)
	require.Equal(t, []fabric.Stage{fabric.StageNodes, fabric.StageOpen, fabric.StageUp}, stages)
	links := len(g.Links)
	for s, total := range map[fabric.Stage]int{
		fabric.StageNodes: len(g.Switches) + len(g.NICs), fabric.StageOpen: len(g.Switches) + len(g.NICs),
		fabric.StageUp: links,
	} {
		for i, h := range heard[s] {
			if s == fabric.StageUp {
				require.Equal(t, progress{i, total}, h, s)
			}
			require.Equal(t, total, h.total, s)
			require.True(t, i == 0 && h.done == 0 || i > 0 && h.done > heard[s][i-1].done && h.done <= total, "%s: %v", s,
				heard[s])
		}
	}
	require.Len(t, heard[fabric.StageUp], links+1, "the last is told too")
}
