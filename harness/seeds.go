package harness

import (
	"runtime"
	"testing"
)

// Seeds runs body on n fabrics of a topology in virtual time, with the seeds 1 to n, on all cores. Whatever fails names its seed;
// with -weft.seed only that one is run. Each harness is ready as from New, and ends with body, which must be good for several
// goroutines, one for each harness.
//
//	harness.Seeds(t, 1000, "kary-ntree:2,3", func(h *harness.Harness) {
//		h.Cut("s0.00", "s1.00")
//		h.RequireLedger(harness.NoneDiscarded)
//	}, harness.Firmware(myFirmware{}), harness.Traffic("uniform:0.5"))
func Seeds(t *testing.T, n int, spec string, body func(h *Harness), options ...Option) {
	t.Helper()
	if *seedFlag != 0 {
		n = 1
	}
	p := newPlan(t, spec, append(options, Virtual()))
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		t.Run("seeds", func(one *testing.T) {
			one.Parallel()
			for seed := w + 1; seed <= n; seed += workers {
				c := p.config
				c.opts.Seed = uint64(seed)
				h := p.start(one, c)
				h.name = t.Name()
				body(h)
				h.stop()
			}
		})
	}
}
