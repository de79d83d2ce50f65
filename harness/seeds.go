package harness

import (
	"runtime"
	"testing"
)

// Seeds runs body on n fabrics of a topology in virtual time, with the seeds 1 to n, on all cores.
// Whatever fails names its seed; with -weft.seed only that one is run. Each harness is ready as
// from New, and ends with body, which must be good for several goroutines, one for each harness;
// [Harness.T] is the test to fail in it.
//
//	harness.Seeds(t, 1000, "kary-ntree:2,3", func(h *harness.Harness) {
//		h.Cut("s0.00", "s1.00")
//		h.RequireLedger(harness.NoneDiscarded)
//	}, harness.Firmware(myFirmware{}), harness.Traffic("uniform:0.5"))
func Seeds(t *testing.T, n int, spec string, body func(h *Harness), options ...Option) {
	t.Helper()
	n = seeds(t, n)
	p := newPlan(t, spec, append(options, Virtual()))
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		t.Run("seeds", func(one *testing.T) {
			one.Parallel()
			for seed := w + 1; seed <= n && !one.Failed(); seed += workers {
				p.one(one, t.Name(), uint64(seed), body)
			}
		})
	}
}

// seeds is how many are run of n.
func seeds(t testing.TB, n int) int {
	t.Helper()
	if n < 1 {
		t.Fatalf("harness: %d seeds would test nothing: run 1 or more", n)
	}
	if *seedFlag != 0 {
		return 1
	}
	return n
}

// one runs body with one seed, as part of the test of that name.
func (p plan) one(t testing.TB, name string, seed uint64, body func(h *Harness)) {
	c := p.config
	c.opts.Seed = seed
	h := p.start(t, c)
	h.name = name
	defer h.stop() // also when body ends the goroutine
	body(h)
}
