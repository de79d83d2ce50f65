package harness_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/harness"
)

// Each iteration is a test of one seed: a fabric of 12 switches and 8 NICs is made, carries
// traffic, a link is cut under it, and it drains.
func BenchmarkSeedsOfACutUnderTraffic(b *testing.B) {
	b.ReportAllocs()
	cpu := cpuSeconds()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			harness.One(b, 0, tree, cutUnderTraffic, harness.Traffic("uniform:0.5"))
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "seeds/s")
	b.ReportMetric(float64(b.N)/(cpuSeconds()-cpu), "seeds/cpu-s") // other processes have less of a say in it
}

// cpuSeconds is the processor time that this process has had.
func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func cutUnderTraffic(h *harness.Harness) {
	h.Pause(10 * time.Millisecond)
	h.Cut("s0.00", "s1.00")
	h.Pause(10 * time.Millisecond)
	h.RequireLedger()
}
