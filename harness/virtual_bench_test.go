package harness_test

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Each iteration is a test of one seed: a fabric of 12 switches and 8 NICs is made, carries
// traffic, a link is cut under it, and it drains.
func BenchmarkSeedsOfACutUnderTraffic(b *testing.B) {
	b.ReportAllocs()
	cpu := testenv.CPU().Seconds()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			harness.One(b, 0, tree, cutUnderTraffic, harness.Traffic("uniform:0.5"))
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "seeds/s")
	b.ReportMetric(float64(b.N)/(testenv.CPU().Seconds()-cpu), "seeds/cpu-s") // other processes have less of a say in it
}

func cutUnderTraffic(h *harness.Harness) {
	h.Pause(10 * time.Millisecond)
	h.Cut("s0.00", "s1.00")
	h.Pause(10 * time.Millisecond)
	h.RequireLedger()
}
