package verify

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// Channels 0, 1, 2 wait in a circle. A packet in 1 may also want 0, but then it can have 3, which
// is free: it is in no circle.
func TestADeadlockIsShownByPacketsThatWaitForItsChannelsAlone(t *testing.T) {
	t.Parallel()
	var g waitGraph
	g.init(&model{channels: 4, pairs: 16})
	g.begin(1)
	waits := []wait{{0, []int32{1}, nil}, {1, []int32{2}, nil}, {2, []int32{0}, nil}, {1, []int32{0, 3}, nil}}
	for id, w := range waits {
		g.waits(0, int32(id))
		for _, out := range w.outs {
			g.add(w.channel*4+out, w.channel, out, false)
		}
	}
	r := g.rings()
	stuck, moment := g.stuck(waits, r)
	require.ElementsMatch(t, []int32{0, 1, 2}, stuck)
	w := wants{make([][]int32, 4), make([][]int32, 4)}
	g.wantsAmong(stuck, waits, moment, r, w)
	assert.Equal(t, []int32{0, 1, 2}, shortestCircle(stuck, w))
}

// As many sets, by the same seed: only what is drawn differs.
func TestACheckpointOfSamplesIsNotTakenForOneOfSamplesPerGroup(t *testing.T) {
	t.Parallel()
	c := Config{
		Graph: topologytest.Parse(t, "kary-ntree:2,2"), Firmware: byName(t, "deterministic-link"),
		Sets:       Sets{Kind: Links, Min: 1, Max: 1, Samples: 3},
		Checkpoint: filepath.Join(t.TempDir(), "run.json"),
	}
	ran(t, c)
	c.Sets.PerGroup = true
	_, err := Run(context.Background(), c)
	require.ErrorIs(t, err, ErrConfig)
}
