package verify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/switch/firmware"
)

// BenchmarkLazyWalk explores the packets to one destination after the other, whatever is dead.
func BenchmarkLazyWalk(b *testing.B) {
	for _, c := range []struct {
		on   string
		most int
	}{{"kary-ntree:8,3", 7}, {"mport-tree:36,2", 17}, {"mport-tree:36,3", 17}} {
		b.Run(c.on, func(b *testing.B) {
			r := lazyRun(b, c.on, firmware.DeterministicLink(), c.most)
			w := newLazyWalk(r.model, c.most, newMortals(r.model, &r.Sets, false))
			f := 0
			for b.Loop() {
				require.NoError(b, w.walk(b.Context(), f))
				f = (f + 7) % len(r.model.flows)
			}
			b.ReportMetric(float64(len(w.class)), "states")
			b.ReportMetric(float64(len(w.nodes)), "nodes")
		})
	}
}
